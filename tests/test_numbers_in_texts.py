"""Numbers are written one way, as the reader's language does, and words follow their numbers."""

from __future__ import annotations

import ast
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from string import Formatter

import pytest

from sfumato.engine.core.wording import MISSING_LABEL, Count, Sentence, filled
from sfumato.formats.language import grouped, localized, said, shipped, shown, speaking
from sfumato.plots.axes import shorten
from sfumato.plots.style import light_style
from sfumato.resources import resource_path
from tests.source_code import ROOT, Module, modules

NOUNS = {
    "en": (
        "attributes bins bytes cells characters checks choices classes columns combinations copies"
        " counts dates days entries estimates files frequencies groups hierarchies holders keys"
        " labels levels limits members nodes numbers others outcomes people persons places points"
        " problems probabilities projects queries questions recipients records releases remarks"
        " requirements rows seconds sets shares sheets tables texts units values ways"
    ),
    "de": (
        "Anteile Anteilen Anzahlen Ausgaben Auszählungen Auswahlen Bezeichnungen Dateien Datensätze"
        " Datensätzen Einheiten Einträge Einträgen Ergebnisse Ergebnissen Freigaben Grenzen Gruppen"
        " Häufigkeiten Hierarchien Hinweise Klassen Kombinationen Kopien Mengen Merkmale Merkmalen"
        " Personen Probleme Prozentpunkte Prozentpunkten Prüfungen Schätzwerte Schätzwerten Spalten"
        " Stufen Tabellen Werte Werten Zahlen Zeilen Zellen Äquivalenzklassen"
    ),
}
"""What is counted in texts, in the plural; in German where it differs from the singular."""
NOT_AFTER_A_NUMBER = re.compile(
    r"\b(of|in|at|is|are|was|and|with|as|from|to|the|its|or|by|on|for|has|have|that|than|then|sees"
    r"|holds|does|but|their|these|if|von|in|der|die|und|mit|als|zu|für|sieht|hat|ist|sind|wenn|auf|an|aller|alle|nach|erhält|kann|zeigt|erhalten"
    r"|enthält|dieser|ihrer|seiner|ihre|zwei|den|des|dem|bei|nur|dass|haben|aus|keine|eine|fünf)\b"
)
NEVER_ONE = re.compile(
    r"[Tt]hese \{count\}|Diese \{count\}|ogether, \{count\}|All \{count\} rec|Alle \{count\} Emp"
    r"|\{count\} recipients (who|together|make|can)|ith \{count\} recipients|\{count\} Empfänger"
    r"|The \{releases\} files|the \{releases\} files|\{releases\} Dateien|\{count:,\} releases: |"
    r"\{count:,\} Freigaben: |\{rows:,\} rows are a mixture|\{rows:,\} Zeilen sind eine Mischung"
    r"|\{first\} and \{second\} values|\{first\} und \{second\} Werte|\{count\} editions"
    r"|\{count\} Ausgaben|last of \{count\}|\{true\} frequencies|\{true\} Häufigkeiten"
    r"|\{guess\} |\{size\} values of|\{size\} Werte von|There are \{(nodes:,|count)\} comb"
    r"|gibt \{(nodes:,|count)\} Komb|\{limit:,\} (sets|Mengen)|höchstens \{most\} Zellen"
)
"""Counts of two at least: of those who do something together, and of what is too many."""
NO_COUNTS = frozenset(
    {"column", "part", "first", "package", "title", "level", "names", "sensitive", "about"}
    | {"recipient", "factor", "theta", "times", "key", "c", "average_discernibility"}
    | {"name", "extra_records", "columns", "attribute", "neighbours", "mechanism"}
)
"""Names of details that are words, or figures with decimals, before a noun or a verb."""


def uninflected(text: str, language: str) -> list[str]:
    """Return the numbers of a text whose noun stands in the plural whatever they are."""
    nouns = "|".join(NOUNS[language].split())
    pattern = rf"\{{(\w+)(?::[^{{}}|]*)?\}}[ \u202f]((?:[a-zäöüß-]+ ){{0,2}})({nouns})\b(?!\|)"
    return [
        found[0]
        for found in re.finditer(pattern, NEVER_ONE.sub("", text))
        if found[1] not in NO_COUNTS and not NOT_AFTER_A_NUMBER.search(found[2])
    ]


def german() -> Iterator[tuple[str, str, str]]:
    """Give each text's context, the text, and its German."""
    tree = ElementTree.parse(resource_path("translations", "sfumato_de.ts"))
    for context in tree.iter("context"):
        for message in context.iter("message"):
            said_in_german = message.findtext("translation") or ""
            yield str(context.findtext("name")), str(message.findtext("source")), said_in_german


def chosen_by(text: str) -> dict[str, list[str]]:
    """Return the numbers of a text that choose words, with the words."""
    fields: dict[str, list[str]] = {}
    for _, name, spec, _ in Formatter().parse(text):
        if name and spec and "|" in spec:
            fields.setdefault(name, []).append(spec)
    return fields


def test_a_counted_noun_follows_its_number():
    found = {source: uninflected(source, "en") for _, source, _ in german()}
    assert {text: counts for text, counts in found.items() if counts} == {}


def test_a_counted_noun_follows_its_number_in_german():
    found = {text: uninflected(text, "de") for _, _, text in german()}
    assert {text: counts for text, counts in found.items() if counts} == {}


def test_nouns_that_do_not_follow_are_found():
    assert uninflected("{count:,} other rows are open.", "en") == ["{count:,} other rows"]
    assert uninflected("In {count} Datensätzen", "de") == ["{count} Datensätzen"]
    assert not uninflected("{count:,} other {count:row is|rows are} open.", "en")


def test_there_are_two_forms_and_no_number_chooses_in_german_alone():
    for context, source, translation in german():
        for text in (source, translation):
            forms = [one for each in chosen_by(text).values() for one in each]
            assert all(form.count("|") == 1 for form in forms), text
        if context != "Sentences":  # which are filled in from numbers, not from their texts
            assert set(chosen_by(translation)) <= set(chosen_by(source)), translation


@pytest.mark.parametrize(
    ("count", "english", "german_text"),
    [
        (1, "`*` in 1 row", "`*` in 1 Zeile"),
        (0, "`*` in 0 rows", "`*` in 0 Zeilen"),
        (1204, "`*` in 1,204 rows", "`*` in 1.204 Zeilen"),
    ],
)
def test_one_row_is_not_rows(count, english, german_text):
    sentence = Sentence("`*` in {rows:,} {rows:row|rows}", rows=count)
    assert sentence == english
    with speaking("de"):
        assert said(sentence) == german_text
        assert f"{grouped(count)}" in german_text


@pytest.mark.parametrize("number", [1, Count("1"), "1", Sentence("{n}", n=1)])
def test_a_number_chooses_its_word_however_it_is_given(number):
    assert filled("{n} {n:row is|rows are}", {"n": number}) == "1 row is"


def test_numbers_given_as_they_are_have_their_thousands_apart():
    assert Sentence("{rows} and {share}", rows=12345, share=0.5) == "12,345 and 0.5"
    with speaking("de"):
        assert said(Sentence("{rows} – {share:.1%}", rows=12345, share=0.125)) == "12.345 – 12,5 %"
        assert localized("2026-11-20") == "20.11.2026"
        assert shown("-1,234.5") == "\u22121.234,5"
    assert localized("2026-11-20") == "2026-11-20"


def test_a_missing_value_is_called_so_in_every_language():
    names = [MISSING_LABEL, "(missing) it"]
    style = light_style("Inter")
    with speaking("de"):
        assert [shorten(name, 28) for name in names] == ["(fehlt)", "(missing) it"]
        assert style.say("{name}!", name=MISSING_LABEL) == "(fehlt)!"
        assert said(Sentence("{value}: {shares:.1%}", value=MISSING_LABEL, shares=0.5)) == (
            "(fehlt): 50,0 %"
        )
    assert shorten(MISSING_LABEL, 28) == MISSING_LABEL


# ----- numbers that are formatted outside of what knows the reader's language

WRITING = frozenset({"localized", "shown", "float", "len"})
"""What a formatted number may be handed to at once: to be written, or to be read again."""
FOR_PROGRAMS = {
    "app/sfumato/commands/groups.py": "a value as the domain writes it",
    "app/sfumato/engine/core/values.py": "a value of a table, the same in every language",
    "app/sfumato/engine/mechanisms/distribution.py": "for programmers",
    "app/sfumato/engine/matrices/retention_matrix.py": "for programmers",
    "app/sfumato/formats/bundles/reading.py": "a value of JSON",
    "app/sfumato/report/writing.py": "sizes in HTML",
    "app/sfumato/ui/widgets/tables.py": "a cell, as the table has it",
}


def formatted_outside(module: Module) -> list[str]:
    """Return where a module formats numbers that nobody then writes as the language does."""
    found = [
        node
        for node in module.nodes
        if isinstance(node, ast.FormattedValue)
        and node.format_spec is not None
        and re.search(r",|\.\d|\.\{|[%efg]'$", ast.unparse(node.format_spec))
    ]
    if not found:
        return []
    above = {child: node for node in module.nodes for child in ast.iter_child_nodes(node)}

    def handed_on(node: ast.AST) -> bool:
        while not isinstance(node, ast.stmt):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in WRITING:
                return True
            node = above[node]
        return isinstance(node, ast.Assign) and any(
            f"{writer}({node.targets[0].id}" in module.text
            for writer in WRITING
            if isinstance(node.targets[0], ast.Name)
        )

    return [f"{module.place}:{node.lineno}" for node in found if not handed_on(node)]


def test_numbers_are_formatted_where_the_language_is_known():
    found = {
        module.place: places
        for module in modules("app")
        if module.place not in FOR_PROGRAMS and (places := formatted_outside(module))
    }
    assert found == {}


def test_every_exception_is_still_one():
    assert [place for place in FOR_PROGRAMS if not formatted_outside(Module(ROOT / place))] == []


def test_the_windows_own_texts_get_their_numbers_written():
    """They are filled in by Python's own format, which knows no language."""
    found = [
        (context, source)
        for context, source, _ in german()
        if context not in {"Sentences", "Plots", "Policy"}
        and any(
            spec and "|" not in spec and re.search(r"[,%.efg]", spec)
            for _, _, spec, _ in Formatter().parse(source)
        )
    ]
    assert found == []
    assert shipped().is_dir()
