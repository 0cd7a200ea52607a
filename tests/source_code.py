"""The product's own source code, parsed once, for the tests that watch over the house."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Module:
    """One file of Python.

    `name` is dotted, e.g. ``sfumato.engine.table.table``; `place` is what a message shows.
    """

    path: Path

    @property
    def place(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def name(self) -> str:
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        parts = parts[1:] if parts[0] == "app" else parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        searched = gc.isenabled()
        gc.disable()  # two thirds of the time would go into looking at what was parsed before
        try:
            return ast.parse(self.text)
        finally:
            gc.freeze()  # nor do other tests look for garbage among the trees, which stay
            if searched:
                gc.enable()

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    def imports(self) -> tuple[tuple[int, str], ...]:
        """Every imported module as (line, dotted name); ``from a import b`` gives a and a.b."""
        return self._imports

    @cached_property
    def _imports(self) -> tuple[tuple[int, str], ...]:
        return tuple(self._found_imports())

    def _found_imports(self) -> Iterator[tuple[int, str]]:
        package = self.name if self.path.stem == "__init__" else self.name.rpartition(".")[0]
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node.lineno, alias.name
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, node.module or ""]).strip(".") if node.level else ""
                base = base or (node.module or "")
                yield node.lineno, base
                for alias in node.names:
                    yield node.lineno, f"{base}.{alias.name}"

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


@cache
def modules(under: str) -> tuple[Module, ...]:
    """Every module below a folder of the checkout, in order, or the one module of that name."""
    paths = sorted((ROOT / under).rglob("*.py")) or sorted(ROOT.glob(f"{under}.py"))
    return tuple(map(_module, paths))


_module = cache(Module)
"""A file is parsed once, whichever folders it is asked for with."""


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for an attribute chain on a name, else an empty text."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def is_or_below(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")
