"""A loaded table: its rows, and what each column looks like."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pandas as pd
from PySide6.QtCore import QCoreApplication, QItemSelectionModel, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from sfumato.engine.core.progress import Context
from sfumato.engine.table.profile import ColumnProfile
from sfumato.engine.table.profile_pictures import Labels, are_codes, bars_of
from sfumato.formats.language import grouped, localized
from sfumato.formats.options import ReadOptions
from sfumato.project.release.witnesses import frame_of
from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField, text_field
from sfumato.ui.widgets.layout import (
    ElidedButton,
    ElidedLabel,
    EmptyState,
    boxed,
    button,
    column,
    label,
    row,
)
from sfumato.ui.widgets.notes_list import NotesList, column_marks, counted
from sfumato.ui.widgets.painted import draw_text, put_icon
from sfumato.ui.widgets.responsive import FlowLayout, Pages
from sfumato.ui.widgets.tables import (
    Cell,
    CellsModel,
    FrameModel,
    Heading,
    Index,
    TableView,
    show_value,
)

HEIGHT: Final = 56
PICTURE: Final = QSize(72, 28)


def describe(profile: ColumnProfile, labels: Labels = MappingProxyType({})) -> str:
    """Return a column's profile in one short line; `labels` are the texts of its values."""
    tr = QCoreApplication.translate
    parts = []
    if are_codes(profile, labels):
        words = tr("Profiles", "{count} labelled {count:value|values}")
        parts.append(words.format(count=grouped(profile.distinct)))
    elif profile.is_unique:
        parts += [spoken(profile.type_name), tr("Profiles", "all different")]
    elif profile.numbers is not None:
        low, high = (show_value(end) for end in (profile.numbers.minimum, profile.numbers.maximum))
        parts.append(tr("Profiles", "{low} to {high}").format(low=low, high=high))
    elif profile.earliest is not None:
        span = tr("Profiles", "{low} to {high}")
        parts.append(span.format(low=profile.earliest, high=profile.latest))
    else:
        count = grouped(profile.distinct)
        words = tr("Profiles", "{count} {count:value|values}")
        parts += [spoken(profile.type_name), words.format(count=count)]
    if profile.missing:
        share = 100 * profile.missing / max(profile.count, 1)
        shown = localized(f"{share:.0f}") if share >= 1 else "<1"
        parts.append(tr("Profiles", "{share} % missing").format(share=shown))
    if why := sum(reason.count for reason in profile.reasons):
        parts.append(tr("Profiles", "{count} with a reason").format(count=grouped(why)))
    return " · ".join(parts)


def explain(profile: ColumnProfile, labels: Labels = MappingProxyType({})) -> str:
    """Return what there is to know of a column, line by line, for its tip."""
    tr = QCoreApplication.translate
    lines = [
        profile.name,
        tr("Profiles", "{present} present, {missing} missing, {distinct} different").format(
            present=grouped(profile.present),
            missing=grouped(profile.missing),
            distinct=grouped(profile.distinct),
        ),
    ]
    if profile.earliest is not None:
        lines.append(f"{profile.earliest} – {profile.latest}")
    elif profile.numbers is not None and not are_codes(profile, labels):
        numbers = profile.numbers
        lines.append(
            tr("Profiles", "mean {mean}, median {median}, middle half {low} to {high}").format(
                mean=localized(f"{numbers.mean:.4g}"),
                median=show_value(numbers.quantiles[2]),
                low=show_value(numbers.quantiles[1]),
                high=show_value(numbers.quantiles[3]),
            )
        )
    elif not profile.is_unique:
        for top in profile.top[:6]:
            share = 100 * top.count / max(profile.present, 1)
            label = labels.get(top.value, "")
            shown = show_value(top.value) + (f" ({label})" if label else "")
            lines.append(f"{shown}   {localized(f'{share:.1f}')} %")
    if profile.reasons:
        lines.append(tr("Profiles", "Missing with a reason:"))
        lines += [f"{show_value(why.value)}   {grouped(why.count)}" for why in profile.reasons[:12]]
    return "\n".join(lines)


class ProfileModel(CellsModel):
    """The profiles, in the table's order."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__((Heading(),), parent)
        self.profiles: tuple[ColumnProfile, ...] = ()
        self._labels: Mapping[str, Labels] = {}

    def show_profiles(
        self, profiles: Sequence[ColumnProfile], labels: Mapping[str, Labels]
    ) -> None:
        """Show other profiles; `labels` are the texts of values, by column."""
        self.profiles, self._labels = tuple(profiles), labels
        self.lay_out(len(self.profiles))

    def cell(self, row: int, column: int) -> Cell:
        """Return a column's name."""
        del column
        profile = self.profiles[row]
        return Cell(profile.name, explain(profile, self._labels.get(profile.name, {})))

    def line(self, row: int) -> str:
        """Return a profile in a line."""
        profile = self.profiles[row]
        return describe(profile, self._labels.get(profile.name, {}))

    def bars(self, row: int) -> tuple[float, ...]:
        """Return the shares that a column's small picture shows."""
        profile = self.profiles[row]
        return bars_of(profile, self._labels.get(profile.name, {}))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a profile in a line too, for those who listen."""
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return self.line(index.row())
        return super().data(index, role)


class ProfileDelegate(QStyledItemDelegate):
    """Draws a column's name, its profile in a line, and its distribution."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return a fixed height, so that long lists stay quick."""
        del option, index
        return QSize(scaled(200), scaled(HEIGHT))

    def paint(self, painter: QPainter, option: Any, index: Index) -> None:
        """Draw one column."""
        model = index.model()
        assert isinstance(model, ProfileModel)
        profile = model.profiles[index.row()]
        theme = current_theme()
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        under = bool(option.state & QStyle.StateFlag.State_MouseOver)
        if chosen or under:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.selected if chosen else theme.hover))
            painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 4, 4)
        muted = theme.quiet if chosen or under else theme.style.muted
        inner = area.adjusted(12, 0, -12, 0)
        picture = QRectF(
            inner.right() - scaled(PICTURE.width()),
            inner.center().y() - scaled(PICTURE.height()) / 2,
            scaled(PICTURE.width()),
            scaled(PICTURE.height()),
        )
        words = inner.width() - picture.width() - 12
        for text, top, face, colour in (
            (profile.name, 9, font(strong=True), theme.style.text),
            (model.line(index.row()), 28, font(TextSize.SMALL), muted),
        ):
            line = QRectF(inner.left(), inner.top() + scaled(top), words, scaled(19))
            draw_text(painter, line, text, face, colour)
        draw_distribution(painter, picture, profile, model.bars(index.row()))
        painter.restore()


def draw_distribution(
    painter: QPainter, area: QRectF, profile: ColumnProfile, shares: Sequence[float]
) -> None:
    """Draw a column's distribution: a histogram, or a bar for each of its values."""
    theme = current_theme()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.style.line))
    painter.drawRect(QRectF(area.left(), area.bottom() - 1, area.width(), 1))
    if not shares or (profile.is_unique and profile.numbers is None):
        return
    ordered = profile.numbers is not None or profile.earliest is not None
    step = area.width() / max(len(shares), 6 if ordered else 12)
    gap = 1.0 if step > 4 else 0.5
    highest = max(shares) or 1.0
    painter.setBrush(QColor(theme.style.blend(theme.style.original, 0.75)))
    for place, share in enumerate(shares):
        if share > 0:
            height = max(1.5, (area.height() - 1) * share / highest)
            left = area.left() + place * step
            painter.drawRect(QRectF(left, area.bottom() - 1 - height, step - gap, height))


class ProfileList(QListView):
    """The columns' profiles; choosing one is told by `chosen`."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("framed", True)
        self.setItemDelegate(ProfileDelegate(self))
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setSpacing(0)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setViewportMargins(Space.TIGHT, Space.TIGHT, Space.TIGHT, Space.TIGHT)
        self.setAccessibleName(self.tr("Profiles of the columns"))
        self.cells = ProfileModel(self)
        self.setModel(self.cells)


LIST_WIDTH = 304
TITLE_WIDTH = 168
SORTED_AT_ONCE = 200_000
SORT_KEY = "data-sort"
ROWS_KEY = "data-rows"
_TOP: Final = QTableView.ScrollHint.PositionAtTop


class LoadedPage(QWidget):
    """Shows the session's table beside its columns' profiles.

    Parameters
    ----------
    session
        Whose table is shown.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._model: FrameModel | None = None
        self.file = ElidedLabel("", "heading", Qt.TextElideMode.ElideMiddle)
        self.about = ElidedLabel("", "muted")
        self.reread = button(self.tr("How it is read…"), None, "quiet")
        self.title = text_field(name=self.tr("Title of the releases"), given=self._rename)
        self.title.setFixedWidth(scaled(TITLE_WIDTH))
        self.title.setToolTip(self.tr("Recipients read this title, and bundles are named by it."))
        self.profiles = ProfileList()
        self.profiles.selectionModel().currentChanged.connect(self._follow)
        self.profiles.setFixedWidth(scaled(LIST_WIDTH))
        self.looking = EmptyState("clock", self.tr("Looking at the columns"), "")
        self.looking.setFixedWidth(scaled(LIST_WIDTH))
        self.side = Pages()
        self.side.add(self.looking, self.profiles)
        self.side.setFixedWidth(scaled(LIST_WIDTH))
        self.table = TableView(name=self.tr("The table's rows"))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setSortIndicatorClearable(True)
        header.sortIndicatorChanged.connect(self._sort)
        self.notes = NotesList(self, counts=False)
        self.remarks = ElidedButton("", None)
        put_icon(self.remarks, "chevron-down")
        self.remarks.setCheckable(True)
        self.remarks.setChecked(True)
        self.remarks.toggled.connect(lambda _on: self._show_notes())
        self._build_parts()
        self._lay_out()
        session.table_changed.connect(self.refresh)
        session.document_changed.connect(self._show_names)
        session.profiles_changed.connect(self._show_profiles)

    def _build_parts(self) -> None:
        """Make what stands above the rows of a table that is read in parts."""
        self.in_parts = label("", "muted", wrap=True)
        words = self.tr("Hold all rows in memory, which may take more than there is")
        told = self.tr("Read all of it")
        self.whole = button(told, self._session.whole_requested.emit, "quiet", tip=words)
        self.place = NumberField(1, 1, decimals=0, step=1, show_range=False)
        self.place.spin.setAccessibleName(self.tr("Show the rows around this one"))
        self.place.value_changed.connect(lambda row: self._show_around(int(row) - 1))
        self.earlier = button(self.tr("Earlier rows"), self._go_back, "quiet")
        self.later = button(self.tr("Later rows"), self._go_on, "quiet")
        caption = label(self.tr("Go to row"), "small")
        caption.setBuddy(self.place.spin)
        self.rows = label("", "small")
        asked = boxed(row(caption, self.place))
        line = FlowLayout(asked, self.earlier, self.later, self.rows, self.whole)
        self.parts = boxed(column(self.in_parts, line, spacing=Space.TIGHT))
        self._first = 0

    def _lay_out(self) -> None:
        names = column(self.file, self.about, spacing=2)
        caption = label(self.tr("Released as"), "small")
        caption.setBuddy(self.title)
        top = row((names, 1), caption, self.title, self.reread)
        work = row(self.side, (self.table, 1), spacing=Space.BETWEEN)
        below = column(row(self.remarks, None), self.notes, spacing=Space.TIGHT)
        self.setLayout(column(top, self.parts, (work, 1), below, spacing=12))

    def refresh(self) -> None:
        """Show the session's table."""
        table, held = self._session.table, self._session.surveyed
        in_parts = held is not None and not held.table.fits
        self._session.runner.cancel(ROWS_KEY)
        self._show_notes()
        self.parts.setVisible(in_parts)
        self.table.horizontalHeader().setSortIndicatorShown(not in_parts)
        if table is not None:
            marks = column_marks(self.notes.notes)
            self._show_rows(FrameModel(table.frame, table.value_labels, marks=marks))
        else:
            self._model = None
            self.table.setModel(None)
        if held is not None and in_parts:
            words = self.tr(
                "The table is read in parts, since it is long. Values are counted in all rows;"
                " distributions and proposals are those of {some} of {rows} {rows:row|rows}."
            )
            some, rows = grouped(held.sample.rows), grouped(held.rows)
            self.in_parts.setText(words.format(some=some, rows=rows))
            self.place.set_range(1, held.rows)
            self._show_around(0)
        self._show_names()
        self._show_profiles()

    def _show_notes(self) -> None:
        """Show the remarks of the table's reading, unless the person has put them away."""
        source = self._session.document.source
        options = ReadOptions.from_dict(dict(source.options if source else {}))
        found = ReadOptions.from_dict(dict(source.found)) if source and source.found else options
        notes = (source.notes if source else None) or ()
        self.notes.show_notes(notes, options, found)
        self.remarks.setVisible(bool(self.notes.lines.count()))
        self.remarks.say(counted(self.notes.notes))
        put_icon(self.remarks, "chevron-down" if self.remarks.isChecked() else "chevron-right")
        self.notes.setVisible(self.remarks.isChecked() and bool(self.notes.lines.count()))

    def _show_rows(self, model: FrameModel) -> None:
        self._model = model
        self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.table.show_model(model)

    def _show_around(self, place: int) -> None:
        """Read the rows around one of a long table, and show them."""
        source = self._session.source
        if source is None:
            return
        place, batches = min(max(place, 0), source.rows - 1), source.batches

        def read(context: Context) -> tuple[int, pd.DataFrame]:
            first, found = batches.around(place, context)
            return first, frame_of([found], batches.types, len(found))

        def show(found: tuple[int, pd.DataFrame]) -> None:
            if source is not self._session.source:
                return
            self._first, frame = found
            last = self._first + len(frame)
            marks = column_marks(self.notes.notes)
            self._show_rows(FrameModel(frame, batches.value_labels, self._first + 1, marks))
            self.table.scrollTo(self.table.model().index(place - self._first, 0), _TOP)
            self.place.set_value(place + 1)
            self.earlier.setEnabled(self._first > 0)
            self.later.setEnabled(last < source.rows)
            words = self.tr("Rows {first} to {last} of {rows}")
            self.rows.setText(
                words.format(
                    first=grouped(self._first + 1),
                    last=grouped(last),
                    rows=grouped(source.rows),
                )
            )

        tell = self._session.runner.error_occurred.emit
        self._session.runner.run(self.tr("Reading rows"), read, show, tell, key=ROWS_KEY)

    def _go_back(self) -> None:
        self._show_around(self._first - 1)

    def _go_on(self) -> None:
        self._show_around(self._first + (0 if self._model is None else self._model.rowCount()))

    def _show_names(self) -> None:
        table, source = self._session.source, self._session.document.source
        if table is None:
            return
        self.file.setText(source.place.name if source is not None else "")
        words = self.tr("{rows} {rows:record|records}, {columns} {columns:column|columns}").format(
            rows=grouped(table.rows), columns=grouped(len(table.columns))
        )
        self.title.setText(self._session.document.title)
        place = str(source.folder or source.path) if source is not None else ""
        self.about.setText(f"{words} · {place}" if place else words)

    def _rename(self) -> None:
        title, document = self.title.text().strip(), self._session.document
        if not title:
            self.title.setText(document.title)
        elif title != document.title:
            self._session.edit(self.tr("Change the title"), replace(document, title=title))

    def _show_profiles(self) -> None:
        source = self._session.source
        if source is None:
            return
        insight = self._session.insight()
        if insight is None:
            self.side.setCurrentWidget(self.looking)
            return
        self.profiles.cells.show_profiles(insight.profiles, source.batches.value_labels)
        self.side.setCurrentWidget(self.profiles)

    def _follow(self, current: QModelIndex, _previous: QModelIndex) -> None:
        """Bring the column of a chosen profile into sight."""
        model = self.table.model()
        if model is None or not current.isValid():
            return
        row_in_sight = max(self.table.rowAt(0), 0)
        index = model.index(row_in_sight, current.row())
        self.table.scrollTo(index)
        flags = QItemSelectionModel.SelectionFlag
        self.table.selectionModel().setCurrentIndex(index, flags.ClearAndSelect)

    def _sort(self, section: int, order: Qt.SortOrder) -> None:
        """Sort at once, or in a job where there are many rows."""
        model = self._model
        if model is None or self._session.table is None:
            return
        if section < 0 or model.rowCount() <= SORTED_AT_ONCE:
            self._session.runner.cancel(SORT_KEY)
            model.sort(section, order)
            return
        descending = order == Qt.SortOrder.DescendingOrder
        self._session.runner.run(
            self.tr("Sorting"),
            lambda _context: model.order_by(section, descending),
            lambda found: model.set_order(found) if model is self._model else None,
            key=SORT_KEY,
        )
