"""Retention in a hierarchy: values are replaced within their chapter first, and then everywhere.

Where a chapter tells less than the value inside it (a group of diagnoses, a region), it may be kept
more often. Of the events that replace a value, a share stays in its chapter; one level p governs
both, so all levels form a ladder.

**Matrix.** With B₁ the even distribution over a value's chapter and B₂ that over the whole domain,
B₁·B₂ = B₂·B₁ = B₂. So (a·I + (1 − a)·B₁)·(c·I + (1 − c)·B₂) = a·c·I + c·(1 − a)·B₁ + (1 − c)·B₂,
and two such matrices multiply to the one with a·a' and c·c'.

**Ladder.** Two uniform ladders. On the first, events put in a value of the whole domain. On the
second, which runs over the s places of a chapter, they put in an offset that begins at 0. What is
shown is the value of the first ladder, moved on within its chapter by the offset, modulo s.

From one level to a lower one the shown value becomes an even draw from the domain where the first
ladder has an event in between: its fresh value is even, whatever is added. Else it becomes an even
draw from its chapter where the second has one, for the fresh offset is even; else it stays. Events
in between know nothing of those before, so the lower release is a garbling of the upper one by the
matrix of the two ratios, and so on through all levels: P(p)·P(q) = P(p·q). Chapters of one size
share a second ladder. A record that has come to another chapter got there by an event of the first,
whose fresh value makes whatever the offsets tell of one another void.

The second ladder's draws depend on the true value through the identifier that they are made with:
else the offset would stay where a value was corrected, and two editions would tell how.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from decimal import Context as Digits
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Words
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.privacy import check_retention
from sfumato.engine.mechanisms.base import (
    PromiseFigure,
    PublishedFacts,
    ReleaseRequest,
    Settings,
)
from sfumato.engine.mechanisms.categorical import CategoricalMechanism, domain_parameters
from sfumato.engine.mechanisms.promise_words import all_told, at_most, nothing_told
from sfumato.engine.mechanisms.setting_specs import ListSpec, NumberSpec
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes

USUAL_INSIDE: Final = 0.5
MOST_INSIDE: Final = 0.99

INSIDE: Final = NumberSpec(
    name="inside_share",
    title="Share of the replacements that stay in the chapter",
    gloss="the share of the replacements that stay in the chapter",
    hint="The more stay, the more often chapters are right, and the more a release tells"
    " about them at one retention probability.",
    usual=USUAL_INSIDE,
    least=0.0,
    most=MOST_INSIDE,
    decimals=1,
    unit="%",
    scale=100,
    step=5.0,
)
LEVEL: Final = NumberSpec(
    name="chapters_level",
    title="Chapters by a level of a hierarchy",
    gloss="the level of the column's hierarchy whose classes are the chapters",
    becomes="chapters",
    least=1,
    whole=True,
)
CHAPTERS: Final = ListSpec(
    name="chapters",
    title="Each value's chapter",
    gloss="the chapter of each value, in the order of the domain; the same text for values of one"
    " chapter",
    follows=(LEVEL.name,),
)

_DIGITS: Final = Digits(prec=40)


_MATRICES_KEPT: Final = 8
_VALUE_SHIFT = np.uint64(44)


class ChapterMatrix(DenseMatrix):
    """A value's chapter is kept with probability c, and the place inside it with a.

    Parameters
    ----------
    inside
        a, from 0 to 1.
    chapter
        c, from 0 to 1.
    chapters
        The chapter of each value, as a number, shape (m,), m >= 2.
    """

    def __init__(self, inside: float, chapter: float, chapters: Sequence[int]) -> None:
        check_retention(inside)
        check_retention(chapter)
        places = np.asarray(chapters)
        same = places[:, np.newaxis] == places
        everywhere = (1.0 - chapter) / len(places)
        within = chapter * (1.0 - inside) * same / same.sum(axis=0)
        super().__init__(inside * chapter * np.eye(len(places)) + within + everywhere)
        self.inside, self.chapter = inside, chapter
        self._same = same

    @cached_property
    def gamma_inside(self) -> float:
        """By how much the odds between two values of one chapter change at most."""
        entries = self.dense()
        with np.errstate(divide="ignore"):
            ratios = np.where(self._same, np.diagonal(entries)[:, np.newaxis] / entries, 1.0)
        return float(ratios.max())


def release_in_chapters(
    codes: Codes,
    chapters: Sequence[int],
    levels: tuple[float, float],
    record_ids: Words,
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
) -> Codes:
    """Return an attribute's codes as they are released at one level.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    chapters
        The chapter of each value of the domain, as a number, m of them.
    levels
        How probably the place inside a chapter is kept, and how probably the chapter.
    record_ids
        The records' identifiers, shape (n,).
    keys
        The keys of the ladder inside chapters and of the one over the domain.
    context
        Told of the progress; may stop the work.
    """
    inside, everywhere = levels
    part = Part(context, 0.0, 0.5)
    shown = release_codes(codes, len(chapters), everywhere, record_ids, keys[1], part)
    own_ids = record_ids ^ (codes.astype(np.uint64) << _VALUE_SHIFT)
    of_value = np.asarray(chapters)
    order = np.argsort(of_value, kind="stable")
    _, first, sizes = np.unique(of_value[order], return_index=True, return_counts=True)
    numbers = np.unique(of_value, return_inverse=True)[1]
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - first[numbers[order]]
    result = shown.copy()
    for size in np.unique(sizes[sizes > 1]).tolist():
        rows = np.flatnonzero(sizes[numbers[shown]] == size)
        start = np.zeros(len(rows), dtype=np.uint32)
        offset = release_codes(start, size, inside, own_ids[rows], keys[0], Part(context, 0.5, 1.0))
        here = shown[rows]
        moved = (place[here] + offset) % size
        result[rows] = order[first[numbers[here]] + moved]
    return result


class HierarchicalRetention(CategoricalMechanism):
    """Retention with replacements that stay in a value's chapter first."""

    name = "hierarchical"
    title = "Hierarchical retention"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced, first by a"
        " value of its own chapter and then by any, so that chapters stay right more often."
    )
    order = 16
    ladder = ("hierarchical", 1)
    completes_settings = True
    settings = (CHAPTERS, LEVEL, INSIDE)
    most_values = 1_000  # the matrix is kept whole

    def recommendation(self, attributes: Attributes) -> str:
        """Recommend it where a hierarchy has chapters of several values."""
        for level in self.classes(attributes)[:1]:
            count, chapters = len(level), len(set(level))
            if 1 < chapters <= count // 2:
                return Sentence(
                    "{count:,} {count:value|values} in {chapters:,} {chapters:chapter|chapters} of"
                    " a hierarchy: counts of chapters stay closer to the truth.",
                    count=count,
                    chapters=chapters,
                )
        return ""

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return chapters by the classes of a hierarchy, or the fewest letters that tell any."""
        with suppress(SfumatoError):
            for level in self.classes(attributes)[:1]:
                return {"chapters": list(level), "inside_share": USUAL_INSIDE}
        names = self.domain_of(attributes).names
        longest = max(map(len, names))
        found = next((n for n in range(1, longest) if len({x[:n] for x in names}) > 1), 1)
        return {"chapters": chapters_by(names, found), "inside_share": USUAL_INSIDE}

    def classes(self, attributes: Attributes) -> tuple[tuple[str, ...], ...]:
        """Return what the hierarchy calls each value at its levels; nothing where there is none.

        Raises
        ------
        HierarchyError
            If the hierarchy does not fit the domain.
        """
        (attribute,) = attributes
        if attribute.hierarchy is None:
            return ()
        return attribute.hierarchy.classes(attribute.name, self.domain_of(attributes).values)

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the chapters themselves, where a level of a hierarchy is named.

        Raises
        ------
        PolicyError
            If chapters and a level are named, or the column's hierarchy has no such level.
        """
        if "chapters_level" not in settings:
            return {**self.default_settings(attributes), **settings}
        rest = {name: each for name, each in settings.items() if name != "chapters_level"}
        if "chapters" in rest:
            raise PolicyError(
                "The settings name chapters, and chapters_level as well.",
                "Keep one of the two.",
            )
        level, classes = settings["chapters_level"], self.classes(attributes)
        if not classes:
            raise PolicyError(
                "Column {column} has no hierarchy that chapters could be taken from.",
                "Add a section [hierarchies.{column}], for instance with a file, or name the"
                " chapters.",
                column=attributes[0].name,
            )
        if not isinstance(level, int) or not 1 <= level <= len(classes):
            raise PolicyError(
                "The setting chapters_level is not a level of the hierarchy of column {column},"
                " which has the levels 1 to {most} above the values.",
                "Name one of them.",
                column=attributes[0].name,
                most=len(classes),
            )
        return {"inside_share": USUAL_INSIDE, **rest, "chapters": list(classes[level - 1])}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not valid for the attribute."""
        self.chapters(attributes, settings)
        inside_in(settings)

    def chapters(self, attributes: Attributes, settings: Settings) -> tuple[int, ...]:
        """Return each value's chapter, as a number in the order in which chapters come in.

        Raises
        ------
        PolicyError
            If a setting is unknown, or does not name one chapter for each value.
        """
        self.check_stated(settings)
        size, stated = self.domain_of(attributes).size, settings.get("chapters")
        given = stated if isinstance(stated, list | tuple) else []
        if len(given) != size or not all(isinstance(each, str) for each in given):
            raise PolicyError(
                "The setting chapters does not name a chapter for each of the {size}"
                " {size:value|values}.",
                "Give a list of texts in the order of the domain, the same text for values of one"
                " chapter.",
                size=size,
            )
        numbers: dict[str, int] = {}
        return tuple(numbers.setdefault(each, len(numbers)) for each in given)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the retention probability that multiplies no odds by more than γ."""
        least = min(np.bincount(self.chapters(attributes, settings)))
        size, low, high = self.domain_of(attributes).size, 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2.0
            inside, chapter = levels_of(middle, settings)
            kept = chapter * (inside + (1.0 - inside) / least)
            low, high = (
                (middle, high)
                if kept * size <= (gamma - 1.0) * (1.0 - chapter) * (1.0 - 1e-12)
                else (low, middle)
            )
        return low

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return the chapters and the share inside."""
        return self.chapters(attributes, settings), inside_in(settings)

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes, shape (n,)."""
        name, settings = request.attributes[0].name, request.settings
        ladder = self.ladder_identity(request.attributes, settings)
        inside, everywhere = (
            request.keys.for_attribute(name, ladder, json.dumps([self.name, what]))
            for what in ("inside", "everywhere")
        )
        return release_in_chapters(
            self.true_codes(request),
            self.chapters(request.attributes, settings),
            levels_of(request.level, settings),
            request.record_ids,
            (inside, everywhere),
            context,
        )

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> ChapterMatrix:
        """Return the matrix of a level."""
        return _matrix(*levels_of(level, settings), self.chapters(attributes, settings))

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds, and those inside one chapter."""
        matrix, name = self.matrix(level, attributes, settings), attributes[0].name
        if math.isinf(matrix.gamma):
            return all_told(name)
        if matrix.gamma == 1.0:
            return nothing_told(name)
        return Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies the"
            " odds on any value or chapter by at most {gamma}, and those between values of one"
            " chapter by at most {inside}.",
            name=name,
            gamma=at_most(matrix.gamma),
            inside=at_most(matrix.gamma_inside),
        )

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return how often a value and its chapter are kept, and the odds factor inside one."""
        matrix = self.matrix(level, attributes, settings)
        return (
            *super().own_facts(level, attributes, settings),
            PromiseFigure(
                "c",
                "Retention of the chapter",
                matrix.chapter,
                "A value's chapter is kept on purpose this often.",
            ),
            PromiseFigure(
                "γ inside",
                "Odds factor inside a chapter",
                matrix.gamma_inside,
                "For somebody who knows the chapter, no released value multiplies the odds between"
                " two of its values by more.",
            ),
        )

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the two retention probabilities, the chapters and the domain, with a guide."""
        domain, matrix = self.domain_of(attributes), self.matrix(level, attributes, settings)
        return PublishedFacts(
            parameters={
                "retention_inside": matrix.inside,
                "retention_of_chapter": matrix.chapter,
                "chapters": list(settings["chapters"]),
                "odds_factor_inside": (
                    matrix.gamma_inside if math.isfinite(matrix.gamma_inside) else None
                ),
                **domain_parameters(domain, matrix.gamma),
            },
            guide="hierarchical" if level > 0.0 else "uniform-noise",
            values={
                "chapter": formatted(matrix.chapter, ".6g"),
                "inside": formatted(matrix.inside, ".6g"),
                "domain_size": formatted(domain.size, ","),
            },
        )

    def garbling(
        self, upper: float, lower: float, attributes: Attributes, settings: Settings
    ) -> ChapterMatrix:
        """Return what replaces a release at an upper level further."""
        first, then = levels_of(upper, settings), levels_of(lower, settings)
        chapters = self.chapters(attributes, settings)
        return ChapterMatrix(then[0] / first[0], then[1] / first[1], chapters)


MECHANISM = HierarchicalRetention()


@lru_cache(maxsize=_MATRICES_KEPT)
def _matrix(inside: float, chapter: float, chapters: tuple[int, ...]) -> ChapterMatrix:
    """Return a matrix; an edit in the window asks some twenty times for the same ones."""
    return ChapterMatrix(inside, chapter, chapters)


def chapters_by(names: Sequence[str], letters: int) -> list[str]:
    """Return the first letters of values as their chapters."""
    return [name[:letters] for name in names]


def inside_in(settings: Mapping[str, Any]) -> float:
    """Return which share of the replacements stays in the chapter; raises `PolicyError`."""
    return float(INSIDE.stated(settings))


def levels_of(level: float, settings: Mapping[str, Any]) -> tuple[float, float]:
    """Return a = p^ι and c = p^(1 − ι): how often the place in a chapter and the chapter are kept.

    They are the same to the last bit on every machine, and never larger at a lower level.
    """
    check_retention(level)
    share = inside_in(settings)
    if level in (0.0, 1.0):
        return (1.0 if share == 0.0 else level), level
    exact = _DIGITS.ln(Decimal(level))
    inside = float(_DIGITS.exp(_DIGITS.multiply(exact, Decimal(share))))
    return inside, float(_DIGITS.exp(_DIGITS.multiply(exact, 1 - Decimal(share))))
