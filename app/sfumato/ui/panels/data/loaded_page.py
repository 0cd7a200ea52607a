"""A loaded table: its rows, and what each column looks like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from PySide6.QtCore import (
    QCoreApplication,
    QItemSelectionModel,
    QModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from sfumato.engine.table.profile import ColumnProfile
from sfumato.formats.language import grouped, localized
from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import when_given
from sfumato.ui.widgets.layout import ElidedLabel, EmptyState, button, column, label, row
from sfumato.ui.widgets.responsive import Pages
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


def describe(profile: ColumnProfile) -> str:
    """Return a column's profile in one short line."""
    tr = QCoreApplication.translate
    parts = []
    if profile.is_unique:
        parts += [spoken(profile.type_name), tr("Profiles", "all different")]
    elif profile.numbers is not None:
        low, high = (show_value(end) for end in (profile.numbers.minimum, profile.numbers.maximum))
        parts.append(tr("Profiles", "{low} to {high}").format(low=low, high=high))
    elif profile.earliest is not None:
        span = tr("Profiles", "{low} to {high}")
        parts.append(span.format(low=profile.earliest, high=profile.latest))
    else:
        count = grouped(profile.distinct)
        parts += [
            spoken(profile.type_name),
            tr("Profiles", "{count} {count:value|values}").format(count=count),
        ]
    if profile.missing:
        share = 100 * profile.missing / max(profile.count, 1)
        shown = localized(f"{share:.0f}") if share >= 1 else "<1"
        parts.append(tr("Profiles", "{share} % missing").format(share=shown))
    return " · ".join(parts)


def explain(profile: ColumnProfile) -> str:
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
    elif profile.numbers is not None:
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
            lines.append(f"{show_value(top.value)}   {localized(f'{share:.1f}')} %")
    return "\n".join(lines)


class ProfileModel(CellsModel):
    """The profiles, in the table's order."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__((Heading(),), parent)
        self.profiles: tuple[ColumnProfile, ...] = ()

    def show_profiles(self, profiles: Sequence[ColumnProfile]) -> None:
        """Show other profiles."""
        self.profiles = tuple(profiles)
        self.lay_out(len(self.profiles))

    def cell(self, row: int, column: int) -> Cell:
        """Return a column's name."""
        del column
        return Cell(self.profiles[row].name, explain(self.profiles[row]))

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a profile in a line too, for those who listen."""
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return describe(self.profiles[index.row()])
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
        side = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for text, top, size, strong, colour in (
            (profile.name, 9, TextSize.BODY, True, theme.style.text),
            (describe(profile), 28, TextSize.SMALL, False, muted),
        ):
            painter.setFont(font(size, strong=strong))
            painter.setPen(QColor(colour))
            metrics = QFontMetrics(painter.font())
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(words))
            painter.drawText(
                QRectF(inner.left(), inner.top() + scaled(top), words, scaled(19)), side, shown
            )
        draw_distribution(painter, picture, profile)
        painter.restore()


def draw_distribution(painter: QPainter, area: QRectF, profile: ColumnProfile) -> None:
    """Draw a column's distribution: a histogram, or the most frequent values in order."""
    theme = current_theme()
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.style.line))
    painter.drawRect(QRectF(area.left(), area.bottom() - 1, area.width(), 1))
    shares = profile.distribution
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

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        self.reread = button(self.tr("How it is read…"), lambda: None, "quiet")
        self.title = QLineEdit()
        self.title.setFixedWidth(scaled(TITLE_WIDTH))
        self.title.setAccessibleName(self.tr("Title of the releases"))
        self.title.setToolTip(self.tr("Recipients read this title, and bundles are named by it."))
        when_given(self.title, self._rename)
        self.profiles = ProfileList()
        self.profiles.selectionModel().currentChanged.connect(self._follow)
        self.profiles.setFixedWidth(scaled(LIST_WIDTH))
        self.looking = EmptyState("clock", self.tr("Looking at the columns"), "")
        self.looking.setFixedWidth(scaled(LIST_WIDTH))
        self.side = Pages()
        self.side.addWidget(self.looking)
        self.side.addWidget(self.profiles)
        self.side.setFixedWidth(scaled(LIST_WIDTH))
        self.table = TableView()
        self.table.setAccessibleName(self.tr("The table's rows"))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setSortIndicatorClearable(True)
        header.sortIndicatorChanged.connect(self._sort)
        self._lay_out()
        session.table_changed.connect(self.refresh)
        session.document_changed.connect(self._show_names)
        session.profiles_changed.connect(self._show_profiles)

    def _lay_out(self) -> None:
        names = column(self.file, self.about, spacing=2)
        caption = label(self.tr("Released as"), "small")
        caption.setBuddy(self.title)
        top = row(spacing=Space.INSIDE)
        top.addLayout(names, 1)
        for widget in (caption, self.title, self.reread):
            top.addWidget(widget)
        work = QHBoxLayout()
        work.setSpacing(Space.BETWEEN)
        work.addWidget(self.side)
        work.addWidget(self.table, 1)
        layout = column(spacing=12)
        layout.addLayout(top)
        layout.addLayout(work, 1)
        self.setLayout(layout)

    def refresh(self) -> None:
        """Show the session's table."""
        table = self._session.table
        self._model = None
        if table is not None:
            self._model = FrameModel(table.frame, table.value_labels)
            self._model.setParent(self.table)
            self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            self.table.setModel(self._model)
            self.table.fit_columns()
        else:
            self.table.setModel(None)
        self._show_names()
        self._show_profiles()

    def _show_names(self) -> None:
        table, source = self._session.table, self._session.document.source
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
        if self._session.table is None:
            return
        insight = self._session.insight()
        if insight is None:
            self.side.setCurrentWidget(self.looking)
            return
        self.profiles.cells.show_profiles(insight.profiles)
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
        if model is None:
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
