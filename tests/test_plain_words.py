"""The texts that people read are plain standard English: no idioms that only this house speaks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.source_code import ROOT, modules

FORBIDDEN = re.compile(
    r"\bmend(s|ed|ing)?\b|\b[Ss]tates? an? k\b|\bstands? alone\b|\b(are|is|were|be) known by\b"
    r"|\bknown by (it|them)\b|\banew\b|\bheed(s|ed)?\b|\bgrave\b|\blooked for\b|\bof no account\b"
    r"|\bnobody keeps\b|\b[Cc]omes? of (it|the)\b|\bcatch up\b|\b(be|are|is) told of\b"
    r"|\busual: |, but for\b|\bprotected apart\b|\bdrawn row by row\b|\bby chance aside\b",
    re.IGNORECASE,
)
PAGES = ("README.md", "resources/help/*.md")


def texts() -> Iterator[tuple[str, str]]:
    """Give each text of the product but docstrings, with where it stands."""
    for module in modules("app/sfumato"):
        described = {id(node.value) for node in module.nodes if isinstance(node, ast.Expr)}
        for node in module.nodes:
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and id(node) not in described and " " in text:
                yield f"{module.place}:{node.lineno}", text
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
                yield f"{path.relative_to(ROOT).as_posix()}:{number}", line


def test_what_people_read_has_no_idioms_of_the_house():
    found = {place: text for place, text in texts() if FORBIDDEN.search(text)}
    assert found == {}


@pytest.mark.parametrize(
    "text", ["Mend it.", "State a k for each", "{column} stands alone", "records are known by"]
)
def test_such_idioms_are_found(text):
    assert FORBIDDEN.search(text)
    assert not FORBIDDEN.search("Correct it, or recommend a standalone program known by name.")
