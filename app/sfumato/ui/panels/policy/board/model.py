"""The board as a table: rows are columns of the data, columns the original and the recipients.

What its cells say stands below it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, Final, NamedTuple

from PySide6.QtCore import QT_TRANSLATE_NOOP, QAbstractTableModel, Qt
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import Finding
from sfumato.analysis.planning.board import BoardCell, BoardRow, Gauge, Gauges, grade_of_gauge
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.utility.mechanism_choice import whole_records
from sfumato.analysis.utility.worth import ColumnWorth, DetailKept
from sfumato.engine.core.columns import Leaves, Role
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.theme import font, themes
from sfumato.ui.look.wording import number, spoken, typeset, value_name
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.tables import Index, show_value

ORIGINAL: Final = 0
"""The column that shows what the table holds; the recipients follow."""
_ROLES: Final = Qt.ItemDataRole


@dataclass(frozen=True)
class RoleLine:
    """The line above the columns of one role, which folds them away."""

    role: Role
    columns: int
    folded: bool

    @property
    def name(self) -> str:
        """What it is called."""
        return tr(str(GROUPS[self.role]))

    @property
    def count(self) -> str:
        """How many columns it has, to stand behind its name."""
        return f" ({self.columns})"

    @property
    def title(self) -> str:
        """What it is called, with how many columns it has."""
        return self.name + self.count

    @property
    def said(self) -> str:
        """The same for a screen reader, with its state."""
        words = "{title}, folded" if self.folded else "{title}, unfolded"
        return tr(words, title=self.title)


class BoardModel(QAbstractTableModel):
    """What everybody gets of every column; the columns of a role can be folded away."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[BoardRow, ...] = ()
        self._people: tuple[str, ...] = ()
        self._notes: Mapping[str, str] = {}
        self._gauges: Mapping[str, Gauges] = {}
        self._found: Mapping[str, Readiness] = {}
        self._folded: set[Role] = set()
        self._first: tuple[str, ...] = ()
        self._wanted = ""
        self.lines: tuple[BoardRow | RoleLine, ...] = ()
        """What stands in the rows in sight."""
        self.stale = True
        """Whether the gauges are those of earlier settings."""
        themes().changed.connect(self._tell_all)

    # ----- what is shown

    def show_rows(
        self,
        rows: Sequence[BoardRow],
        people: Sequence[str],
        notes: Mapping[str, str],
        first: Sequence[str] = (),
    ) -> None:
        """Show rows; where only cells changed, selection and scrolling stay.

        Of a role's columns those named stand first, in their order.
        """
        places = {name: place for place, name in enumerate(first)}
        ordered = sorted(rows, key=lambda row: places.get(row.spec.name, len(places)))
        self._rows, self._notes = tuple(ordered), notes
        lines, before = self._lines_of(), self.lines
        names = [_key(line) for line in lines]
        if tuple(people) == self._people and names == [_key(line) for line in before]:
            self.lines = lines
            for row, (line, known) in enumerate(zip(lines, before, strict=True)):
                if not _same(line, known):  # what stays is not drawn again: a drag asks often
                    last = self.index(row, self.columnCount() - 1)
                    self.dataChanged.emit(self.index(row, 0), last)
                    self.headerDataChanged.emit(Qt.Orientation.Vertical, row, row)
            return
        self.beginResetModel()
        self.lines, self._people = lines, tuple(people)
        self.endResetModel()

    def show_gauges(
        self,
        gauges: Sequence[Gauges],
        found: Sequence[Readiness],
        *,
        stale: bool,
    ) -> None:
        """Show the figures above the recipients; grey where they are of earlier settings."""
        before, was_stale = (*self._gauges.values(), *self._found.values()), self.stale
        self._gauges = {each.recipient: each for each in gauges}
        self._found = {each.recipient: each for each in found}
        self.stale = stale
        now = (*gauges, *found)
        if len(now) != len(before) or not all(map(is_, now, before)):
            self._tell_all()
        elif stale != was_stale and self._people:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(self._people))

    def _tell_all(self, *_changed: object) -> None:
        if self.lines:
            last = self.index(len(self.lines) - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)
        if self._people:
            across = Qt.Orientation.Horizontal
            self.headerDataChanged.emit(across, 0, len(self._people))

    def seek(self, text: str) -> None:
        """Show the columns whose names have a text in them."""
        self._wanted = text.strip().casefold()
        self._arrange()

    def fold(self, role: Role) -> None:
        """Fold the columns of a role away, or unfold them."""
        self._folded ^= {role}
        self._arrange()

    def _arrange(self) -> None:
        self.beginResetModel()
        self.lines = self._lines_of()
        self.endResetModel()

    def _lines_of(self) -> tuple[BoardRow | RoleLine, ...]:
        lines: list[BoardRow | RoleLine] = []
        for role in GROUPS:
            rows = [
                row
                for row in self._rows
                if row.spec.role is role and self._wanted in row.spec.name.casefold()
            ]
            if rows:
                folded = role in self._folded and not self._wanted
                lines.append(RoleLine(role, len(rows), folded))
                lines += [] if folded else rows
        return tuple(lines)

    # ----- what stands where

    @property
    def people(self) -> tuple[str, ...]:
        """The recipients, in the order of their columns."""
        return self._people

    def cell(self, row: int, column: int) -> BoardCell | None:
        """Return what a recipient gets; None of the original and of a group's line."""
        line = self.lines[row] if 0 <= row < len(self.lines) else None
        if not isinstance(line, BoardRow) or not ORIGINAL < column <= len(line.cells):
            return None
        cell = line.cells[column - 1]
        gauges = self._gauges.get(cell.recipient)
        if gauges is None or cell.column not in gauges.untold:
            return cell
        return replace(cell, leaves=Leaves.LEFT_OUT, trust=0.0)  # suppressed in every row

    def place_of(self, name: str, recipient: str = "") -> tuple[int, int]:
        """Return where a column stands, and a recipient; −1 for what is not in sight."""
        names = [line.spec.name if isinstance(line, BoardRow) else "" for line in self.lines]
        row = names.index(name) if name in names else -1
        known = recipient in self._people
        return row, self._people.index(recipient) + 1 if known else ORIGINAL

    def ranked(self, row: int, by: int = 0) -> str:
        """Return the quasi-identifier so many lines away from a row; empty where there is none."""
        for place in (row, row + by):
            line = self.lines[place] if 0 <= place < len(self.lines) else None
            quasi = isinstance(line, BoardRow) and line.spec.role is Role.QUASI_IDENTIFIER
            if not quasi:
                return ""
        return line.spec.name if isinstance(line, BoardRow) else ""

    def hidden(self, cell: BoardCell) -> int:
        """Return in how many rows a cell's column is suppressed."""
        gauges = self._gauges.get(cell.recipient)
        return 0 if gauges is None else gauges.hidden.get(cell.column, 0)

    def gauges(self, section: int) -> tuple[GaugeText, ...]:
        """Return what is told above a recipient."""
        name = self._people[section - 1]
        return gauge_texts(self._gauges.get(name), None if self.stale else self._found.get(name))

    def note(self, section: int) -> str:
        """Return the custodian's remark on a recipient."""
        return self._notes.get(self._people[section - 1], "")

    # ----- what Qt asks

    def rowCount(self, parent: Index | None = None) -> int:
        """Return how many lines there are."""
        return 0 if parent is not None and parent.isValid() else len(self.lines)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return how many columns there are: the original's and the recipients'."""
        return 0 if parent is not None and parent.isValid() else 1 + len(self._people)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return one aspect of a cell."""
        if role == _ROLES.FontRole:
            return font()
        line, cell = self.lines[index.row()], self.cell(index.row(), index.column())
        if isinstance(line, RoleLine):
            told = {int(_ROLES.AccessibleTextRole): line.said, int(_ROLES.DisplayRole): ""}
            return told.get(int(role))
        return self._original(line, role) if cell is None else self._told(cell, role)

    def _told(self, cell: BoardCell, role: int) -> str | None:
        if role == _ROLES.DisplayRole:
            return value_name(cell_text(cell))
        if role == _ROLES.AccessibleTextRole:
            return cell_said(cell, self.hidden(cell))
        if role == _ROLES.AccessibleDescriptionRole:
            return self._why(cell)
        if role == _ROLES.ToolTipRole:
            told = f"{cell.column}: {effect_of(cell, self.hidden(cell))}"
            return "\n".join(filter(None, (cell_text(cell), told, self._why(cell))))
        return None

    def word(self, index: Index) -> str:
        """Return how a column leaves, as it stands below the example."""
        cell = self.cell(index.row(), index.column())
        return "" if cell is None else cell_word(cell, self.hidden(cell))

    def _original(self, row: BoardRow, role: int) -> str | None:
        text = original_text(row)
        if role == _ROLES.AccessibleTextRole:
            name = row.spec.name.replace("_", " ")
            return tr("Original, {column}: {value}", column=name, value=text)
        return value_name(text) if role in (_ROLES.DisplayRole, _ROLES.ToolTipRole) else None

    @staticmethod
    def _why(cell: BoardCell) -> str:
        return typeset(spoken(cell.problem)) if cell.problem else ""

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return a recipient's name, with the gauges, or a column's."""
        if orientation == Qt.Orientation.Vertical:
            return self._name(section, role)
        if not 0 <= section <= len(self._people):
            return None
        if section == ORIGINAL:
            return tr("Original") if role in _NAMING else None
        return self._person(section, role)

    def _person(self, section: int, role: int) -> str | None:
        name = self._people[section - 1]
        if role == _ROLES.DisplayRole:
            return name
        if role == _ROLES.ToolTipRole:
            told = [f"{g.name}: {g.value}. {g.why}".strip() for g in self.gauges(section)]
            return "\n".join((name, *filter(None, (self.note(section),)), *told))
        if role == _ROLES.AccessibleTextRole:
            told = [f"{gauge.name} {gauge.value}" for gauge in self.gauges(section)]
            return f"{name}: {'; '.join(told)}"
        return None

    def _name(self, section: int, role: int) -> str | None:
        if not 0 <= section < len(self.lines):
            return None
        line = self.lines[section]
        if isinstance(line, RoleLine):
            if role == _ROLES.AccessibleTextRole:
                return line.said
            return line.title if role in (_ROLES.DisplayRole, _ROLES.ToolTipRole) else None
        name = value_name(line.spec.name)
        if role == _ROLES.DisplayRole:
            return name
        told = f"{name}: {role_text(line)}"
        if role == _ROLES.ToolTipRole and line.spec.role is Role.QUASI_IDENTIFIER:
            hint = tr("Drag it up or down, or press Alt+Up and Alt+Down: the most important first.")
            return f"{told}\n{hint}"
        return told if role in (_ROLES.ToolTipRole, _ROLES.AccessibleTextRole) else None


_NAMING: Final = (_ROLES.DisplayRole, _ROLES.AccessibleTextRole, _ROLES.ToolTipRole)


def _same(line: BoardRow | RoleLine, before: BoardRow | RoleLine) -> bool:
    """Return whether two lines are drawn alike."""
    if isinstance(line, BoardRow) and isinstance(before, BoardRow):
        told = line.spec is before.spec and line.example is before.example
        return told and (line.cells, line.beside) == (before.cells, before.beside)
    return line == before


def _key(line: BoardRow | RoleLine) -> object:
    return line if isinstance(line, RoleLine) else line.spec.name


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


def value_text(value: object) -> str:
    """Return a value as cells show it; a dash for none."""
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


def cell_text(cell: BoardCell) -> str:
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
    return value_text(cell.after)


def cell_word(cell: BoardCell, hidden: int = 0) -> str:
    """Return how a column leaves, as it stands below the example."""
    word = tr(str(WORDS[cell.leaves]))
    if not _suppresses(cell, hidden):
        return word
    return tr("{word}, * in {rows} {rows:row|rows}", word=word, rows=grouped(hidden))


def _suppresses(cell: BoardCell, hidden: int) -> bool:
    return hidden > 0 and cell.leaves in (Leaves.EXACT, Leaves.COARSENED)


def cell_said(cell: BoardCell, hidden: int = 0) -> str:
    """Return a cell in a sentence, as a screen reader says it."""
    name = cell.column.replace("_", " ")
    return f"{cell.recipient}, {name}: {effect_of(cell, hidden)}"


def effect_of(cell: BoardCell, hidden: int = 0) -> str:
    """Return what becomes of a column for a recipient, in words."""
    word = tr(str(WORDS[cell.leaves]))
    if _suppresses(cell, hidden):
        rows = grouped(hidden)
        word = tr("{word}, suppressed in {rows} {rows:row|rows}", word=word, rows=rows)
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
