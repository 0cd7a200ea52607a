"""What a translator translates: the texts of the product's source code, found by reading it.

A text is translated in one of four ways, and each has its context in the .ts file:

- ``self.tr("…")``: the context is the class.
- ``QCoreApplication.translate("Context", "…")`` and ``QT_TRANSLATE_NOOP("Context", "…")``, also
  through a function of the house that hands its argument to them, such as `say` of a panel;
  ``marked("Context", "…|…")`` marks several.
- ``style.say("…")`` of a figure: the context is ``Plots``.
- Everything that the layers below the window say (errors, steps of jobs, promises, notes), the
  commands and the reports: they know no Qt, so their texts are taken as they stand, in the context
  ``Sentences``.
"""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

SENTENCES: Final = "Sentences"
PLOTS: Final = "Plots"
VALUES: Final = "Values"
BELOW_THE_WINDOW: Final = ("engine", "formats", "project", "analysis", "jobs")
"""The layers that know no Qt, and whose texts the window shows."""
BESIDE_THE_WINDOW: Final = ("report", "commands", "cli")
"""What speaks to a person by itself, in the same words as the layers below it."""
OF_THE_PARSER: Final = (
    *("usage: ", "positional arguments", "options", "show this help message and exit"),
    *("show program's version number and exit", "%(prog)s: error: %(message)s\n"),
    *("argument %(argument_name)s: %(message)s", "unrecognized arguments: %s"),
    *("the following arguments are required: %s", "one of the arguments %s is required"),
    *("not allowed with argument %s", "ignored explicit argument %r"),
    *("expected one argument", "expected at least one argument"),
    *("invalid %(type)s value: %(value)r",),
    "invalid choice: %(value)r (choose from %(choices)s)",
)
"""What Python's own parser of command lines says."""
_NOT_SHOWN: Final = frozenset(
    {"TypeError", "ValueError", "RuntimeError", "AssertionError", "KeyError", "IndexError"}
    | {"NotImplementedError", "TypeVar", "NewType", "ThreadPoolExecutor", "compile", "cast"}
    | {
        "derive",
        "ladder_digest",
        "for_attribute",
        "astype",
        "datetime64",
        "execute",
        "executescript",
        "StructureTag",
        "answers",
        "latest",
        "measured_shares",
    }
)
"""Calls whose texts are for programmers, or are no texts."""
_SAYING: Final = frozenset({"what", "remedy", "title", "text", "explanation", "reason", "name"})
"""Names that people read, also where they are a single word."""
_SAYERS: Final = frozenset({"worded", "translated", "said", "heads"})
"""What says a text in the language spoken, where no window is."""
_NO_PROSE: Final = re.compile(
    r"sfumato[ .]|(SELECT|DELETE|INSERT|UPDATE|DROP|SET) |max\(|-c |\(\.\*\)|\w+ = true$"
    r"|/O /|th scope=|<pane |application/"
)
"""Examples of command lines, SQL and other texts for programs."""
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_PROSE: Final = re.compile(r"[^\W\d_]\S* +\S|^[^\W\d_].*[.:]$")


@dataclass(frozen=True, order=True)
class Text:
    """One text to translate.

    Parameters
    ----------
    place
        The file it is in, from the checkout, with slashes.
    line
        Its line, from 1.
    context
        The context it is looked up in.
    source
        The text in English; ``{…}`` is filled in after translating.
    """

    place: str
    line: int
    context: str
    source: str


def texts_of(checkout: Path) -> tuple[Text, ...]:
    """Return every text of the product that can be translated, each once at each place.

    Parameters
    ----------
    checkout
        The folder with ``app`` in it.
    """
    paths = sorted((checkout / "app" / "sfumato").rglob("*.py"))
    return _texts_in(
        tuple((path.relative_to(checkout).as_posix(), path.read_text("utf-8")) for path in paths)
    )


@cache
def _texts_in(files: tuple[tuple[str, str], ...]) -> tuple[Text, ...]:
    """Return the texts of files, each with its place and its code; the same code is read once."""
    searching = gc.isenabled()
    gc.disable()  # to search the trees of all files as they grow takes half of the time
    try:
        modules = [_Module(place, code) for place, code in files]
        speakers = {speaker: way for module in modules for speaker, way in module.speakers()}
        errors = _families(modules, "SfumatoError")
        return tuple(
            sorted({text for module in modules for text in module.texts(speakers, errors)})
        )
    finally:
        if searching:
            gc.enable()


_IN_A_LARGER_TEXT: Final = (
    *(ast.Expr, ast.JoinedStr, ast.FormattedValue, ast.BinOp),
    *(ast.Compare, ast.Subscript, ast.List, ast.Set),
)
"""Where a text stands that is a docstring, a part of one, a key or a list of names."""

Speakers = dict[tuple[str, str], tuple[str, int]]
"""(module, function) → (context, the argument that is translated)."""


class _Module:
    """One file of source code and the texts in it."""

    def __init__(self, place: str, code: str) -> None:
        self.place = place
        self.tree = ast.parse(code)
        self.nodes = tuple(ast.walk(self.tree))
        self.name = (
            self.place.removeprefix("app/")
            .removesuffix(".py")
            .removesuffix("/__init__")
            .replace("/", ".")
        )
        self.layer = self.name.split(".")[1] if "." in self.name else ""
        self._calls = [node for node in self.nodes if isinstance(node, ast.Call)]
        self._above = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def speakers(self) -> Iterator[tuple[tuple[str, str], tuple[str, int]]]:
        """Every function that hands one of its arguments to Qt's translation."""
        for function in self.nodes:
            if not isinstance(function, ast.FunctionDef):
                continue
            names = [argument.arg for argument in function.args.args]
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                match call.args:
                    case [ast.Constant(value=str(context)), ast.Name(id=name), *_] if (
                        _called(call) in {"translate", "tr"} and name in names
                    ):
                        yield (self.name, function.name), (context, names.index(name))

    def texts(self, speakers: Speakers, errors: frozenset[str]) -> Iterator[Text]:
        """Every text of this file."""
        known = dict(self._imported(speakers))
        for call in self._calls:
            for context, argument in self._translated(call, known):
                yield from self._literals(context, argument)
            if self.layer == "ui" and _called(call) in {*errors, "report", "Sentence"}:
                for argument in call.args:
                    yield from self._literals(SENTENCES, argument)
        if self.layer in BELOW_THE_WINDOW + BESIDE_THE_WINDOW:
            yield from self._sentences()
            for call in self._calls:
                for said in call.args if _called(call) in _SAYERS else ():
                    yield from self._literals(SENTENCES, said)
        if self.layer == "cli":
            yield from (Text(self.place, 1, SENTENCES, source) for source in OF_THE_PARSER)

    def _imported(self, speakers: Speakers) -> Iterator[tuple[str, tuple[str, int]]]:
        """The functions that translate, by the names that this module knows them by."""
        for (module, name), way in speakers.items():
            if module == self.name:
                yield name, way
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if way := speakers.get((node.module or "", alias.name)):
                        yield alias.asname or alias.name, way

    def _translated(
        self, call: ast.Call, known: dict[str, tuple[str, int]]
    ) -> Iterator[tuple[str, ast.expr]]:
        """The arguments of a call that are translated, each with its context."""
        name, method = _called(call), isinstance(call.func, ast.Attribute)
        match call.args:
            case [ast.Constant(value=str(context)), ast.Constant(value=str(texts))] if (
                name == "marked"
            ):
                for text in texts.split("|"):
                    yield context, ast.copy_location(ast.Constant(text), call)
            case [ast.Constant(value=str(context)), text, *_] if name in {
                "QT_TRANSLATE_NOOP",
                "translate",
            } or (name == "tr" and not method):
                yield context, text
            case [text, *_] if name == "tr" and isinstance(call.func, ast.Attribute):
                yield self._class_of(call), text
            case [text, *_] if name in {"say", "translate"} and self.layer == "plots":
                yield PLOTS, text
            case [text, *_] if name == "tr" and "tr" not in known:
                yield self._class_of(call), text  # `tr = self.tr`
            case arguments if name in known and (not method or name == "translated"):
                context, place = known[name]
                yield from ((context, text) for text in arguments[place : place + 1])

    def _class_of(self, node: ast.AST) -> str:
        while not isinstance(node, ast.ClassDef | ast.Module):
            node = self._above[node]
        return node.name if isinstance(node, ast.ClassDef) else ""

    def _literals(self, context: str, argument: ast.expr) -> Iterator[Text]:
        """The literal texts of an argument, also those it chooses between."""
        match argument:
            case ast.Constant(value=str(source)) if _LETTERS.search(source):
                yield Text(self.place, argument.lineno, context, source)
            case ast.IfExp(body=one, orelse=other):
                yield from self._literals(context, one)
                yield from self._literals(context, other)
            case ast.BoolOp(values=choices):
                for choice in choices:
                    yield from self._literals(context, choice)
            case ast.Subscript(value=ast.Dict(values=choices)):
                for choice in choices:
                    yield from self._literals(context, choice)

    def _sentences(self) -> Iterator[Text]:
        """What a layer without Qt says: its prose, and the names that it gives to things."""
        for node in self.nodes:
            match node:
                case ast.Constant(value=str(source)) if self._is_said(node, source):
                    yield Text(self.place, node.lineno, SENTENCES, source)

    def _is_said(self, node: ast.Constant, source: str) -> bool:
        above = self._above[node]
        if not _LETTERS.search(source) or isinstance(above, _IN_A_LARGER_TEXT):
            return False
        if "\n" in source or _NO_PROSE.match(source) or self._is_for_translating(above):
            return False  # a page, or found as the argument of a call
        if isinstance(above, ast.Dict) and node in above.keys:
            return False
        if isinstance(above, ast.AnnAssign) and ast.unparse(above.annotation) == "TypeAlias":
            return False
        word = source[:1].isupper()
        match above:
            case ast.Call() if _called(above) == "Sentence":
                said = True
            case ast.Call() if _called(above)[:1].isupper() and word:
                said = _called(above) not in _NOT_SHOWN
            case (
                ast.Assign(targets=[ast.Name(id="title")])
                | ast.AnnAssign(target=ast.Name(id="title"))
            ):
                said = True
            case ast.keyword(arg=name) | ast.Assign(targets=[ast.Name(id=name)]):
                said = name in _SAYING and word
            case _:
                said = False
        return said or (bool(_PROSE.search(source)) and not self._for_programmers(above))

    def _is_for_translating(self, above: ast.AST) -> bool:
        """Whether a text is found as the argument of a call, or is a list of words for programs."""
        words = isinstance(above, ast.Call) and _called(above) in {"split", "_words"}
        return words or (isinstance(above, ast.Call) and _called(above) in _SAYERS)

    def _for_programmers(self, node: ast.AST) -> bool:
        while not isinstance(node, ast.stmt):
            if isinstance(node, ast.Call) and _called(node) in _NOT_SHOWN:
                return True
            node = self._above[node]
        return False


def _called(call: ast.Call) -> str:
    """Return the last name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _families(modules: list[_Module], root: str) -> frozenset[str]:
    """Return the names of a class and of every class below it."""
    parents = {
        node.name: [ast.unparse(base).rpartition(".")[2] for base in node.bases]
        for module in modules
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
    }
    found = {root}
    while more := {name for name, above in parents.items() if found & set(above)} - found:
        found |= more
    return frozenset(found)
