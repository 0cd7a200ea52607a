"""The columns' profiles as a compact list, each with a small picture of its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter
from PySide6.QtWidgets import QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from sfumato.engine.table.profile import ColumnProfile
from sfumato.ui.look.theme import Space, TextSize, current_theme, font
from sfumato.ui.look.wording import spoken
from sfumato.ui.widgets.tables import show_value

Index = QModelIndex | QPersistentModelIndex

PROFILE_ROLE: Final = Qt.ItemDataRole.UserRole
HEIGHT: Final = 56
PICTURE: Final = QSize(72, 28)


def grouped(number: int) -> str:
    """Return a whole number with its digits in groups of three."""
    return f"{number:,}".replace(",", "\u202f")


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
            tr("Profiles", "{count} values").format(count=count),
        ]
    if profile.missing:
        share = 100 * profile.missing / max(profile.count, 1)
        shown = f"{share:.0f}" if share >= 1 else "<1"
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
                mean=f"{numbers.mean:.4g}",
                median=show_value(numbers.quantiles[2]),
                low=show_value(numbers.quantiles[1]),
                high=show_value(numbers.quantiles[3]),
            )
        )
    elif not profile.is_unique:
        for top in profile.top[:6]:
            share = 100 * top.count / max(profile.present, 1)
            lines.append(f"{show_value(top.value)}   {share:.1f} %")
    return "\n".join(lines)


class ProfileModel(QAbstractListModel):
    """The profiles, in the table's order."""

    def __init__(self, profiles: Sequence[ColumnProfile]) -> None:
        super().__init__()
        self._profiles = tuple(profiles)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of columns."""
        return 0 if parent is not None and parent.isValid() else len(self._profiles)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return a profile or its words."""
        profile = self._profiles[index.row()]
        if role == PROFILE_ROLE:
            return profile
        if role == Qt.ItemDataRole.DisplayRole:
            return profile.name
        if role == Qt.ItemDataRole.ToolTipRole:
            return explain(profile)
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return describe(profile)
        return None


class ProfileDelegate(QStyledItemDelegate):
    """Draws a column's name, its profile in a line, and its distribution."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return a fixed height, so that long lists stay quick."""
        del option, index
        return QSize(200, HEIGHT)

    def paint(self, painter: QPainter, option: Any, index: Index) -> None:
        """Draw one column."""
        profile: ColumnProfile = index.data(PROFILE_ROLE)
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
            inner.right() - PICTURE.width(),
            inner.center().y() - PICTURE.height() / 2,
            PICTURE.width(),
            PICTURE.height(),
        )
        words = inner.width() - PICTURE.width() - 12
        side = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        for text, top, size, strong, colour in (
            (profile.name, 9, TextSize.BODY, True, theme.style.text),
            (describe(profile), 28, TextSize.SMALL, False, muted),
        ):
            painter.setFont(font(size, strong=strong))
            painter.setPen(QColor(colour))
            metrics = QFontMetrics(painter.font())
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, int(words))
            painter.drawText(QRectF(inner.left(), inner.top() + top, words, 19), side, shown)
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

    def show_profiles(self, profiles: Sequence[ColumnProfile]) -> None:
        """Show other profiles."""
        old = self.model()
        model = ProfileModel(profiles)
        model.setParent(self)
        self.setModel(model)
        if old is not None:
            old.deleteLater()
