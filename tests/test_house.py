"""The habits of the house: short files and functions, nothing unfinished, open seams."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache

import pytest

from sfumato.engine.mechanisms import all_mechanisms
from sfumato.resources import resource_path
from tests.source_code import ROOT, Module, dotted, modules

Function = ast.FunctionDef | ast.AsyncFunctionDef

LONGEST_FILE = 700
LONGEST_FUNCTION = 60
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError")
ASSERTING = ("raises", "warns", "waitSignal", "waitSignals", "waitUntil", "assertNotEmitted")
"""What libraries call something that fails a test; so do names that begin with ``assert_``."""


@pytest.mark.parametrize("folder", ["app", "tests"])
def test_a_file_is_short_enough_to_be_one_thing(folder):
    lengths = {module.place: module.text.count("\n") for module in modules(folder)}
    assert {place: lines for place, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_a_function_is_short_enough_to_be_read():
    long = [
        f"{module.place}:{node.lineno} {node.name}"
        for module in modules("app")
        for node in module.functions()
        if (node.end_lineno or node.lineno) - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_no_two_classes_have_one_name():
    """Who reads a name knows which class is meant, whatever is imported."""
    places: dict[str, list[str]] = {}
    for module in modules("app/sfumato"):
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module.place)
    assert places
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_frozen_dataclasses_are_made_by_the_decorator_that_compiles_nothing():
    """The library's compiles six methods of each: a fifth of the time of a small command."""
    compiled = [
        f"{module.place}:{node.lineno}"
        for module in modules("app/sfumato")
        for node in module.tree.body
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and "dataclass" in {alias.name for alias in node.names}
        and "frozen=True" in module.text
    ]
    assert compiled == []


MOST_KINDS_OF_TABLE = 3
"""How often a table's kind is still asked for."""


def test_tables_in_memory_and_in_batches_are_told_apart_no_more_often_than_now():
    """A table comes in batches, however many rows it has: this number only falls."""
    kinds = {"Table", "BatchedTable", "BatchedView", "TableSurvey", "MemorySurvey"}
    kinds |= {"SurveyedTable", "CountedColumns"}
    asked = []
    for module in modules("app/sfumato"):
        for node in module.nodes:
            if isinstance(node, ast.Call) and dotted(node.func) == "isinstance":
                named = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                asked += [f"{module.place}:{node.lineno}"] if named & kinds else []
    assert asked, "the test finds nothing to count"
    assert len(asked) <= MOST_KINDS_OF_TABLE, asked


def test_the_source_table_is_passed_around_in_batches_alone():
    """Whoever takes a table is handed all of it in one way, so that nobody asks which."""
    either = [
        f"{module.place}:{node.lineno}"
        for module in modules("app/sfumato")
        for node in module.nodes
        if isinstance(node, ast.BinOp)
        and {"Table", "BatchedTable"} <= {each.strip() for each in ast.unparse(node).split("|")}
    ]
    assert either == []


MOST_SECOND_WAYS = 3
"""How often something is done otherwise with all rows where they are in memory, however many."""


def test_rows_in_memory_are_asked_for_by_their_number():
    """What is done at once depends on how many rows there are: this number only falls."""
    asked = [
        f"{module.place}:{node.lineno}"
        for module in modules("app/sfumato")
        for node in module.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "held_rows"
        and not node.args
        and not module.place.endswith("batched_table.py")
    ]
    assert asked, "the test finds nothing to count"
    assert len(asked) <= MOST_SECOND_WAYS, asked


def test_no_file_class_or_function_is_called_long_but_for_texts_that_are():
    """Length is no kind of table."""
    named = [
        f"{module.place} {node.name}"
        for module in modules("app/sfumato")
        for node in module.nodes
        if isinstance(node, ast.ClassDef | Function)
        and re.match("_*(Long[A-Z]|long_|.*_long$)", node.name)
    ]
    named += [module.place for module in modules("app/sfumato") if "long_" in module.place]
    texts = "long_texts", "LongTexts"
    assert [
        name for name in named if not name.endswith(texts) and "long_texts.py" not in name
    ] == []


def test_nothing_is_left_unfinished():
    found = [
        f"{module.place}:{number}"
        for module in modules("app")
        for number, line in enumerate(module.text.splitlines(), start=1)
        if UNFINISHED.search(line)
    ]
    assert found == []


def test_every_test_asserts_something():
    written = [(module, node) for module in modules("tests") for node in module.functions()]
    helpers = asserting_helpers(node for _, node in written)
    hollow = [
        f"{module.place}:{node.lineno} {node.name}"
        for module, node in written
        if node.name.startswith("test_") and not asserts(node, helpers)
    ]
    assert hollow == []


@pytest.mark.parametrize("mark", ["alone", "queued"])
def test_a_test_that_runs_apart_says_so_in_its_own_file(mark):
    """`installer/test` finds it there, and imports no other tests."""
    said = [module.path.name for module in modules("tests") if f"mark.{mark}" in module.text]
    assert len(said) > 1
    assert [name for name in said if not name.startswith("test_")] == []


def test_a_helper_counts_only_where_it_asserts():
    code = """
def check_nothing(x): x.run()
def check_all(x): assert x
def expect(x): check_all(x)
def test_hollow(): check_nothing(1)
def test_sound(): expect(1)
"""
    nodes = [node for node in ast.parse(code).body if isinstance(node, ast.FunctionDef)]
    helpers = asserting_helpers(nodes)
    assert [node.name for node in nodes if not asserts(node, helpers)] == [
        "check_nothing",
        "test_hollow",
    ]


def asserting_helpers(functions: Iterable[Function]) -> set[str]:
    """Return the names of which every function asserts, by itself or through another."""
    by_name: dict[str, list[Function]] = {}
    for node in functions:
        by_name.setdefault(node.name, []).append(node)
    found: set[str] = set()
    while more := {
        name
        for name, nodes in by_name.items()
        if name not in found and all(asserts(node, found) for node in nodes)
    }:
        found |= more
    return found


def asserts(function: Function, helpers: set[str]) -> bool:
    by_itself, called = checks(function)
    return by_itself or not called.isdisjoint(helpers)


@cache
def checks(function: Function) -> tuple[bool, frozenset[str]]:
    """Return whether a function asserts by itself, and the names of what it calls."""
    nodes = tuple(ast.walk(function))
    called = frozenset(
        node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
        for node in nodes
        if isinstance(node, ast.Call)
    )
    known = called & set(ASSERTING) or any(name.startswith("assert_") for name in called)
    models = any(dotted(node) == "qtmodeltester.check" for node in nodes)
    return bool(known) or models or any(isinstance(n, ast.Assert) for n in nodes), called


def test_every_folder_of_python_is_a_package():
    missing = {
        module.path.parent.relative_to(ROOT).as_posix()
        for folder in ("app", "tests")
        for module in modules(folder)
        if not (module.path.parent / "__init__.py").exists()
    }
    assert missing == set()


@pytest.mark.parametrize("name", sorted(all_mechanisms()))
def test_a_mechanism_is_known_by_name_only_where_it_lives(name):
    """Whoever adds a mechanism finds no list to extend and no branch to add."""
    home = type(all_mechanisms()[name]).__module__.split(".mechanisms.")[1].split(".")[0]
    rooms = ("app/sfumato/engine/mechanisms", "app/sfumato/ui/panels/policy/mechanisms")
    own = tuple(f"{room}/{home}{end}" for room in rooms for end in ("/", ".py"))
    # A plot's texts and columns are words for people: it is given data and knows no mechanism.
    own = (*own, "app/sfumato/plots/")
    found = [
        f"{module.place}:{line}"
        for module in modules("app")
        if not module.place.startswith(own)
        for line in texts_of(module).get(name, ())
    ]
    assert found == []


@cache
def texts_of(module: Module) -> dict[str, list[int]]:
    """Return the lines in which each text stands by itself."""
    found: dict[str, list[int]] = {}
    for node in module.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.setdefault(node.value, []).append(node.lineno)
    return found


@pytest.mark.parametrize("name", sorted(all_mechanisms()))
def test_a_mechanism_has_its_editor_and_its_page_of_help(name):
    declared = re.compile(rf"^\s+mechanism\b[^=]*= \"{name}\"", re.MULTILINE)
    editors = modules("app/sfumato/ui/panels/policy/mechanisms")
    assert [e.place for e in editors if declared.search(e.text)], "no editor"
    assert resource_path("help", f"mechanism-{name}.md").stat().st_size > 500
