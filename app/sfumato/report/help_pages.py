"""The help's pages: in which order, of which sections, and which of them answer a search."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.formats.language import page_path
from sfumato.resources import resource_path

EXCERPT: Final = 96
"""Letters of an excerpt around what was found."""
_COVERED: Final = 0.6
"""What answers holds so much of what was asked, each word weighing the more the rarer it is."""
_SHORTEST: Final = 3
"""Shorter words are looked for only where there are no others, and as whole words."""
_WHOLE, _BEGINNING, _INSIDE = 1.0, 0.7, 0.3
"""What a word counts as it stands, as the beginning of a longer one, and inside one."""
_TITLE, _HEADING, _TERM = 10.0, 8.0, 3.0
"""What a word counts in a title, a heading and a term in bold, where one in the text is 1."""
_MOST_COUNTED: Final = 5
_MARKS: Final = (
    (re.compile(r"!\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^\|[-| :]+\|$", re.MULTILINE), ""),
    (re.compile(r"^#+ |^[-*] |^    |^```\w*$", re.MULTILINE), ""),
    (re.compile(r"[*`|]"), " "),
)
_BOLD: Final = re.compile(r"\*\*([^*]+)\*\*")
_WORD: Final = re.compile(r"\w+")


def _without_marks(text: str) -> str:
    for mark, instead in _MARKS:
        text = mark.sub(instead, text)
    return " ".join(text.split())


@dataclass(frozen=True)
class HelpSection:
    """A part of a page.

    Parameters
    ----------
    heading
        What it is called; empty for what a page begins with.
    text
        What stands below the heading, in Markdown.
    """

    heading: str
    text: str

    @property
    def anchor(self) -> str:
        """What a link names behind ``#``."""
        return anchor_of(self.heading)

    @cached_property
    def plain(self) -> str:
        """The text without Markdown's marks, in one line."""
        return _without_marks(self.text)

    @cached_property
    def name(self) -> str:
        """The heading without Markdown's marks."""
        return _without_marks(self.heading)

    @cached_property
    def folded(self) -> tuple[str, str, str]:
        """The heading, what stands in bold, and the text, as they are compared."""
        bold = " ".join(_BOLD.findall(self.text))
        return folded(self.heading), folded(bold), folded(self.plain)


@dataclass(frozen=True)
class HelpPage:
    """A page of the help.

    Parameters
    ----------
    path
        Where it is, in the language spoken.
    title
        Its first heading.
    sections
        What it begins with, then its sections.
    """

    path: Path
    title: str
    sections: tuple[HelpSection, ...]

    @property
    def name(self) -> str:
        """What links call it, without ``.md``."""
        return self.path.stem

    @cached_property
    def folded_title(self) -> str:
        """The title as it is compared."""
        return folded(self.title)

    @property
    def words(self) -> int:
        """How long it is."""
        return sum(len(section.plain.split()) for section in self.sections)


@dataclass(frozen=True)
class HelpHit:
    """A section that answers a search.

    Parameters
    ----------
    page, section
        Where it stands.
    score
        How well it answers; larger is better.
    excerpt
        Some words around what was found.
    """

    page: HelpPage
    section: HelpSection
    score: float
    excerpt: str


def anchor_of(heading: str) -> str:
    """Return what a link to a heading names: its words in small letters, joined by hyphens."""
    return "-".join(_WORD.findall(heading.casefold()))


def help_pages() -> tuple[Path, ...]:
    """Return the pages in the language spoken: the index, then in the order it leads to them."""
    try:
        names = [path.name for path in resource_path("help").glob("*.md")]
        index = page_path("help", "index.md").read_text(encoding="utf-8")
    except LookupError:
        return ()

    def place(name: str) -> tuple[bool, int, str]:
        found = index.find(f"({name})")
        return (name != "index.md", found if found >= 0 else len(index), name)

    return tuple(page_path("help", name) for name in sorted(names, key=place))


def read_page(path: Path) -> HelpPage:
    """Read a page; a ``##`` in code begins no section."""
    title, parts, in_code = path.stem, [HelpSection("", "")], False
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        in_code ^= line.startswith("```")
        if in_code or not line.startswith(("# ", "## ")):
            lines.append(line)
        elif line.startswith("# "):
            title = line[2:].strip()
        else:
            parts[-1] = HelpSection(parts[-1].heading, "\n".join(lines).strip())
            parts.append(HelpSection(line[3:].strip(), ""))
            lines = []
    parts[-1] = HelpSection(parts[-1].heading, "\n".join(lines).strip())
    return HelpPage(path, title, tuple(parts))


# ----- searching


def folded(text: str) -> str:
    """Return a text as it is compared: without case and accents."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def asked_words(text: str) -> tuple[str, ...]:
    """Return the words that are looked for, each once."""
    words = dict.fromkeys(_WORD.findall(folded(text)))
    return tuple(word for word in words if len(word) >= _SHORTEST) or tuple(words)


def searched(text: str, pages: Iterable[HelpPage]) -> tuple[HelpHit, ...]:
    """Return the sections that answer a search, the best first.

    A word counts more the fewer sections it occurs in, and more in a title or a heading than in a
    text. Sections without most of the words are left out.

    Parameters
    ----------
    text
        What a person typed.
    pages
        The pages in their order, which decides between equals.
    """
    units = [(page, section) for page in pages for section in page.sections]
    asked = asked_words(text)
    scores = {word: [_score(word, *unit) for unit in units] for word in asked}
    shares = {word: sum(map(bool, found)) / max(len(units), 1) for word, found in scores.items()}
    weights = {word: math.log1p(1 / share) for word, share in shares.items() if share}
    rarest = sorted(weights, key=lambda word: -weights[word])
    needed = _COVERED * sum(weights.values())
    hits = []
    for at, (page, section) in enumerate(units):
        there = [word for word in weights if scores[word][at]]
        covered = sum(weights[word] for word in there)
        if there and covered >= needed:
            score = covered * sum(weights[word] * scores[word][at] for word in there)
            hits.append(HelpHit(page, section, score, excerpt(section.plain, rarest)))
    return tuple(sorted(hits, key=lambda hit: -hit.score))


def _score(word: str, page: HelpPage, section: HelpSection) -> float:
    """Return how much a word counts in a section; 0 where it does not occur."""
    title = _TITLE if not section.heading else _TITLE / 4
    parts = zip((page.folded_title, *section.folded), (title, _HEADING, _TERM, 1.0), strict=True)
    return sum(weight * _matches(word, text) for text, weight in parts)


def _matches(word: str, text: str) -> float:
    """Return how often a word stands in a text, a part of a longer word counting less."""
    counted, at = 0.0, text.find(word)
    while at >= 0 and counted < _MOST_COUNTED:
        end = at + len(word)
        begins = at == 0 or not text[at - 1].isalnum()
        ends = end == len(text) or not text[end].isalnum()
        if begins and ends:
            counted += _WHOLE
        elif len(word) >= _SHORTEST:
            counted += _BEGINNING if begins else _INSIDE
        at = text.find(word, end)
    # The second mention tells less than the first.
    return math.log2(1.0 + counted)


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return about `EXCERPT` letters of a text around the first of these words that occurs in it.

    Parameters
    ----------
    text
        In one line.
    words
        Folded, the one that matters most first.
    """
    if len(text) <= EXCERPT:
        return text
    plain = folded(text)  # a letter longer for each ß
    at = next((place for word in words if (place := plain.find(word)) >= 0), 0)
    begin = max(0, at - EXCERPT // 3)
    begin = text.find(" ", begin) + 1 if begin else 0
    cut = text[begin : begin + EXCERPT]
    more = begin + EXCERPT < len(text)
    cut = cut.rpartition(" ")[0] if more and " " in cut else cut
    return ("…" if begin else "") + cut + ("…" if more else "")
