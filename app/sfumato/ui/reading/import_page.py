"""Before a file is used: how it is read, with a live preview of its first rows."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QStackedWidget, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.table.table import Table
from sfumato.formats.reading import ColumnType, ReadOptions, preview
from sfumato.formats.tables import format_called
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.reading.options_form import OptionsForm
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import ElidedLabel, EmptyState, ScrollPage, column, label, row
from sfumato.ui.widgets.tables import FrameModel, TableView

FORM_WIDTH = 272
DEBOUNCE_MILLISECONDS = 180
PREVIEW_KEY = "preview of a file"


def size_words(size: int) -> str:
    """Return a file's size in words."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.3g} {unit}"
        amount /= 1000
    return ""


class ImportPage(QWidget):
    """Shows a file's options beside its first rows, which follow every change.

    Parameters
    ----------
    session
        Runs the previews.
    """

    previewed = Signal(bool)
    """The first rows could be read so (or not)."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.path: Path | None = None
        self.sheets: tuple[str, ...] = ()
        self.form = OptionsForm(self)
        self.file = ElidedLabel("", "heading", Qt.TextElideMode.ElideMiddle)
        self.about = label("", "muted")
        self.hint = ElidedLabel(self.tr("Click a column's name to choose its type."), "small")
        self.hint.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.pages = QStackedWidget(self)
        self.table = TableView(self.pages)
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._offer_types)
        self.problem = EmptyState("caution", self.tr("It can't be read like this"), "", self.pages)
        self.pages.addWidget(self.table)
        self.pages.addWidget(self.problem)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(DEBOUNCE_MILLISECONDS)
        self._timer.timeout.connect(self._preview)
        self.form.changed.connect(lambda _options: self._timer.start())
        self._lay_out()

    def _lay_out(self) -> None:
        scroll = ScrollPage(self)
        scroll.setFixedWidth(FORM_WIDTH)
        scroll.column.addWidget(self.form)
        right = column(spacing=12)
        head = column(self.file, spacing=2)
        line = row(self.about, self.hint, spacing=Space.BETWEEN)
        line.setStretch(1, 1)
        head.addLayout(line)
        right.addLayout(head)
        right.addWidget(self.pages, 1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(Space.BETWEEN)
        layout.addWidget(scroll)
        layout.addLayout(right, 1)

    @property
    def options(self) -> ReadOptions:
        """The options as they are chosen."""
        return self.form.options

    def show_file(self, path: Path, options: ReadOptions, sheets: tuple[str, ...]) -> None:
        """Show a file as it would be read."""
        self.path, self.sheets = path, sheets
        self.file.setText(path.name)
        known = format_called(options.format)
        size = size_words(path.stat().st_size) if path.is_file() else ""
        self.about.setText(f"{spoken(known.title)} · {size}")
        self.form.show_options(options, known.reading_options, sheets)
        self.hint.setVisible("column_types" in known.reading_options)
        self._preview()

    def use_options(self, options: ReadOptions) -> None:
        """Show other options for the same file (a way out of an error)."""
        if self.path is not None:
            self.show_file(self.path, options, self.sheets)

    def _preview(self) -> None:
        path, options = self.path, self.options
        if path is None:
            return
        self._session.runner.run(
            self.tr("Reading the first rows"),
            lambda _context: preview(path, options),
            self._show_rows,
            self._show_problem,
            key=PREVIEW_KEY,
        )

    def _show_rows(self, table: Table) -> None:
        model = FrameModel(table.frame, table.value_labels)
        model.setParent(self.table)
        self.table.setModel(model)
        self.table.fit_columns()
        self.pages.setCurrentWidget(self.table)
        self.previewed.emit(True)

    def _show_problem(self, error: SfumatoError) -> None:
        what, remedy = error_texts(error)
        self.problem.heading.setText(what)
        self.problem.text.setText(remedy)
        self.pages.setCurrentWidget(self.problem)
        self.previewed.emit(False)

    def type_menu(self, column_name: str) -> QMenu:
        """Return the menu that fixes a column's type."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        now = self.options.column_types.get(column_name)
        offers: list[tuple[ColumnType | None, str]] = [
            (None, self.tr("Find out from the values")),
            (ColumnType.TEXT, self.tr("Text")),
            (ColumnType.INTEGER, self.tr("Whole numbers")),
            (ColumnType.NUMBER, self.tr("Numbers")),
            (ColumnType.DATE, self.tr("Dates")),
            (ColumnType.BOOLEAN, self.tr("Yes or no")),
        ]
        for kind, words in offers:
            action = menu.addAction(words)
            action.setCheckable(True)
            action.setChecked(kind == now)
            action.triggered.connect(
                lambda _checked=False, kind=kind: self._fix_type(column_name, kind)
            )
        return menu

    def _offer_types(self, section: int) -> None:
        if self.path is None or self.hint.isHidden():
            return
        model = self.table.model()
        name = str(model.headerData(section, Qt.Orientation.Horizontal))
        header = self.table.horizontalHeader()
        place = header.mapToGlobal(QPoint(header.sectionViewportPosition(section), header.height()))
        self.type_menu(name).popup(place)

    def _fix_type(self, column_name: str, kind: ColumnType | None) -> None:
        self.use_options(self.options.with_type(column_name, kind))
