from __future__ import annotations

import atexit
import gc
import json
import pkgutil
import shlex
import zipfile
from dataclasses import replace

import pandas as pd
import pytest

import sfumato
from sfumato import commands
from sfumato.analysis.questions.group_risk import DELTA, EPSILON
from sfumato.cli import _parser, main
from sfumato.commands import COMMANDS, adopt, audit, command_called
from sfumato.commands.shared.command import ExitCode
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import USUAL_DELTA, USUAL_EPSILON
from sfumato.project.document.adopted_files import BY_KEY, BY_ROWS
from sfumato.project.project_file import ProjectFile
from sfumato.report.material import USUAL_THRESHOLD, Audience
from tests.cli.conftest import RULES
from tests.project.making import PASSPHRASE, table
from tests.project.test_ledger import tamper


def test_a_project_is_made_from_a_table_and_rules(line):
    assert line.init() == ExitCode.OK, line.remarks
    assert line.output.strip() == str(line.project)
    assert "12 records, 3 columns, 2 recipients" in line.remarks
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        assert project.document.title == "Ward 7"
        assert project.document.source.rows == 12
        assert project.document.record_key == "person"


def test_the_record_key_can_be_named_on_the_command_line(line):
    rules = line.folder / "rules.toml"
    rules.write_text(RULES.replace('record_key = "person"\n', ""))
    assert line.init("--record-key", "person") == ExitCode.OK
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        assert project.document.record_key == "person"


def test_a_release_prints_where_its_bundle_is(made):
    assert made.release() == ExitCode.OK, made.remarks
    (bundle,) = made.bundles()
    assert made.output.strip() == str(bundle)
    frame = pd.read_csv(bundle / "data.csv")
    assert list(frame.columns) == ["sex", "illness"]
    assert len(frame) == 12


def test_several_recipients_get_their_bundles_at_once(made):
    assert made.release("Clinic A", "--recipient", "Institute B") == ExitCode.OK
    assert len(made.output.splitlines()) == len(made.bundles()) == 2


@pytest.mark.few(2)
@pytest.mark.parametrize("form", ["csv", "parquet", "sav", "dta"])
def test_a_release_in_every_format_is_verified(made, form):
    assert made.release("Clinic A", "--format", form) == ExitCode.OK, made.remarks
    (bundle,) = made.bundles()
    assert (bundle / f"data.{form}").is_file()
    assert made.run("verify", bundle, "--project", made.project) == ExitCode.OK, made.output
    assert made.output.endswith("Verified.\n")


def test_a_zipped_release_is_verified(made):
    assert made.release("Clinic A", "--zip") == ExitCode.OK
    (bundle,) = made.bundles()
    assert zipfile.is_zipfile(bundle)
    assert made.run("verify", bundle, "--project", made.project) == ExitCode.OK


def test_the_same_project_gives_the_same_bytes_again(released, tmp_path):
    (first,) = released.bundles()
    again = ("release", released.project, "--recipient", "Clinic A", "--out", tmp_path / "again")
    assert released.run(*again) == ExitCode.OK
    (second,) = (tmp_path / "again").iterdir()
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()


def test_an_altered_bundle_fails_and_says_why(released):
    (bundle,) = released.bundles()
    data = bundle / "data.csv"
    content = data.read_bytes()
    data.write_bytes(content.replace(b'"f"', b'"m"', 1))
    assert data.read_bytes() != content
    assert released.run("verify", bundle, "--project", released.project) == ExitCode.CHECK_FAILED
    assert "FAIL  Files" in released.output
    assert "checks failed" in released.output


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", ["1000", "0.001"])
def test_a_file_that_was_added_to_a_bundle_is_named(released, memory):
    (bundle,) = released.bundles()
    (bundle / "originals.csv").touch()
    options = ("--project", released.project, "--memory", memory)
    assert released.run("verify", bundle, *options) == ExitCode.CHECK_FAILED
    assert "has 1 file that was not released: originals.csv." in released.output
    released.run("verify", bundle, *options, "--json")
    assert json.loads(released.output)["added_files"] == ["originals.csv"]


def test_the_bundle_of_another_project_fails(released, tmp_path):
    other = replace(released, folder=tmp_path / "other")
    other.folder.mkdir()
    for name in ("ward.csv", "rules.toml"):
        (other.folder / name).write_bytes((released.folder / name).read_bytes())
    assert other.init() == ExitCode.OK
    (bundle,) = released.bundles()
    assert other.run("verify", bundle, "--project", other.project) == ExitCode.CHECK_FAILED
    assert "FAIL  Ledger" in other.output


def test_a_tampered_ledger_fails_every_verification(released):
    (bundle,) = released.bundles()
    tamper(released.project, "UPDATE ledger SET kind = 'x' WHERE number = 2")
    assert released.run("verify", bundle, "--project", released.project) == ExitCode.CHECK_FAILED
    assert "FAIL  Seal and ledger: The project" in released.output
    assert released.run("ledger", released.project) == ExitCode.CHECK_FAILED
    assert "Entry 2" in released.remarks
    assert released.release("Institute B") == ExitCode.EXPECTED_ERROR


def test_an_unreadable_ledger_entry_fails_too(released):
    (bundle,) = released.bundles()
    tamper(released.project, "UPDATE ledger SET details = 'x' WHERE number = 2")
    assert released.run("verify", bundle, "--project", released.project) == ExitCode.CHECK_FAILED
    assert released.run("ledger", released.project) == ExitCode.CHECK_FAILED


def test_the_ledger_is_listed(released):
    assert released.run("ledger", released.project) == ExitCode.OK
    lines = released.output.splitlines()
    assert [line.split("  ")[0].strip() or line.split()[0] for line in lines] == ["1", "2", "3"]
    assert "release completed" in lines[2]
    assert "Clinic A" in lines[2]
    assert "as Sfumato wrote them" in released.remarks


def test_recipients_are_listed_with_what_was_stated(made):
    assert made.run("recipients", made.project) == ExitCode.OK
    assert made.output == (
        "Clinic A\n"
        "  illness [uniform]: retention_probability = 0.6\n"
        "Institute B  (for a study)\n"
        "  illness [uniform]: epsilon = 1\n"
    )


def test_printed_rules_make_the_same_project_again(line):
    assert line.init() == ExitCode.OK, line.remarks
    assert line.run("rules", line.project) == ExitCode.OK
    (line.folder / "rules.toml").write_text(line.output)
    with ProjectFile.open(line.project, PASSPHRASE) as first:
        document = first.document
    line.project.unlink()
    assert line.init() == ExitCode.OK
    with ProjectFile.open(line.project, PASSPHRASE) as again:
        assert again.document == document


def test_other_rules_can_be_applied(made):
    (made.folder / "other.toml").write_text(RULES.replace("0.6", "0.5"))
    assert made.run("rules", made.project, "--apply", made.folder / "other.toml") == ExitCode.OK
    assert made.run("recipients", made.project) == ExitCode.OK
    assert "retention_probability = 0.5" in made.output


def test_a_table_that_moved_is_shown_its_new_place(made):
    moved = (made.folder / "ward.csv").rename(made.folder / "renamed.csv")
    assert made.release() == ExitCode.EXPECTED_ERROR
    assert "not at" in made.remarks
    assert made.run("source", made.project, "--moved-to", moved) == ExitCode.OK
    assert made.output.startswith(str(moved))
    assert made.release() == ExitCode.OK


def test_a_new_edition_is_released_after_it_is_accepted(released):
    file = released.folder / "ward.csv"
    table(15).frame.to_csv(file, index=False, lineterminator="\n")
    assert released.release() == ExitCode.EXPECTED_ERROR
    assert "new edition" in released.remarks
    assert released.run("source", released.project, "--new-edition", file) == ExitCode.OK
    assert "15 records" in released.output
    assert released.release() == ExitCode.OK, released.remarks
    newest = max(released.bundles(), key=lambda path: path.stat().st_mtime_ns)
    assert len(pd.read_csv(newest / "data.csv")) == 15


def test_where_the_table_is_can_be_asked(made):
    assert made.run("source", made.project) == ExitCode.OK
    assert "12 records" in made.output


def test_the_bundle_says_for_whom_it_is(released):
    (bundle,) = released.bundles()
    package = json.loads((bundle / "datapackage.json").read_text())
    assert "Clinic A" in json.dumps(package)
    assert "Institute B" not in json.dumps(package)


def test_help_names_every_command_and_every_exit_code(line, capsys):
    assert line.run("--help") == ExitCode.OK
    help_text = capsys.readouterr().out
    for name in COMMANDS:
        assert f"\n    {name}" in help_text
        assert line.run(name, "--help") == ExitCode.OK
    for code in ExitCode:
        assert f"\n  {code.value} " in help_text


def test_the_version_is_printed(line, capsys):
    assert line.run("--version") == ExitCode.OK
    assert capsys.readouterr().out == f"Sfumato {sfumato.__version__}\n"


def test_every_module_of_commands_holds_one_that_is_listed():
    modules = {found.name for found in pkgutil.iter_modules(commands.__path__) if not found.ispkg}
    assert {module for module, _ in COMMANDS.values()} == modules


def test_a_column_is_shown_against_the_ledger_only_with_a_reason(released):
    shown = RULES.replace('role = "sensitive"', 'role = "insensitive"')
    shown = shown[: shown.index("[[policy]]")] + '[[recipients]]\nname = "Clinic A"\n'
    (released.folder / "shown.toml").write_text(shown)
    apply = ("rules", released.project, "--apply", released.folder / "shown.toml")
    assert released.run(*apply) == ExitCode.OK
    assert released.release() == ExitCode.EXPECTED_ERROR
    assert "“illness” was perturbed for Clinic A" in released.remarks
    assert released.release("Clinic A", "--override", "the board agreed") == ExitCode.OK
    assert released.run("ledger", released.project) == ExitCode.OK
    assert "override            the board agreed" in released.output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_shows_examples_that_it_understands(name, capsys):
    command = command_called(name)
    assert main([name, "--help"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert command.examples
    for example in command.examples:
        assert example in shown
        program, *arguments = shlex.split(example.partition(" > ")[0])
        assert program == "sfumato"
        assert _parser(arguments).parse_args(arguments).command == name


def test_recipients_the_ledger_and_checks_can_be_read_by_programs(released):
    (bundle,) = released.bundles()
    assert released.run("recipients", released.project, "--json") == ExitCode.OK
    first, second = json.loads(released.output)
    assert (first["name"], second["note"]) == ("Clinic A", "for a study")
    assert second["levels"] == {"illness": {"epsilon": 1.0}}
    assert released.run("ledger", released.project, "--json") == ExitCode.OK
    ledger = json.loads(released.output)
    assert ledger["holds"]
    assert ledger["entries"][-1]["kind"] == "release completed"
    assert released.run("verify", bundle, "--project", released.project, "--json") == ExitCode.OK
    assert all(check["holds"] for check in json.loads(released.output)["checks"])


@pytest.mark.slow
@pytest.mark.turns(1)
def test_formulas_are_escaped_unless_one_asks_for_them(line):
    line.folder.joinpath("rules.toml").write_text(RULES.replace('"asthma"', '"+"'))
    frame = table().frame.astype(str).replace({"illness": {"asthma": "+"}})
    frame.to_csv(line.folder / "ward.csv", index=False)
    assert line.init() == ExitCode.OK, line.remarks
    assert line.release() == ExitCode.OK, line.remarks
    assert line.release("Institute B", "--keep-formulas") == ExitCode.OK, line.remarks
    safe, kept = (bundle / "data.csv" for bundle in line.bundles())
    assert set(pd.read_csv(safe)["illness"]) <= {"'+", "cold", "flu", "gout"}
    assert set(pd.read_csv(kept)["illness"]) <= {"+", "cold", "flu", "gout"}
    assert "apostrophe" in (safe.parent / "README.md").read_text(encoding="utf-8")


def test_the_table_s_order_of_rows_is_chosen_with_a_reason(made):
    assert made.run("row-order", made.project) == ExitCode.OK
    assert "random row order of its own" in made.output
    assert made.run("row-order", made.project, "--as-in-table", " ") == ExitCode.USAGE
    reason = "The registry joins by row number"
    assert made.run("row-order", made.project, "--as-in-table", reason) == ExitCode.OK
    assert reason in made.output
    assert made.release() == ExitCode.OK
    assert "sorted like the table" in " ".join(made.remarks.split())
    assert made.run("row-order", made.project, "--random") == ExitCode.OK
    assert made.release() == ExitCode.OK
    assert "sorted like the table" not in " ".join(made.remarks.split())


def test_what_a_command_line_offers_is_what_the_engine_knows():
    """The commands state it themselves, so that their help needs nothing else."""
    assert set(audit.RULES) == {rule.value for rule in PrivacyTest}
    assert (EPSILON.usual, DELTA.usual) == (USUAL_EPSILON, USUAL_DELTA)
    assert tuple(audience.value for audience in Audience) == audit.AUDIENCES
    assert audit.THRESHOLD == USUAL_THRESHOLD
    assert set(adopt.MATCHES) == {BY_KEY, BY_ROWS}


def test_memory_is_not_searched_for_cycles_when_a_command_ends(line, monkeypatch):
    registered = []
    monkeypatch.setattr(atexit, "register", registered.append)
    assert line.run("about", "--json") == ExitCode.OK
    assert gc.freeze in registered
