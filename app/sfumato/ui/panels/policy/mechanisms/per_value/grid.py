"""Limits in the making, not yet right, and the grid that they are typed into.

Nothing that was typed is lost: what can't be read stays as text, and `problems` names it at its
cell. Only a draft without problems becomes the policy's limits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.privacy import gamma_for_rho
from sfumato.engine.mechanisms.per_value import PerValueLimit, PrivacyLimits
from sfumato.engine.mechanisms.retention_solver import BreachMode
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped, localized
from sfumato.plots.axes import percent
from sfumato.ui.look.theme import Space, scaled, themes
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.sheets import SheetView, typed_number
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading

RHO1, RHO2 = 0, 1
SEPARATOR: Final = "; "
"""Between several limits of one value, for different background knowledge."""

Pair = tuple[str, str]
EMPTY: Final[Pair] = ("", "")

VALUE, SHARE, LOW, HIGH, GAMMA, KEPT, UP, DOWN = range(8)
EDITABLE: Final = {LOW: RHO1, HIGH: RHO2}
NONE_TEXT: Final = "–"
ROWS_IN_SIGHT = 9
NARROWEST = 56
WIDTHS = {SHARE: 68, LOW: 82, HIGH: 82, GAMMA: 60, KEPT: 84, UP: 66, DOWN: 66}


@dataclass(frozen=True)
class LimitsDraft:
    """The limits of every value as they stand in the grid.

    Parameters
    ----------
    names
        The domain's values, shape (m,).
    frequencies
        Their shares, shape (m,).
    mode, theta
        As in `PrivacyLimits`.
    own
        The texts of ρ1 and ρ2 of the values that have limits of their own, by position.
    strays
        Pasted rows (value, ρ1, ρ2) for values that the domain does not have.
    """

    names: tuple[str, ...]
    frequencies: Floats = field(compare=False)
    mode: BreachMode = BreachMode.STRICT
    theta: float | None = None
    own: Mapping[int, Pair] = field(default_factory=dict)
    strays: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of(cls, limits: PrivacyLimits, names: tuple[str, ...], frequencies: Floats) -> LimitsDraft:
        """Return the draft that states limits as they are."""
        places = {name: place for place, name in enumerate(names)}
        own: dict[int, Pair] = {}
        strays = []
        for limit in limits.stated:
            texts = (shown(limit.rho1), shown(limit.rho2))
            place = places.get(limit.value)
            if place is None:
                strays.append((limit.value, *texts))
            else:
                own[place] = _joined(own.get(place, EMPTY), texts)
        return cls(names, frequencies, limits.mode, limits.theta, own, tuple(strays))

    # ----- changes

    def with_texts(self, changes: Mapping[tuple[int, int], str]) -> LimitsDraft:
        """Return the draft with the texts of some cells, by (position, RHO1 or RHO2), changed.

        Where only one half of a pair is given, the other is what the tolerance rule says.
        """
        own = dict(self.own)
        for (place, column), text in changes.items():
            pair = list(own.get(place, EMPTY))
            pair[column] = text.strip()
            own[place] = (pair[0], pair[1])
        for place in {place for place, _ in changes}:
            own[place] = self._completed(place, own[place])
            if own[place] == EMPTY:
                del own[place]
        return replace(self, own=own)

    def with_limits(self, places: Iterable[int], pair: Pair) -> LimitsDraft:
        """Return the draft with the same limits for several values; empty ones follow the rule."""
        own = dict(self.own)
        for place in places:
            own[place] = pair
            if pair == EMPTY:
                del own[place]
        return replace(self, own=own)

    def _completed(self, place: int, pair: Pair) -> Pair:
        if all(pair) or not any(pair):
            return pair
        before, rule = self.own.get(place, EMPTY), self.rule(place)
        if before != EMPTY or rule is None:
            return pair  # one half of a stated pair was taken away: that is a problem to name
        return (pair[0] or shown(rule[0]), pair[1] or shown(rule[1]))

    def rule(self, place: int) -> tuple[float, float] | None:
        """Return the limits by the tolerance rule; None where it sets none."""
        share = float(self.frequencies[place])
        if self.theta is None or share <= 0 or share * self.theta >= 1:
            return None
        return float(f"{share:.3g}"), float(f"{self.theta * share:.3g}")

    # ----- what it says

    def problems(self) -> dict[tuple[int, int], str]:
        """Return what is wrong, by the cell (position, RHO1 or RHO2)."""
        found: dict[tuple[int, int], str] = {}
        for place, pair in self.own.items():
            columns = [_numbers(text) for text in pair]
            for column, numbers in enumerate(columns):
                wrong = _fault(pair[column], numbers, "ρ1" if column == RHO1 else "ρ2")
                if wrong:
                    found[place, column] = wrong
            if (place, RHO1) in found or (place, RHO2) in found:
                continue
            first, second = columns
            if len(first) != len(second):
                found[place, RHO2] = tr("As many numbers are needed for ρ2 as for ρ1.")
            elif any(low >= high for low, high in zip(first, second, strict=True)):
                found[place, RHO2] = tr("ρ2 must be above ρ1: a belief is to stay below it.")
        return found

    @property
    def sound(self) -> bool:
        """Whether these are limits that can be solved for."""
        return not self.strays and not self.problems()

    def limits(self) -> PrivacyLimits:
        """Return the limits that hold no problem; those with one are left out."""
        wrong = {place for place, _ in self.problems()}
        stated = [
            PerValueLimit(self.names[place], low, high)
            for place, pair in sorted(self.own.items())
            if place not in wrong
            for low, high in zip(_numbers(pair[RHO1]), _numbers(pair[RHO2]), strict=True)
        ]
        return PrivacyLimits(self.mode, self.theta, tuple(stated))

    def gammas(self, domain: Domain) -> Floats:
        """Return γ of every value as it stands, shape (m,): NaN at a problem, else as solved."""
        limits = self.limits()
        if len(set(self.names)) < len(self.names):
            limits = replace(limits, stated=())
        gammas = limits.gammas(domain, self.frequencies)
        gammas[[place for place, _ in self.problems()]] = np.nan
        return gammas


def names_of(attribute: Attribute) -> tuple[str, ...]:
    """Return what an attribute's values are called; nothing for one without a domain."""
    return attribute.domain.names if attribute.domain is not None else ()


def shown(value: float) -> str:
    """Return a number as it is typed: no noise, nothing lost."""
    short = f"{value:.12g}"
    return localized(short if float(short) == value else repr(value))


def meaning(pair: Pair) -> str:
    """Return what limits say, in words; empty where they can't be read."""
    low, high = _numbers(pair[RHO1]), _numbers(pair[RHO2])
    sentences = []
    for rho1, rho2 in zip(low, high, strict=False):
        try:
            gamma = gamma_for_rho(rho1, rho2)
        except LevelError:
            return ""
        sentences.append(
            tr(
                "A belief of at most {before} stays at most {after} (γ = {gamma}).",
                before=_percent(rho1),
                after=_percent(rho2),
                gamma=localized(f"{gamma:.4g}"),
            )
        )
    return "\n".join(sentences)


def numbers_in(texts: Sequence[str]) -> bool:
    """Return whether every text is a number (or several)."""
    return all(numbers and not any(map(math.isnan, numbers)) for numbers in map(_numbers, texts))


def _percent(share: float) -> str:
    return f"{localized(f'{share * 100:.4g}')}\u202f%"


def _joined(before: Pair, more: Pair) -> Pair:
    if before == EMPTY:
        return more
    return (before[0] + SEPARATOR + more[0], before[1] + SEPARATOR + more[1])


def _numbers(text: str) -> list[float]:
    """Return the numbers of a cell, NaN for what is none."""
    return [typed_number(part) for part in text.split(";") if part.strip()]


def _fault(text: str, numbers: Sequence[float], symbol: str) -> str:
    """Return what is wrong with one cell by itself."""
    if not text.strip() or not numbers:
        return tr("{symbol} is missing.", symbol=symbol)
    if any(map(math.isnan, numbers)):
        return tr("“{text}” is not a number.", text=text)
    if not all(0 < number < 1 for number in numbers):
        return tr("{symbol} must be above 0 and below 1.", symbol=symbol)
    return ""


@dataclass(frozen=True)
class SensitivityClass:
    """How sensitive a value can be, in words: limits to start from.

    Parameters
    ----------
    name, sentence
        What it is called, and what its limits say.
    pair
        ρ1 and ρ2, as texts.
    """

    name: str
    sentence: str
    pair: Pair = EMPTY


def classes() -> tuple[SensitivityClass, ...]:
    """Return the classes, the most sensitive first; the last takes a value's own limits away."""
    named = (
        (tr("Very sensitive"), 15),
        (tr("Sensitive"), 30),
        (tr("Ordinary"), 60),
        (tr("Not sensitive"), 95),
    )
    sentence = tr("A belief of 10\u202f% stays below {after}\u202f%", after="{after}")
    limited = (
        SensitivityClass(name, sentence.format(after=after), ("0.1", localized(f"{after / 100:g}")))
        for name, after in named
    )
    return (*limited, SensitivityClass(tr("By the rule"), tr("No limits of its own")))


def by_rarity(frequencies: Floats, rare: float, uncommon: float) -> dict[int, Pair]:
    """Return limits that are the tighter the rarer a value is, by position.

    Parameters
    ----------
    frequencies
        The values' shares, shape (m,).
    rare, uncommon
        Values below these shares are very sensitive, or sensitive; the others are ordinary.
    """
    very, sensitive, ordinary = (each.pair for each in classes()[:3])
    return {
        place: very if share < rare else sensitive if share < uncommon else ordinary
        for place, share in enumerate(frequencies)
    }


Pasted = tuple[LimitsDraft, str]
"""A draft after pasting, and what there is to say about it."""


def is_list(rows: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether the rows name values: (value, ρ1, ρ2), rather than fill cells."""
    known = set(names)
    named = [row for row in rows if len(row) >= 3]
    if not named:
        return False
    return any(row[0] in known or not numbers_in(row[:1]) for row in named)


def paste_list(draft: LimitsDraft, rows: Sequence[Sequence[str]]) -> Pasted:
    """Return the draft with the limits of a list; a value that stands there twice gets both.

    A first line of headings is passed over. Rows for values that the domain does not have are
    kept as strays.
    """
    places = {name: place for place, name in enumerate(draft.names)}
    if rows and rows[0][0] not in places and not numbers_in(rows[0][1:3]):
        rows = rows[1:]
    own: dict[int, Pair] = {}
    strays = list(draft.strays)
    for row in rows:
        value, low, high = (*row, "", "")[:3]
        place = places.get(value)
        if place is None:
            strays.append((value, low, high))
        else:
            own[place] = _joined(own.get(place, EMPTY), (low, high))
    kept = {place: pair for place, pair in {**draft.own, **own}.items() if pair != EMPTY}
    missing = len(draft.names) - len(own)
    words = _taken(len(own))
    if missing:
        words += " " + tr(
            "{count} {count:value|values} of the domain {count:is|are} not in the list;"
            " {count:its limits|theirs} stay as they were.",
            count=grouped(missing),
        )
    return replace(draft, own=kept, strays=tuple(dict.fromkeys(strays))), words


def paste_block(
    draft: LimitsDraft, rows: Sequence[Sequence[str]], places: Sequence[int], first_column: int
) -> Pasted:
    """Return the draft with a block of cells filled.

    Parameters
    ----------
    rows
        The cells' texts.
    places
        The positions of the values from the block's first row on, in the order in sight.
    first_column
        `RHO1` or `RHO2`: where the block's first column goes.
    """
    changes: dict[tuple[int, int], str] = {}
    left_over = 0
    for offset, row in enumerate(rows):
        for across, text in enumerate(row):
            column = first_column + across
            if offset < len(places) and column in (RHO1, RHO2):
                changes[places[offset], column] = text
            else:
                left_over += 1
    words = _taken(len({place for place, _ in changes}))
    if left_over:
        words += " " + tr(
            "{count} {count:cell|cells} did not fit and were left out.", count=grouped(left_over)
        )
    return draft.with_texts(changes), words


def _taken(values: int) -> str:
    return tr("{count} {count:value was|values were} pasted.", count=grouped(values))


@dataclass(frozen=True)
class Solved:
    """What the matrix in force does to each value.

    Parameters
    ----------
    retention
        The retention probabilities p, shape (m,).
    up, down
        The worst odds ratios, shape (m,).
    """

    retention: Floats
    up: Floats
    down: Floats


class LimitsModel(CellsModel):
    """Values in rows, in the order and the selection that the person asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(_headings(), parent)
        self._draft = LimitsDraft((), np.zeros(0))
        self._gammas: Floats = np.zeros(0)
        self._solved: Solved | None = None
        self._problems: dict[tuple[int, int], str] = {}
        self._order: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._sorting = (-1, False)
        self._needle, self._only_own = "", False

    # ----- what is shown

    def show_draft(
        self,
        draft: LimitsDraft,
        gammas: Floats,
        problems: dict[tuple[int, int], str],
        solved: Solved | None,
    ) -> None:
        """Show limits, and what comes of those in force; None where there is nothing yet.

        Of the same domain, order and selection stay.
        """
        same = self._draft.names == draft.names
        self._draft, self._gammas, self._problems, self._solved = draft, gammas, problems, solved
        if same:
            self.repaint()
        else:
            self._arrange()

    def narrow(self, needle: str, *, only_own: bool) -> None:
        """Show only values whose name contains a text, or that have limits of their own."""
        self._needle, self._only_own = needle.casefold().strip(), only_own
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; -1 restores the domain's order."""
        self._sorting = (column, order == Qt.SortOrder.DescendingOrder)
        self._arrange()

    def _arrange(self) -> None:
        """Put the rows in order anew."""
        self._order = self._ordered()
        self.lay_out(len(self._order))

    def _ordered(self) -> npt.NDArray[np.intp]:
        draft = self._draft
        order = np.arange(len(draft.names), dtype=np.intp)
        column, descending = self._sorting
        if column == VALUE:
            order = np.argsort(np.array([name.casefold() for name in draft.names]), kind="stable")
            order = order[::-1] if descending else order
        elif column > VALUE:
            # Values without a number stay at the end, whichever way the others go.
            keys = self._keys(column)
            order = np.argsort(-keys if descending else keys, kind="stable")
        if self._needle:
            order = order[[self._needle in draft.names[place].casefold() for place in order]]
        if self._only_own:
            troubled = {place for place, _ in self._problems}
            order = order[[place in draft.own or place in troubled for place in order]]
        return order

    def _keys(self, column: int) -> Floats:
        """Return the numbers of a column, shape (m,); NaN where there is none."""
        draft = self._draft
        if column in EDITABLE:
            places = range(len(draft.names))
            return np.array([_leading_number(self._limit(at, EDITABLE[column])) for at in places])
        if column in (SHARE, GAMMA):
            return draft.frequencies if column == SHARE else self._gammas
        if self._solved is None:
            return np.full(len(draft.names), np.nan)
        return (self._solved.retention, self._solved.up, self._solved.down)[column - KEPT]

    def place(self, row: int) -> int:
        """Return the position in the domain of a row in sight."""
        return int(self._order[row])

    def places_from(self, row: int) -> list[int]:
        """Return the positions of a row in sight and all below it."""
        return [int(place) for place in self._order[row:]]

    def row_of(self, place: int) -> int | None:
        """Return the row of a value; None where it is not in sight."""
        found = np.flatnonzero(self._order == place)
        return int(found[0]) if len(found) else None

    # ----- its cells

    def cell(self, row: int, column: int) -> Cell:
        """Return a value's name, its share, a limit or what comes of it."""
        place, draft = self.place(row), self._draft
        if column == VALUE:
            return Cell(draft.names[place], draft.names[place])
        if column == SHARE:
            share = percent(float(draft.frequencies[place]), 1)
            return Cell(share, ink=themes().current.style.muted)
        if column in EDITABLE:
            return self._limit_cell(place, EDITABLE[column])
        result = float(self._keys(column)[place])
        return Cell(NONE_TEXT if np.isnan(result) else number(result))

    def _limit_cell(self, place: int, column: int) -> Cell:
        """Return a limit: slanted where it follows the rule, marked where it is wrong."""
        text, problem = self._limit(place, column), self._problems.get((place, column))
        theme, by_rule = themes().current, place not in self._draft.own
        if problem is not None:
            danger = theme.style.danger
            ground = theme.tint(danger)
            return Cell(text, problem, ink=danger, ground=ground, icon="danger", italic=by_rule)
        tip = self._tip(place)
        return Cell(text, tip, ink=theme.style.muted if by_rule else "", italic=by_rule)

    def _limit(self, place: int, column: int) -> str:
        pair = self._draft.own.get(place, EMPTY)
        if pair != EMPTY:
            return pair[column]
        rule = self._draft.rule(place)
        return shown(rule[column]) if rule is not None else ""

    def _tip(self, place: int) -> str:
        pair = self._draft.own.get(place)
        if pair is not None:
            return meaning(pair)
        if self._draft.theta is None:
            return tr("No limit of its own, and no rule.")
        if not np.isfinite(self._gammas[place]):
            return tr("So frequent that the tolerance rule sets no limit.")
        return tr("By the tolerance rule: at most θ times as likely as its share here.")


def _leading_number(text: str) -> float:
    try:
        return float(text.split(";", maxsplit=1)[0].replace(",", "."))
    except ValueError:
        return float("nan")


def _headings() -> tuple[Heading, ...]:
    numbers = (
        (tr("Share"), tr("The value's share that limits are solved for")),
        ("ρ1", tr("A belief of at most ρ1 in this value …")),
        ("ρ2", tr("… stays at most ρ2, whatever is released")),
        ("γ", tr("The bound on the odds that follows: ρ2(1−ρ1) / (ρ1(1−ρ2))")),
        ("p", tr("Retention probability: the value is kept on purpose this often")),
        (tr("Odds ↑"), tr("The most by which a released value multiplies the odds on this one")),
        (tr("Odds ↓"), tr("The least: below 1, a released value makes this one less likely")),
    )
    columns = enumerate(numbers, start=SHARE)
    return (
        Heading(tr("Value")),
        *(Heading(*said, right=True, editable=column in EDITABLE) for column, said in columns),
    )


class LimitsGrid(SheetView):
    """Shows the limits."""

    def __init__(self, model: LimitsModel, parent: QWidget | None = None) -> None:
        name = tr("Limits of the values")
        super().__init__(model, name=name, row_numbers=False, parent=parent)
        self._limits = model
        self.setSortingEnabled(True)
        header = self.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setSortIndicatorClearable(True)
        header.setMinimumSectionSize(scaled(NARROWEST))
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setSectionResizeMode(VALUE, QHeaderView.ResizeMode.Stretch)
        for column, width in WIDTHS.items():
            self.setColumnWidth(column, scaled(width))
        model.modelReset.connect(self._fit_height)
        self._fit_height()

    def _fit_height(self) -> None:
        """Take the height of a few rows, however many there are."""
        rows = min(max(self._limits.rowCount(), 4), ROWS_IN_SIGHT)
        self.setFixedHeight(rows * Space.FIELD + Space.FIELD + 4 + 14)

    def clear_cells(self) -> None:
        """Take the limits of the selected values away, so that they follow the rule."""
        cells = [(row, column) for row in self.chosen_rows() for column in EDITABLE]
        if cells:
            self._limits.written.emit(dict.fromkeys(cells, ""))
