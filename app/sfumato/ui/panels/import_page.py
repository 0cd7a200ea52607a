"""How a file is read: its options beside its first rows, in a page and in a dialog."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLabel, QMenu, QPlainTextEdit, QSizePolicy, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import filled
from sfumato.formats.errors import BadOptions, FileError
from sfumato.formats.language import know_columns, localized
from sfumato.formats.layouts import read_layout
from sfumato.formats.options import (
    ENCODINGS,
    BadValues,
    DateOrder,
    ErrorCells,
    Hidden,
    MergedCellRule,
    RaggedRows,
    ReadOptions,
    ReasonsKept,
    ShownDates,
)
from sfumato.formats.reading import PREVIEW_ROWS, ColumnType, Place, ReadResult, first_rows
from sfumato.formats.tables import format_called
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in, spoken
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, WrappedCheckBox, text_field
from sfumato.ui.widgets.layout import (
    Card,
    ElidedLabel,
    EmptyState,
    ScrollPage,
    button,
    column,
    fill,
    label,
    row,
)
from sfumato.ui.widgets.messages import error_texts, error_words
from sfumato.ui.widgets.notes_list import NotesList, column_marks
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.responsive import Pages
from sfumato.ui.widgets.tables import FrameModel, TableView

Choices = Sequence[tuple[Hashable, str]]


def _tr(text: str) -> str:
    return QCoreApplication.translate("OptionsForm", text)


def _choices() -> dict[str, Choices]:
    """Return what is offered for each option that is one of a few."""
    return {
        "delimiter": (
            (",", _tr("comma")),
            (";", _tr("semicolon")),
            ("\t", _tr("tab")),
            ("|", _tr("bar")),
            (" ", _tr("blanks")),
        ),
        "quote": (('"', _tr('quotes  "x"')), ("'", _tr("single  'x'")), ("", _tr("nothing"))),
        "encoding": [(name, spoken(title)) for name, title in ENCODINGS],
        "decimal": ((".", _tr("point  3.14")), (",", _tr("comma  3,14"))),
        "thousands": (
            ("", _tr("none")),
            (",", _tr("comma  1,204")),
            (".", _tr("point  1.204")),
            (" ", _tr("blank  1 204")),
            ("'", _tr("apostrophe  1'204")),
            ("\u2019", _tr("raised comma  1’204")),
            ("\u00a0", _tr("fixed blank  1 204")),
            ("\u202f", _tr("narrow blank  1 204")),
        ),
        "date_order": (
            (DateOrder.YEAR_FIRST, _tr("year-month-day")),
            (DateOrder.DAY_FIRST, _tr("day.month.year")),
            (DateOrder.MONTH_FIRST, _tr("month/day/year")),
        ),
        "hidden": (
            (Hidden.LEAVE_OUT, _tr("left out")),
            (Hidden.READ, _tr("read")),
        ),
        "merged": (
            (MergedCellRule.EVERY_ROW, _tr("in each of the rows")),
            (MergedCellRule.FIRST_ROW, _tr("in the first row alone")),
        ),
        "shown_dates": (
            (ShownDates.AS_SHOWN, _tr("as they are shown")),
            (ShownDates.EXACT, _tr("exactly")),
        ),
        "error_cells": (
            (ErrorCells.MISSING, _tr("missing")),
            (ErrorCells.TEXT, _tr("as texts")),
        ),
        "ragged_rows": (
            (RaggedRows.REFUSE, _tr("stop and tell me")),
            (RaggedRows.SKIP, _tr("leave the row out")),
        ),
        "bad_values": (
            (BadValues.REFUSE, _tr("stop and tell me")),
            (BadValues.MISSING, _tr("treat as missing")),
            (BadValues.SKIP, _tr("leave the row out")),
            (BadValues.TEXT, _tr("read the column as text")),
        ),
        "missing_reasons": (
            (ReasonsKept.DROPPED, _tr("left out")),
            (ReasonsKept.COLUMN, _tr("in a column of their own")),
            (ReasonsKept.VALUES, _tr("none: codes are values")),
        ),
    }


class _QueryField(QPlainTextEdit):
    """A SELECT statement over a few lines; told when it is left or confirmed by Ctrl and Enter."""

    edited = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setTabChangesFocus(True)
        self.setFixedHeight(5 * self.fontMetrics().lineSpacing() + 2 * Space.INSIDE)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.edited.emit()

    def event(self, event: QEvent) -> bool:
        asked = event.type() == QEvent.Type.ShortcutOverride
        if asked and isinstance(event, QKeyEvent) and _confirms(event):
            event.accept()  # else it presses the panel's primary button
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if _confirms(event):
            self.edited.emit()
        else:
            super().keyPressEvent(event)


def _confirms(event: QKeyEvent) -> bool:
    enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
    return enter and bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)


class OptionsForm(Card):
    """Shows the options that concern the file's format; each change is told at once."""

    changed = Signal(object)
    """The person chose other `ReadOptions`."""
    layout_asked = Signal()
    """The person wants to choose the file of a layout."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("How it is read"), "", parent)
        self._options = ReadOptions()
        self._showing = False
        self._rows: dict[str, QWidget] = {}
        self._chosen: dict[str, ChoiceField] = {}
        self._captions: dict[str, QLabel] = {}
        self._sheets: Sequence[str] = ()
        self._concerned: frozenset[str] = frozenset()
        words = self.tr("The file itself says how it is read. There is nothing to choose.")
        self.nothing = label(words, "muted", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self._build_fields()
        self.put(self.nothing, self.problem, None)
        self.problem.hide()

    @property
    def options(self) -> ReadOptions:
        """The options as they are chosen; a query counts as soon as it is typed."""
        typed = self.query.toPlainText()
        query = typed if typed.strip() else ""
        if query == self._options.query:
            return self._options
        first = self._sheets[0] if self._sheets else ""
        return replace(self._options, query=query, sheet="" if query else first)

    def _build_fields(self) -> None:
        tr = self.tr
        self.sheet = self._choice("sheet", tr("Sheet"))
        self.query = _QueryField()
        self.query.setPlaceholderText(tr("SELECT … FROM …\n\nCtrl+Enter shows its rows."))
        self.query.edited.connect(self._take_query)
        self._add("query", self.query, tr("Or a query"))
        self.delimiter = self._choice("delimiter", tr("Between columns"))
        self.quote = self._choice("quote", tr("Around texts"))
        self.encoding = self._choice("encoding", tr("Encoding"))
        self.decimal = self._choice("decimal", tr("Decimal mark"))
        self.thousands = self._choice("thousands", tr("Thousands"))
        self.date_order = self._choice("date_order", tr("Dates are written"))
        self.header = WrappedCheckBox(tr("The first row holds the names"))
        self.header.toggled.connect(lambda on: self._change(header=on))
        self._add("header", self.header)
        self.skip_lines = NumberField(0, 10_000, decimals=0, show_range=False)
        self.skip_lines.value_changed.connect(lambda value: self._change(skip_lines=int(value)))
        self._add("skip_lines", self.skip_lines, tr("Lines to leave out above"))
        self.positions = button(tr("Layout of columns…"), self.layout_asked.emit)
        self.positions.setToolTip(
            tr("A file that says where each column of a text of fixed width stands.")
        )
        self._add("layout", self.positions)
        self.no_layout = button(tr("Leave the layout out"), self._leave_layout_out)
        self._add("no_layout", self.no_layout)
        self.keep_blank_rows = WrappedCheckBox(tr("Keep rows without any value"))
        self.keep_blank_rows.toggled.connect(lambda on: self._change(keep_blank_rows=on))
        self._add("keep_blank_rows", self.keep_blank_rows)
        self.missing = text_field(hint=tr("NA; ?; unknown"), given=self._take_missing)
        self.missing.setToolTip(tr("Texts that mean a missing value, with semicolons between."))
        self._add("missing", self.missing, tr("Empty, and these, mean missing"))
        self.missing_reasons = self._choice("missing_reasons", tr("Reasons of missing values"))
        self.hidden = self._choice("hidden", tr("Hidden rows, columns and cells"))
        self.merged = self._choice("merged", tr("The value of merged cells"))
        self.shown_dates = self._choice("shown_dates", tr("Dates that show a month or a year"))
        self.error_cells = self._choice("error_cells", tr("Errors such as #N/A"))
        self.ragged_rows = self._choice("ragged_rows", tr("A row with too many or few fields"))
        self.bad_values = self._choice("bad_values", tr("A value of another type"))

    def _choice(self, name: str, title: str) -> ChoiceField:
        field = self._chosen[name] = ChoiceField()
        field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        if name == "sheet":
            field.chosen.connect(self._take_sheet)
        elif name == "missing_reasons":
            field.chosen.connect(self._take_reasons)
        else:
            field.chosen.connect(lambda value: self._change(**{name: value}))
        self._add(name, field, title)
        return field

    def _add(self, name: str, field: QWidget, title: str = "") -> None:
        field.setObjectName(f"option-{name}")
        if title:
            field.setAccessibleName(title)
        caption = label(title, "small", wrap=True) if title else None
        if caption is not None:
            caption.setBuddy(field)
            self._captions[name] = caption
        line = QWidget(self)
        parts = (caption, field) if caption is not None else (field,)
        line.setLayout(column(*parts, spacing=Space.TIGHT))
        self._rows[name] = line
        self.body.addWidget(line)

    def show_options(
        self, options: ReadOptions, concerned: frozenset[str], sheets: Sequence[str]
    ) -> None:
        """Show options without telling anyone.

        Parameters
        ----------
        options
            What is chosen.
        concerned
            The names of the options that change how this file is read.
        sheets
            The tables in the file, where it can hold several.
        """
        self._showing = True
        self._options = options
        self._sheets, self._concerned = sheets, concerned
        database = "query" in concerned
        for name, line in self._rows.items():
            several = len(sheets) > 1 or database
            line.setVisible(name in concerned and (name != "sheet" or several))
        self._rows["no_layout"].setVisible(bool(options.layout))
        words = self.tr("Table or view") if database else self.tr("Sheet")
        self._captions["sheet"].setText(words)
        self.sheet.setAccessibleName(words)
        if self.query.toPlainText() != options.query:
            self.query.setPlainText(options.query)
        self.nothing.setVisible(not any(not line.isHidden() for line in self._rows.values()))
        self.problem.hide()
        values = {name: getattr(options, name) for name in self._chosen}
        values["missing_reasons"] = options.reasons
        values["sheet"] = options.sheet or (sheets[0] if sheets and not options.query else "")
        states_itself = "delimiter" not in concerned
        values["encoding"] = options.encoding or ("" if states_itself else "utf-8")
        offered: dict[str, Choices] = {**_choices(), "sheet": [(name, name) for name in sheets]}
        if states_itself:
            offered["encoding"] = [("", self.tr("as the file states")), *offered["encoding"]]
        if "keep_user_missing" not in concerned:  # reasons are no codes that could be values
            offered["missing_reasons"] = offered["missing_reasons"][:-1]
        if options.version == 1:
            known = offered["missing_reasons"]
            offered["missing_reasons"] = [one for one in known if one[0] != ReasonsKept.COLUMN]
        if options.query:
            offered["sheet"] = [("", self.tr("(the query's result)")), *offered["sheet"]]
        for name, field in self._chosen.items():
            value, known = values[name], offered[name]
            if name != "sheet" and value not in {choice for choice, _ in known}:
                known = (*known, (value, self.tr("{mark} (other)").format(mark=value)))
            field.set_choices(known)
            field.set_value(value)
        self.header.setChecked(options.header)
        self.skip_lines.set_value(options.skip_lines)
        self.keep_blank_rows.setChecked(options.keep_blank_rows)
        words = self.tr("Layout of {count} {count:column|columns}…")
        count = len(options.layout)
        layout = filled(words, {"count": count}) if count else self.tr("Layout of columns…")
        self.positions.setText(layout)
        self.missing.setText("; ".join(text for text in options.missing if text))
        self._showing = False

    def take_layout(self, path: Path) -> None:
        """Read a text of fixed width by the layout that a file states."""
        try:
            layout = read_layout(path)
        except FileError as error:
            self.problem.setText(error_words(error))
            self.problem.show()
            return
        self._change(layout=layout)
        self.show_options(self._options, self._concerned, self._sheets)

    def _leave_layout_out(self) -> None:
        self._change(layout=())
        self.show_options(self._options, self._concerned, self._sheets)

    def _take_missing(self) -> None:
        self._change(missing=("", *_texts_in(self.missing.text())))

    def _take_reasons(self, kept: object) -> None:
        """Read reasons of missing values otherwise; version 1 has an option of its own."""
        if self._options.version == 1:
            self._change(keep_user_missing=kept is ReasonsKept.VALUES)
        else:
            self._change(missing_reasons=kept)

    def _take_sheet(self, name: object) -> None:
        """Read a sheet or a table in the place of a query, whose own entry changes nothing."""
        if name:
            self.query.clear()
            self._change(sheet=name, query="")

    def _take_query(self) -> None:
        """Read a query's result in the place of a table, or a table again where it is empty."""
        chosen = self.options
        if chosen != self._options:
            self._change(query=chosen.query, sheet=chosen.sheet)

    def _change(self, **changes: object) -> None:
        """Take a change over, unless it contradicts the other options."""
        if self._showing:
            return
        try:
            options = replace(self._options, **changes)  # type: ignore[arg-type]
        except BadOptions as error:
            self.problem.setText(error_words(error))
            self.problem.show()
            return
        self.problem.hide()
        if options != self._options:
            other_query = options.query != self._options.query
            self._options = options
            if other_query:
                self.show_options(options, self._concerned, self._sheets)
            self.changed.emit(options)


def _texts_in(line: str) -> tuple[str, ...]:
    """Return texts with semicolons between, each once."""
    return tuple(dict.fromkeys(text.strip() for text in line.split(";") if text.strip()))


class MissingTextsDialog(Dialog):
    """Asks which texts and numbers mean a missing value in one column.

    Parameters
    ----------
    column_name
        The column.
    texts
        Those that do so far.
    """

    def __init__(
        self, column_name: str, texts: Sequence[str], parent: QWidget | None = None
    ) -> None:
        title = filled_in(self.tr("What means a missing value in {column}?"), column=column_name)
        explanation = self.tr(
            "Texts or numbers with semicolons between. They are missing in this column alone."
        )
        super().__init__(title, explanation, parent)
        self.field = text_field(self.tr("Texts that mean missing"), hint=self.tr("-9; 99; unknown"))
        self.field.setText("; ".join(texts))
        self.body.addWidget(self.field)
        self.add_cancel()
        self.submit = self.add_primary(self.tr("Treat as missing"))

    @property
    def texts(self) -> tuple[str, ...]:
        """What was entered."""
        return _texts_in(self.field.text())


FORM_WIDTH = 272
DEBOUNCE_MILLISECONDS = 180
PREVIEW_KEY = "preview of a file"


def size_words(size: int) -> str:
    """Return a file's size in words."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return (
                f"{localized(f'{amount:.0f}')} {unit}"
                if unit == "bytes"
                else f"{localized(f'{amount:.3g}')} {unit}"
            )
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
        self.path: Place | None = None
        self.sheets: tuple[str, ...] = ()
        self._found = ReadOptions()
        self.form = OptionsForm(self)
        self.file = ElidedLabel("", "heading", Qt.TextElideMode.ElideMiddle)
        self.about = label("", "muted")
        words = self.tr("Click a column's name to choose its type and what means missing.")
        self.hint = label(words, "small", wrap=True)
        self.notes = NotesList(self)
        self.notes.wanted.connect(self.use_options)
        self.pages = Pages(self)
        self.table = TableView(self.pages, name=self.tr("The first rows as they are read"))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.sectionClicked.connect(self._offer_types)
        # The menu key asks for the current column's menu.
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(
            lambda _place: self._offer_types(self.table.currentIndex().column())
        )
        self.problem = EmptyState("caution", self.tr("It can't be read like this"), "", self.pages)
        self.pages.add(self.table, self.problem)
        self._timer = delayed(self, self._preview, DEBOUNCE_MILLISECONDS)
        self.form.changed.connect(lambda _options: self._timer.start())
        self.form.layout_asked.connect(self._ask_for_layout)
        self._lay_out()

    def _lay_out(self) -> None:
        scroll = ScrollPage(self)
        scroll.setFixedWidth(scaled(FORM_WIDTH))
        scroll.column.addWidget(self.form)
        right = column(spacing=12)
        head = column(self.file, self.about, self.hint, spacing=2)
        fill(right, head, (self.pages, 1), self.notes)
        self.setLayout(row(scroll, (right, 1), spacing=Space.BETWEEN))

    @property
    def options(self) -> ReadOptions:
        """The options as they are chosen."""
        return self.form.options

    def show_file(
        self,
        path: Place,
        options: ReadOptions,
        sheets: tuple[str, ...],
        found: ReadOptions | None = None,
    ) -> None:
        """Show a file as it would be read.

        Parameters
        ----------
        path, options, sheets
            The file, how it is read, and the tables in it.
        found
            How it seems to be meant, where it is to be read otherwise.
        """
        self.notes.forget()
        self._found = found or options
        self._show(path, options, sheets)

    def _show(self, path: Place, options: ReadOptions, sheets: tuple[str, ...]) -> None:
        self.path, self.sheets = path, sheets
        self.file.setText(path.name)
        known = format_called(options.format)
        facts = [spoken(known.title)]
        if isinstance(path, Path) and path.is_file():
            facts.append(size_words(path.stat().st_size))
        self.about.setText(" · ".join(facts))
        self.form.show_options(options, known.reading_options, sheets)
        self.hint.setVisible("column_types" in known.reading_options)
        self._preview()

    def _ask_for_layout(self) -> None:
        title = self.tr("Choose the layout of the columns")
        filters = self.tr("Layouts (*.csv *.txt *.sps *.do *.dct *.xml);;All files (*)")
        beside = self.path.parent if isinstance(self.path, Path) else None
        path = self._session.chooser.open_file(title, filters, beside)
        if path is not None:
            self.form.take_layout(path)

    def use_options(self, options: ReadOptions) -> None:
        """Show other options for the same file (a way out of an error)."""
        if self.path is not None:
            self._show(self.path, options, self.sheets)

    def _preview(self) -> None:
        path, options = self.path, self.options
        if path is None:
            return
        self._session.runner.run(
            self.tr("Reading the first rows"),
            lambda context: first_rows(path, options, context=context),
            partial(self.show_rows, options),
            self._show_problem,
            key=PREVIEW_KEY,
        )

    def show_rows(self, options: ReadOptions, read: ReadResult) -> None:
        """Show the first rows as options read them, and the remarks on them."""
        table = read.table
        know_columns(self._session.document.column_names.union(table.columns))
        first = table.rows if table.rows >= PREVIEW_ROWS else None
        self.notes.show_notes(read.notes, options, self._found, first)
        marks = column_marks(self.notes.notes)
        self.table.show_model(FrameModel(table.frame, table.value_labels, marks=marks))
        self.pages.setCurrentWidget(self.table)
        self.previewed.emit(True)

    def _show_problem(self, error: SfumatoError) -> None:
        what, remedy = error_texts(error)
        self.problem.heading.setText(what)
        self.problem.text.setText(remedy)
        self.notes.show_notes((), self.options, self._found)  # a choice that fails is taken back
        self.pages.setCurrentWidget(self.problem)
        self.previewed.emit(False)

    def type_menu(self, column_name: str) -> QMenu:
        """Return the menu that fixes a column's type, and asks what means missing in it."""
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
        menu.addSeparator()
        missing = menu.addAction(self.tr("What means missing…"))
        missing.triggered.connect(lambda _checked=False: self.ask_for_missing(column_name))
        return menu

    def ask_for_missing(self, column_name: str) -> MissingTextsDialog:
        """Ask which texts and numbers mean a missing value in a column."""
        stated = self.options.column_missing
        dialog = MissingTextsDialog(column_name, stated.get(column_name, ()), self)

        def take() -> None:
            others = {name: texts for name, texts in stated.items() if name != column_name}
            chosen = {**others, column_name: dialog.texts} if dialog.texts else others
            self.use_options(replace(self.options, column_missing=chosen))

        return dialog.present(take)

    def _offer_types(self, section: int) -> None:
        if self.path is None or self.hint.isHidden() or section < 0:
            return
        model = self.table.model()
        name = str(model.headerData(section, Qt.Orientation.Horizontal))
        header = self.table.horizontalHeader()
        place = header.mapToGlobal(QPoint(header.sectionViewportPosition(section), header.height()))
        self.type_menu(name).popup(place)

    def _fix_type(self, column_name: str, kind: ColumnType | None) -> None:
        self.use_options(self.options.with_type(column_name, kind))


WIDTH, HEIGHT = 920, 620


class ReadingDialog(Dialog):
    """Shows a file's options beside its first rows, which follow every change.

    Parameters
    ----------
    session
        Runs the previews.
    path
        The file.
    options
        How it is read so far.
    sheets
        The tables in it, where it can hold several.
    """

    def __init__(
        self,
        session: Session,
        path: Path,
        options: ReadOptions,
        sheets: Sequence[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(self.tr("Change how the file is read"), "", parent)
        self.page = ImportPage(session, self)
        self.body.addWidget(self.page, 1)
        self.add_cancel()
        self.submit = self.add_primary(self.tr("Read it like this"))
        self.submit.setEnabled(False)
        self.page.previewed.connect(self.submit.setEnabled)
        self.page.form.changed.connect(lambda _options: self.submit.setEnabled(False))
        self.resize(scaled(WIDTH), scaled(HEIGHT))
        self.page.show_file(path, options, tuple(sheets))

    @property
    def options(self) -> ReadOptions:
        """The options as they are chosen."""
        return self.page.options
