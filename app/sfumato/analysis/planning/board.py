"""Who gets what: every column by every recipient, with three gauges above each recipient.

A cell tells how a column leaves for a recipient, by an example; it depends on what is decided and
on one value of the column, so that it follows a level while that is dragged. The gauges count rows,
and are worked out in a job. Examples are values of the table: they are for the custodian's eyes,
and go into no message, log or report.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.view_checks import seen_by, shown_to
from sfumato.analysis.findings import Finding
from sfumato.analysis.guarantee import promise_is_empty
from sfumato.analysis.readiness.verdicts import Readiness, ReleaseRisk, grade_of
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.unperturbed.open_columns import OpenAnswer
from sfumato.analysis.utility.worth import ColumnWorth, behind_of, columns_worth
from sfumato.engine.core.columns import ColumnSpec, Leaves, Role, leaves_unperturbed
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.best_guess import (
    guessed_of_member,
    restored_alone,
    restored_without,
)
from sfumato.engine.generalization.coded import quasi_identifier
from sfumato.engine.generalization.hierarchies import Recipe, ground_series, hierarchy_of
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, matrix_of_member
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, members, sizes_of
from sfumato.engine.table.profile import ColumnProfile
from sfumato.engine.table.profile_pictures import bars_of
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import (
    Document,
    PolicyEntry,
    Recipient,
    canonical_json,
    to_plain,
)
from sfumato.project.release.byproducts import SHARED, scope_of
from sfumato.project.release.views import Coarsened

OFTEN: Final = 0.9
"""The noise of numbers is told by what it is at most so often."""


# ----- what a column is like


@dataclass(frozen=True)
class LabelledValue:
    """A value with the label that the table gives it, as `2` with `female`."""

    value: object = field(repr=False)
    label: str = field(repr=False)


@dataclass(frozen=True)
class ColumnExample:
    """One value of a column, as it is and at every level of the column's hierarchy.

    Parameters
    ----------
    value
        A frequent value, or one in the middle, with its label where it has one; None where the
        column is empty.
    levels
        What it becomes from level 0 on, "*" last; one entry where there is no hierarchy.
    profile
        What the column looks like.
    bars
        The shares that its small picture shows.
    problem
        Why bins or hierarchy don't fit the column; empty where they do.
    """

    value: object = field(repr=False)
    levels: tuple[object, ...] = field(repr=False)
    profile: ColumnProfile
    bars: tuple[float, ...] = field(repr=False)
    problem: str = ""

    @property
    def height(self) -> int:
        """The highest level; 0 without a hierarchy."""
        return len(self.levels) - 1


def example_of(spec: ColumnSpec, recipe: Recipe | None, columns: ShownColumns) -> ColumnExample:
    """Return an example of a column, found once for its specification and its hierarchy."""
    plain = None if recipe is None else canonical_json(to_plain(recipe))
    key = ("example", canonical_json(to_plain(spec)), plain)
    return columns.keep(key, lambda: _example(spec, recipe, columns))


def knows_example(spec: ColumnSpec, recipe: Recipe | None, columns: ShownColumns) -> bool:
    """Return whether `example_of` answers at once."""
    plain = None if recipe is None else canonical_json(to_plain(recipe))
    return columns.knows(("example", canonical_json(to_plain(spec)), plain))


def _example(spec: ColumnSpec, recipe: Recipe | None, columns: ShownColumns) -> ColumnExample:
    series, profile = columns.table.column(spec.name), columns.profile(spec.name)
    texts = columns.table.value_labels.get(spec.name, {})
    bars = bars_of(profile, texts)
    known = series[series.notna()]
    if known.empty:
        return ColumnExample(None, (None,), profile, bars)
    place = len(known) // 2
    if profile.top and profile.top[0].count > 1:
        same = (known == profile.top[0].value).to_numpy(dtype=bool, na_value=False)
        place = int(same.argmax())
    one = known.iloc[[place]].reset_index(drop=True)
    value = _with_label(one.iloc[0], texts)
    try:
        sensitive = spec.role is Role.SENSITIVE
        shown = value if sensitive else _with_label(spec.shown(one).iloc[0], texts)
        levels: tuple[object, ...] = (shown,)
        if recipe is not None:
            hierarchy = hierarchy_of(recipe, spec, series)
            ground = Table(ground_series(spec, one).to_frame(spec.name))
            found = quasi_identifier(hierarchy, ground).with_one_group_on_top()
            code = int(found.codes[0])
            labels = [
                names[int(groups[code])]
                for groups, names in zip(found.levels[1:], found.labels[1:], strict=True)
            ]
            levels = (shown, *labels)
    except SfumatoError as error:
        return ColumnExample(value, (value,), profile, bars, problem=error.sentence)
    return ColumnExample(value, levels, profile, bars)


def _with_label(value: object, texts: Mapping[Any, str]) -> object:
    """Return a value with its label; by itself where it has none that says more than it does."""
    label = texts.get(value, "") if isinstance(value, Hashable) else ""
    return LabelledValue(value, label) if label and label != str(value) else value


# ----- the cells


@dataclass(frozen=True)
class BoardCell:
    """What one recipient gets of one column.

    Parameters
    ----------
    column, recipient
        Which, and whom.
    leaves
        How.
    before, after
        An example: what is true, and what leaves instead; None where there is none.
    share
        Of randomised categories, the share of records that show their true value.
    width
        Of randomised numbers, what the noise is at most in nine of ten records.
    trust
        How much of it the recipient gets, from 0 (nothing) to 1 (all).
    level, height
        Of a coarsened column, the level in its hierarchy, and the highest.
    problem
        Why it can't leave like that, or what endangers people there; empty where nothing does.
    less, more
        Whether the recipient can be given less of it, and more.
    """

    column: str
    recipient: str
    leaves: Leaves
    before: object = field(default=None, repr=False)
    after: object = field(default=None, repr=False)
    share: float | None = None
    width: float | None = None
    trust: float = 0.0
    level: int = 0
    height: int = 0
    problem: str = ""
    less: bool = False
    more: bool = False


@dataclass(frozen=True)
class BoardRow:
    """A column of the table, and what every recipient gets of it.

    Parameters
    ----------
    spec
        What is decided about the column.
    example
        One of its values; None while it is being looked for.
    cells
        One for each recipient, in the order asked for.
    beside
        The columns that are protected together with it.
    """

    spec: ColumnSpec
    example: ColumnExample | None
    cells: tuple[BoardCell, ...]
    beside: tuple[str, ...] = ()


def recipients_in_order(
    document: Document, attributes: Mapping[str, Attribute]
) -> tuple[Recipient, ...]:
    """Return the recipients, the most trusted first: by all that they get of sensitive columns.

    Those who are trusted alike, or whose levels are not stated yet, stay in the document's order.
    """

    def trusted(recipient: Recipient) -> float:
        known = [_trust(document, entry, recipient, attributes) for entry in document.policy]
        told = [each for each in known if each is not None]
        return -sum(told) / len(told) if told else 0.0

    if not document.policy:
        return document.recipients
    return tuple(sorted(document.recipients, key=trusted))


def _trust(
    document: Document,
    entry: PolicyEntry,
    recipient: Recipient,
    attributes: Mapping[str, Attribute],
) -> float | None:
    try:
        plan = plan_entry(document, entry, attributes, recipient)
    except (SfumatoError, KeyError):
        return None
    return mechanism_called(entry.mechanism).trust(plan.level)


def board_rows(
    document: Document,
    examples: Mapping[str, ColumnExample],
    attributes: Mapping[str, Attribute],
    people: Sequence[Recipient],
    found: Sequence[Readiness] = (),
) -> tuple[BoardRow, ...]:
    """Return what everybody gets of every column.

    Parameters
    ----------
    document
        What is decided, finished or not.
    examples
        By column, as far as they are known.
    attributes
        The policy's attributes, by name, as far as they are known.
    people
        The recipients, in the order of their cells.
    found
        What the check before a release found for this very document; nothing where it has not
        been made.
    """
    graves = {each.recipient: each.standing for each in found}
    rows = []
    for spec in document.columns:
        example = examples.get(spec.name)
        entry = document.entry_for(spec.name) if spec.role is Role.SENSITIVE else None
        cells = tuple(
            _with_danger(
                _cell(document, spec, example, entry, each, attributes), graves.get(each.name, ())
            )
            for each in people
        )
        beside = () if entry is None else tuple(n for n in entry.attributes if n != spec.name)
        rows.append(BoardRow(spec, example, cells, beside))
    return tuple(rows)


def _with_danger(cell: BoardCell, graves: Sequence[Finding]) -> BoardCell:
    """Return a cell with what is grave about its column, where that is what it names first."""
    told = next((one.sentence for one in graves if one.columns[:1] == (cell.column,)), "")
    return replace(cell, problem=told) if told and not cell.problem else cell


def _cell(
    document: Document,
    spec: ColumnSpec,
    example: ColumnExample | None,
    entry: PolicyEntry | None,
    recipient: Recipient,
    attributes: Mapping[str, Attribute],
) -> BoardCell:
    """Return what a recipient gets of a column."""
    value = None if example is None else example.value
    cell = BoardCell(spec.name, recipient.name, Leaves.EXACT, value, value, trust=1.0)
    if spec.role is Role.IDENTIFYING:
        if spec.as_pseudonym is None:
            return replace(cell, leaves=Leaves.LEFT_OUT, trust=0.0)
        shared = scope_of(spec, recipient.name) == SHARED
        return replace(cell, leaves=Leaves.PSEUDONYM, trust=0.5 if shared else 0.4)
    if spec.role is Role.SENSITIVE:
        return _randomised(document, cell, entry, recipient, attributes)
    if example is None:
        return cell
    if example.problem:
        return replace(cell, problem=example.problem)
    return _coarsened(document, cell, example, recipient)


def _coarsened(
    document: Document, cell: BoardCell, example: ColumnExample, recipient: Recipient
) -> BoardCell:
    """Return a cell of a column that leaves unperturbed, at its level in the recipient's view."""
    spec = document.column(cell.column)
    quasi = spec.role is Role.QUASI_IDENTIFIER
    height = example.height if quasi else 0
    stated = 0 if recipient.view is None else recipient.view.levels.get(cell.column, 0)
    level = min(stated, height)
    leaves = leaves_unperturbed(spec, level, height)
    trust = 1.0 - level / height if height else 1.0
    return replace(
        cell,
        leaves=leaves,
        after=example.levels[level],
        trust=trust if leaves is not Leaves.COARSENED else min(trust, 0.9),
        level=level,
        height=height,
        less=quasi and (height == 0 or level < height),
        more=level > 0,
    )


def _randomised(
    document: Document,
    cell: BoardCell,
    entry: PolicyEntry | None,
    recipient: Recipient,
    attributes: Mapping[str, Attribute],
) -> BoardCell:
    """Return a cell of a sensitive column."""
    undecided = replace(cell, leaves=Leaves.UNDECIDED, trust=0.0)
    if entry is None:
        return replace(undecided, problem=Sentence("Not protected yet."))
    if entry.key not in recipient.statements:
        return replace(undecided, problem=Sentence("No level is stated yet."))
    if not set(entry.attributes) <= attributes.keys():
        return undecided  # its values are being read
    chosen = tuple(attributes[name] for name in entry.attributes)
    try:
        plan = plan_entry(document, entry, attributes, recipient)
        mechanism = mechanism_called(entry.mechanism)
        trust = mechanism.trust(plan.level)
        empty = promise_is_empty(entry.mechanism, plan.level, entry.settings, chosen, entry.key)
        place = entry.attributes.index(cell.column)
        law = mechanism.noise_law(plan.level, chosen, entry.settings)
        share = width = None
        if law is not None:
            width = float(law.half_widths(OFTEN)[place])
        elif (matrix := mechanism.matrix(plan.level, chosen, entry.settings)) is not None:
            share = _kept_of(matrix, chosen, place)
    except SfumatoError as error:
        return replace(undecided, problem=error.sentence)
    return replace(
        cell,
        leaves=Leaves.EXACT if share == 1.0 or width == 0.0 else Leaves.RANDOMISED,
        share=share,
        width=width,
        trust=trust,
        problem=empty,
        less=trust > _ENDS[0],
        more=trust < _ENDS[1],
    )


_ENDS: Final = (0.002, 0.998)
"""Where a level is hardly any other one."""


def _kept_of(
    matrix: PerturbationMatrix, attributes: Sequence[Attribute], place: int
) -> float | None:
    """Return the share of records that show the true value of the attribute at a place."""
    shares = combined(attributes).frequencies
    if matrix.shows_symbols:
        return None
    if len(attributes) == 1:
        return float(shares @ matrix.diagonal)
    if not isinstance(matrix, RetentionMatrix):
        return None
    own = members(sizes_of(attributes), place)
    alone = matrix_of_member(matrix, shares, own)
    return float(attributes[place].frequencies @ alone.diagonal)


# ----- the gauges


@dataclass(frozen=True)
class Gauges:
    """The three figures above a recipient.

    Parameters
    ----------
    recipient
        Whose.
    found, of, by_unit
        People, or records where nobody belongs together, who can be found, and of how many; None
        where that is not counted.
    exposed
        The attribute whose best guess rises highest, with the guess without the release and with
        it, as shares of the records; None where nothing is guessed.
    worth
        What each randomised column is worth; empty without any.
    hidden
        In how many rows a column shows "*", where rows are suppressed.
    untold
        The columns that show "*" in every row.
    problem
        Why they can't be told; empty where they can.
    """

    recipient: str
    found: int | None = None
    of: int = 0
    by_unit: bool = False
    exposed: tuple[str, float, float] | None = None
    worth: tuple[ColumnWorth, ...] = ()
    hidden: Mapping[str, int] = field(default_factory=dict)
    untold: tuple[str, ...] = ()
    problem: str = ""

    @property
    def least(self) -> ColumnWorth | None:
        """The column worth least."""
        return min(self.worth, key=lambda one: one.records, default=None)

    @property
    def most(self) -> ColumnWorth | None:
        """The column worth most."""
        return max(self.worth, key=lambda one: one.records, default=None)


def gauges_of(
    document: Document,
    columns: ShownColumns,
    attributes: Mapping[str, Attribute],
    context: Context,
    *,
    counting: bool = True,
) -> tuple[Gauges, ...]:
    """Return the gauges of every recipient, in the document's order.

    Parameters
    ----------
    document
        What is decided, finished or not.
    columns
        What is known of the columns that leave; it keeps what was counted.
    attributes
        The policy's attributes, by name, as far as they are known.
    context
        Progress and cancelling.
    counting
        Whether these are all rows, so that who is unique can be counted.

    Raises
    ------
    SfumatoError
        If a unit is missing, or weights say nothing.
    """
    behind, told = behind_of(document, columns), []
    for recipient, part in one_by_one(context, document.recipients):
        part.report(0.0, Sentence("Working out what {name} gets", name=recipient.name))
        worth, _ = columns_worth(document, recipient, attributes, behind, helping=False)
        made = Gauges(
            recipient.name,
            of=columns.number_of_units,
            by_unit=columns.units is not None,
            exposed=max(
                _guesses(document, recipient, attributes), key=lambda one: one[2], default=None
            ),
            worth=worth,
        )
        try:
            shown = shown_to(document, recipient, columns) if counting else ()
            found = columns.classes(shown).unique if shown else (0 if counting else None)
            seen = seen_by(document, recipient, columns) if shown else None
            hidden = {} if seen is None else _hidden_in(seen)
            untold = () if seen is None else untold_in(seen)
            told.append(replace(made, found=found, hidden=hidden, untold=untold))
        except SfumatoError as error:
            told.append(replace(made, problem=error.sentence))
    return tuple(told)


def _hidden_in(seen: Coarsened) -> dict[str, int]:
    """Return in how many rows single cells of each quasi-identifier are suppressed."""
    return dict(zip(seen.coarsening.hierarchies, seen.view.starred, strict=True))


def untold_in(seen: Coarsened) -> tuple[str, ...]:
    """Return the quasi-identifiers that a view shows as "*" in every row."""
    return tuple(
        name
        for name, rows in _hidden_in(seen).items()
        if rows == seen.view.rows or 0 < seen.highest[name] == seen.coarsening.level(name)
    )


def _guesses(
    document: Document, recipient: Recipient, attributes: Mapping[str, Attribute]
) -> Iterator[tuple[str, float, float]]:
    """Yield each attribute with the best guess without a release and with this one alone."""
    for entry in document.policy:
        try:
            plan = plan_entry(document, entry, attributes, recipient)
            chosen = tuple(attributes[name] for name in entry.attributes)
            matrix = mechanism_called(entry.mechanism).matrix(plan.level, chosen, plan.settings)
            if matrix is None or any(each.domain is None for each in chosen):
                continue
            shares = combined(chosen).frequencies
            if len(chosen) == 1:
                after = restored_alone(matrix, shares, Silent()).guessed
                yield chosen[0].name, restored_without(shares).guessed, after
            elif isinstance(matrix, RetentionMatrix):
                for place, each in enumerate(chosen):
                    member = members(sizes_of(chosen), place)
                    after = guessed_of_member(matrix, shares, member)
                    yield each.name, restored_without(each.frequencies).guessed, after
        except (SfumatoError, KeyError):
            continue


def beside_open_columns(gauges: Gauges, answer: OpenAnswer | None) -> Gauges:
    """Return gauges in whose guess what the columns released unchanged tell counts, too."""
    if answer is None:
        return gauges
    figures = [one for one in answer.for_recipient(gauges.recipient) if not one.numeric]
    worst = max(figures, key=lambda one: one.both, default=None)
    if worst is None or (gauges.exposed is not None and gauges.exposed[2] > worst.both):
        return gauges
    return replace(gauges, exposed=(worst.attribute, worst.alone, worst.both))


class Gauge(StrEnum):
    """The three figures, by what they are about."""

    FOUND = "found"
    GUESSED = "guessed"
    WORTH = "worth"


_RISKS: Final = {
    Gauge.FOUND: (ReleaseRisk.FOUND,),
    Gauge.GUESSED: (ReleaseRisk.PROMISES, ReleaseRisk.TABLE),
    Gauge.WORTH: (ReleaseRisk.WORTH,),
}
"""Which of the grid's columns a gauge stands for; together they are all of them."""


def grade_of_gauge(found: Readiness, gauge: Gauge) -> tuple[Severity, tuple[Finding, ...]]:
    """Return how a recipient stands in what a gauge is about, and the findings that say so."""
    graded = [grade_of(found, risk) for risk in _RISKS[gauge]]
    worst = min(severity for severity, _ in graded)
    return worst, tuple(one for severity, own in graded if severity is worst for one in own)
