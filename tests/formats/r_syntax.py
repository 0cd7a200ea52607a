"""A strict look at R code where R is not there: brackets, quotes and leftovers of templates.

It is no parser: it sees that every bracket and every quote is closed in order, that nothing of
a template is left, and that no line ends in the middle of an assignment.
"""

from __future__ import annotations

import re

PAIRS = {")": "(", "]": "[", "}": "{"}
STRINGS = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|#[^\n]*", re.S)


def r_problems(code: str) -> list[str]:
    """Return what is wrong with R code; nothing where it seems well formed."""
    bare = STRINGS.sub(lambda found: "" if found[0].startswith("#") else "0", code)
    problems = [f"a quote {mark} is open" for mark in "'\"`" if mark in bare]
    open_brackets: list[str] = []
    for character in bare:
        if character in PAIRS.values():
            open_brackets.append(character)
        elif character in PAIRS and (not open_brackets or open_brackets.pop() != PAIRS[character]):
            problems.append(f"a {character} closes nothing")
    if open_brackets:
        problems.append(f"a {open_brackets[-1]} is open")
    problems += [f"{found} is no R" for found in re.findall(r"\$\{|\$\$|\$\s|:=|\bNone\b", bare)]
    if re.search(r"(<-|,|\+|&&|\|\|)\s*\Z", bare):
        problems.append("it ends in the middle of an expression")
    return problems
