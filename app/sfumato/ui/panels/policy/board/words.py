"""What the board says of a cell, a gauge and a column, for eyes and for ears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import Finding
from sfumato.analysis.planning.board import (
    BoardCell,
    BoardRow,
    Gauge,
    Gauges,
    LabelledValue,
    grade_of_gauge,
)
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.utility.mechanism_choice import whole_records
from sfumato.analysis.utility.worth import ColumnWorth, DetailKept
from sfumato.engine.core.columns import Leaves, Role
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.tables import show_value

WORDS: Final = {
    Leaves.EXACT: QT_TRANSLATE_NOOP("Policy", "exact"),
    Leaves.COARSENED: QT_TRANSLATE_NOOP("Policy", "coarsened"),
    Leaves.RANDOMISED: QT_TRANSLATE_NOOP("Policy", "randomised"),
    Leaves.LEFT_OUT: QT_TRANSLATE_NOOP("Policy", "left out"),
    Leaves.PSEUDONYM: QT_TRANSLATE_NOOP("Policy", "as a pseudonym"),
    Leaves.UNDECIDED: QT_TRANSLATE_NOOP("Policy", "not decided yet"),
}
"""How a column leaves, in a word."""
ROLES: Final = {
    Role.QUASI_IDENTIFIER: QT_TRANSLATE_NOOP("Policy", "quasi-identifier"),
    Role.SENSITIVE: QT_TRANSLATE_NOOP("Policy", "sensitive"),
    Role.INSENSITIVE: QT_TRANSLATE_NOOP("Policy", "insensitive"),
    Role.WEIGHT: QT_TRANSLATE_NOOP("Policy", "weight"),
    Role.IDENTIFYING: QT_TRANSLATE_NOOP("Policy", "identifying"),
}
"""What a column is for, as it stands below its name; groups of columns stand in this order."""
GROUPS: Final = {
    Role.QUASI_IDENTIFIER: QT_TRANSLATE_NOOP("Policy", "Quasi-identifiers"),
    Role.SENSITIVE: QT_TRANSLATE_NOOP("Policy", "Sensitive"),
    Role.INSENSITIVE: QT_TRANSLATE_NOOP("Policy", "Insensitive"),
    Role.WEIGHT: QT_TRANSLATE_NOOP("Policy", "Weights"),
    Role.IDENTIFYING: QT_TRANSLATE_NOOP("Policy", "Identifying or left out"),
}
"""The same of several columns."""


class StarredRows(NamedTuple):
    """In how many rows a column shows "*", and of how many; 0 where that is not known."""

    rows: int = 0
    of: int = 0

    @property
    def mostly(self) -> bool:
        """Whether hardly anybody is told of: an example of what is shown would mislead."""
        return 2 * self.rows > self.of > 0


NOT_STARRED: Final = StarredRows()


def value_text(value: object) -> str:
    """Return a value as cells show it, with its label behind it; a dash for none."""
    if isinstance(value, LabelledValue):
        return f"{show_value(value.value, localized)} ({value.label})"
    return "–" if value is None else show_value(value, localized)


def original_text(row: BoardRow) -> str:
    """Return what the table holds: a frequent value, or how many there are where each names one."""
    if row.example is None:
        return "…"
    profile = row.example.profile
    if row.spec.role is Role.IDENTIFYING:
        return tr("{count} {count:value|values}", count=grouped(profile.distinct))
    numbers = profile.numbers
    if row.spec.role is Role.SENSITIVE and numbers is not None and row.spec.domain is None:
        middle = numbers.quantiles[len(numbers.quantiles) // 2]
        return str(number(middle, 3))
    return value_text(row.example.value)


def cell_text(cell: BoardCell, hidden: StarredRows = NOT_STARRED) -> str:
    """Return what stands large in a cell: what the recipient would see of the example."""
    match cell.leaves:
        case Leaves.LEFT_OUT | Leaves.UNDECIDED:
            return "–"
        case Leaves.PSEUDONYM:
            return "a1f3…"
        case Leaves.RANDOMISED if cell.share is not None:
            return tr("true for {count} of 100", count=hundredths(cell.share))
        case Leaves.RANDOMISED if cell.width is not None:
            return f"±\u202f{number(cell.width, 3)}"
        case Leaves.RANDOMISED:
            return "≈"
    return "*" if hidden.mostly else value_text(cell.after)


def cell_word(cell: BoardCell, hidden: StarredRows = NOT_STARRED) -> str:
    """Return how a column leaves, as it stands below the example."""
    word = tr(str(WORDS[cell.leaves]))
    if not _suppresses(cell, hidden):
        return word
    rows = grouped(hidden.rows)
    if hidden.mostly:
        return tr("* in {rows} of {of} {of:row|rows}", rows=rows, of=grouped(hidden.of))
    return tr("{word}, * in {rows} {rows:row|rows}", word=word, rows=rows)


def _suppresses(cell: BoardCell, hidden: StarredRows) -> bool:
    return hidden.rows > 0 and cell.leaves in (Leaves.EXACT, Leaves.COARSENED)


def cell_said(cell: BoardCell, hidden: StarredRows = NOT_STARRED) -> str:
    """Return a cell in a sentence, as a screen reader says it."""
    name = cell.column.replace("_", " ")
    return f"{cell.recipient}, {name}: {effect_of(cell, hidden)}"


def effect_of(cell: BoardCell, hidden: StarredRows = NOT_STARRED) -> str:
    """Return what becomes of a column for a recipient, in words."""
    word = tr(str(WORDS[cell.leaves]))
    if _suppresses(cell, hidden):
        rows, of = grouped(hidden.rows), grouped(hidden.of)
        starred = {"rows": rows, "of": of, "word": word}
        word = (
            tr("suppressed in {rows} of {of} {of:row|rows}, else {word}", **starred)
            if hidden.mostly
            else tr("{word}, suppressed in {rows} {rows:row|rows}", **starred)
        )
    match cell.leaves:
        case Leaves.RANDOMISED if cell.share is not None:
            return tr(
                "{word}, the true value in {count} of 100 records",
                word=word,
                count=hundredths(cell.share),
            )
        case Leaves.RANDOMISED if cell.width is not None:
            return tr(
                "{word}, off by at most {width} in nine of ten records",
                word=word,
                width=number(cell.width, 3),
            )
        case Leaves.COARSENED if cell.before != cell.after:
            return tr(
                "{word}, {before} becomes {after}",
                word=word,
                before=value_text(cell.before),
                after=value_text(cell.after),
            )
        case Leaves.EXACT | Leaves.COARSENED if cell.after is not None:
            return tr("{word}, {value} stays {value}", word=word, value=value_text(cell.after))
    return word


def role_text(row: BoardRow) -> str:
    """Return what a column is for, and with which others it is protected."""
    told = tr(str(ROLES[row.spec.role]))
    if row.spec.role is Role.IDENTIFYING and row.spec.as_pseudonym is None:
        return tr("not released")  # a plan leaves out columns that name nobody, too
    return (
        tr("{role}, with {others}", role=told, others=", ".join(row.beside)) if row.beside else told
    )


def hundredths(share: float) -> str:
    """Return a share in 100, as `31`; very small and very large ones with a decimal."""
    hundred = 100.0 * share
    return str(number(hundred, 2)) if hundred < 1 or 99 < hundred < 100 else grouped(round(hundred))


class GaugeText(NamedTuple):
    """A gauge as it is shown: its name, its value, how it stands, and why."""

    name: str
    value: str
    look: str
    why: str


def gauge_texts(gauges: Gauges | None, found: Readiness | None) -> tuple[GaugeText, ...]:
    """Return the three gauges of a recipient, in their order.

    Parameters
    ----------
    gauges
        Their figures; None while they are not known.
    found
        What the check before a release found; None while that is not known.
    """
    makers = {Gauge.FOUND: _found, Gauge.GUESSED: _guessed, Gauge.WORTH: _worth}
    told = []
    for gauge, maker in makers.items():
        made = maker(gauges)
        if found is not None:
            made = _graded(made, *grade_of_gauge(found, gauge))
        elif made.look == "good":  # the check may still find what makes it a caution
            made = made._replace(look="muted")
        told.append(made)
    return tuple(told)


def _graded(made: GaugeText, severity: Severity, findings: Sequence[Finding]) -> GaugeText:
    """Return a gauge in the colour of what the check found, which says why."""
    if severity is Severity.GOOD:
        return made if made.look == "muted" else made._replace(look="good")
    why = " ".join(dict.fromkeys(typeset(one.sentence) for one in findings))
    return made._replace(look="danger" if severity is Severity.GRAVE else "caution", why=why)


def _found(gauges: Gauges | None) -> GaugeText:
    name = tr("found")
    if gauges is None:
        return GaugeText(name, "…", "muted", "")
    if gauges.problem:
        return GaugeText(name, "–", "danger", typeset(spoken(gauges.problem)))
    if gauges.found is None:
        why = tr("The table is read in parts: the check under Releases counts its rows.")
        return GaugeText(name, "–", "muted", why)
    look = "good" if gauges.found == 0 else "danger"
    why = tr(
        "{count} of {of} {of:record is|records are} unique on the columns that leave unperturbed.",
        count=grouped(gauges.found),
        of=grouped(gauges.of),
    )
    return GaugeText(name, grouped(gauges.found), look, why)


def _guessed(gauges: Gauges | None) -> GaugeText:
    name = tr("guessed")
    if gauges is None:
        return GaugeText(name, "…", "muted", "")
    if gauges.exposed is None:
        why = tr("No randomised column has values that could be guessed right or wrong.")
        return GaugeText(name, "–", "muted", why)
    column, before, after = gauges.exposed
    value = tr("{before} → {after}\u202f%", before=hundredths(before), after=hundredths(after))
    why = tr(
        "The best guess at {column} is right for {before} of 100 records without a release, and"
        " for {after} with this one.",
        column=column,
        before=hundredths(before),
        after=hundredths(after),
    )
    return GaugeText(name, value, "muted", why)


def _worth(gauges: Gauges | None) -> GaugeText:
    name = tr("worth")
    if gauges is None:
        return GaugeText(name, "…", "muted", "")
    records = [one.records for one in gauges.worth] + [0.0] * len(gauges.untold)
    if not records:
        return GaugeText(name, "–", "muted", tr("No column is randomised."))
    low, high = (grouped(whole_records(one)) for one in (min(records), max(records)))
    value = low if low == high else tr("{low} to {high}", low=low, high=high)
    ends = {one.column: one for one in (gauges.least, gauges.most) if one is not None}
    nothing = (DetailKept(gauges.recipient, one, 0.0, 1.0) for one in gauges.untold)
    told: list[DetailKept | ColumnWorth] = [*nothing, *ends.values()]
    look = "danger" if any(one.worthless for one in told) else "good"
    return GaugeText(name, value, look, " ".join(typeset(one.sentence) for one in told))
