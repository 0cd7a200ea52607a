"""Commands, reports and bundles speak the language that is asked for; what programs read stays."""

from __future__ import annotations

import json
import re
from string import Formatter

import pytest

from installer.translatable import texts_of
from installer.translating import CHECKOUT, FOLDER, messages_of
from sfumato.commands.shared.command import ExitCode
from sfumato.engine.core.wording import Sentence
from sfumato.formats import language
from sfumato.formats.language import localized, said, speaking, translated, worded
from tests.cli.conftest import CommandLine
from tests.cli.holders import paper_holder

GERMAN = CHECKOUT / FOLDER / "sfumato_de.ts"


@pytest.fixture(autouse=True)
def english_again():
    yield
    language.speak(language.ENGLISH)


def details(template: str) -> list[str]:
    return sorted(
        f"{name}:{spec}!{conversion}"
        for _, name, spec, conversion in Formatter().parse(template)
        if name is not None and "|" not in (spec or "")  # how a word follows is the language's
    )


def test_every_german_text_has_the_details_of_the_english_one():
    found = messages_of(GERMAN)
    wrong = []
    for (_context, source), translation in found.items():
        try:
            wanted = details(source)
        except ValueError:
            continue  # no template: a mask for a mathematical text
        if details(translation) != wanted or ("%(" in source) != ("%(" in translation):
            wrong.append(source)
    assert wrong == []
    assert len(found) > 4000


def test_no_german_text_waits_for_a_translator():
    assert 'type="unfinished"' not in GERMAN.read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_text_of_the_code_is_german():
    known = messages_of(GERMAN)
    missing = {
        (text.context, text.source)
        for text in texts_of(CHECKOUT)
        if (text.context, text.source) not in known
    }
    assert missing == set(), "installer/translations de"


def test_a_sentence_is_filled_in_with_numbers_as_germans_write_them():
    inner = Sentence("{count:,} other {count:unit|units}", count=1234)
    outer = Sentence(
        "Everybody shares their values in the generalized columns with at least {others}.",
        others=inner,
    )
    with speaking("de"):
        assert said(outer) == (
            "Jeder teilt seine Werte in den vergröberten Spalten mit mindestens 1.234 anderen"
            " Einheiten."
        )
        assert worded("{share:.1%}", share=0.1234) == "12,3 %"
        assert localized("0.5") == "0,5"
        assert localized("Version 1.2") == "Version 1.2"
    assert "1,234 other units" in outer == said(outer)


def test_a_text_that_nobody_translated_stays_english():
    with speaking("de"):
        assert translated("No such text.") == "No such text."


def test_help_is_german_where_the_environment_is(capsys, tmp_path):
    line = CommandLine(tmp_path, {"LC_MESSAGES": "de_AT.UTF-8", "LANG": "en_GB.UTF-8"})
    assert line.run("--help") == ExitCode.OK
    text = capsys.readouterr().out
    assert text.startswith("Aufruf: sfumato")
    assert "Eine Tabelle auf vielen Vertrauensstufen freigeben." in text
    assert not re.search(r"\b(usage|the|show|print|options)\b", text)


def test_an_error_is_german_where_the_command_asks_for_it(tmp_path):
    line = CommandLine(tmp_path, {"SFUMATO_PASSPHRASE": "vier bunte Wörter hier"})
    assert line.run("ledger", tmp_path / "none.sfumato", "--language", "de") != ExitCode.OK
    assert "gibt es kein Projekt" in line.remarks


def test_a_language_that_is_not_there_is_refused(capsys, tmp_path):
    assert CommandLine(tmp_path, {}).run("--language", "tlh", "about") == ExitCode.USAGE
    assert "there are en, de" in capsys.readouterr().err


def still_english(text: str) -> list[str]:
    """The longer texts of the catalogue, without details, that stand in a text untranslated."""
    return [
        source
        for (_context, source), translation in messages_of(GERMAN).items()
        if len(source) > 14
        and " " in source
        and "{" not in source
        and source != translation
        and re.search(rf"(?<!\w){re.escape(source)}(?!\w)", text)
    ]


@pytest.mark.slow
def test_a_bundle_speaks_its_recipients_language_and_programs_read_the_same(made):
    assert made.run("recipients", made.project, "--of", "Clinic A", "--tell-in", "de") == 0
    assert made.release() == ExitCode.OK, made.remarks
    folder = made.bundles()[0]
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "in Klassen eingeteilt" in readme or "verfremdet" in readme
    assert still_english(readme) == []
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    assert package["description"].startswith("Freigegeben an Clinic A.")
    assert package["sfumato"]["row_order"] in {"keyed", "table"}
    assert made.run("verify", folder, "--project", made.project) == ExitCode.OK, made.remarks


@pytest.mark.slow
def test_a_generalized_table_is_published_in_the_language_spoken(line):
    holder = paper_holder(line, "A", ["Age", "ZIP Code"])
    assert holder.publish("--language", "de") == ExitCode.OK, line.remarks
    [folder] = holder.out.iterdir()
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert "Freigegeben an **die Öffentlichkeit**" in readme
    assert "**vergröbert** auf Stufe" in readme
    assert still_english(readme) == []
    package = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
    assert package["description"].startswith("Freigegeben an die Öffentlichkeit.")
    assert package["sfumato"]["recipient"] == "the public"
    assert line.run("verify", folder, "--project", holder.project) == ExitCode.OK, line.remarks


def test_a_recipients_language_is_in_the_rules_and_old_projects_read_as_english(made):
    made.run("recipients", made.project, "--of", "Clinic A", "--tell-in", "de")
    assert made.run("rules", made.project) == ExitCode.OK
    assert made.output.count('language = "de"') == 1
    assert made.run("recipients", made.project, "--json") == ExitCode.OK
    assert [each["language"] for each in json.loads(made.output)][:2] == ["de", "en"]


@pytest.mark.slow
def test_a_report_is_german_where_it_is_asked_for(made, themed):
    made.release("Clinic A")
    path = made.folder / "filed.html"
    code = made.run("report", made.project, "--out", path, "--language", "de")
    assert code == ExitCode.OK, made.remarks
    text = path.read_text(encoding="utf-8")
    assert '<html lang="de">' in text
    assert "Bericht zur Geheimhaltung" in text
    assert still_english(re.sub(r"<svg.*?</svg>", "", text, flags=re.DOTALL)) == []


def test_json_is_the_same_in_every_language(tmp_path):
    found = []
    for name in ("en", "de"):
        line = CommandLine(tmp_path, {})
        assert line.run("about", "--json", "--language", name) == ExitCode.OK
        found.append(json.loads(line.output))
    assert found[0] == found[1]
    assert "de" in found[0]["found"]["languages"]
