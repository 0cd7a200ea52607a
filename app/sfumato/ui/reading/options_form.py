"""How a file is read: every option that was found, shown and changeable."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QSizePolicy, QWidget

from sfumato.formats.errors import BadOptions
from sfumato.formats.options import (
    ENCODINGS,
    BadValues,
    DateOrder,
    RaggedRows,
    ReadOptions,
)
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, column, label, row

Choices = Sequence[tuple[Hashable, str]]


def _tr(text: str) -> str:
    return QCoreApplication.translate("OptionsForm", text)


def _delimiters() -> Choices:
    return (
        (",", _tr("comma")),
        (";", _tr("semicolon")),
        ("\t", _tr("tab")),
        ("|", _tr("bar")),
    )


def _marks() -> Choices:
    return (
        ("", _tr("none")),
        (",", _tr("comma  1,204")),
        (".", _tr("point  1.204")),
        (" ", _tr("blank  1 204")),
        ("'", _tr("apostrophe  1'204")),
        ("\u2019", _tr("raised comma  1’204")),
        ("\u00a0", _tr("fixed blank  1 204")),
        ("\u202f", _tr("narrow blank  1 204")),
    )


def _quotes() -> Choices:
    return (('"', _tr('quotes  "x"')), ("'", _tr("single  'x'")), ("", _tr("nothing")))


def _ragged() -> Choices:
    return (
        (RaggedRows.REFUSE, _tr("stop and tell me")),
        (RaggedRows.SKIP, _tr("leave the row out")),
    )


def _bad_values() -> Choices:
    return (
        (BadValues.REFUSE, _tr("stop and tell me")),
        (BadValues.MISSING, _tr("treat as missing")),
        (BadValues.SKIP, _tr("leave the row out")),
        (BadValues.TEXT, _tr("read the column as text")),
    )


def _orders() -> Choices:
    return (
        (DateOrder.YEAR_FIRST, _tr("year-month-day")),
        (DateOrder.DAY_FIRST, _tr("day.month.year")),
        (DateOrder.MONTH_FIRST, _tr("month/day/year")),
    )


def _with(choices: Choices, value: Hashable, words: str) -> Choices:
    """Return the choices with the present value among them."""
    known = {choice for choice, _ in choices}
    return choices if value in known else (*choices, (value, words))


class OptionsForm(Card):
    """Shows the options that concern the file's format; each change is told at once."""

    changed = Signal(object)
    """The person chose other `ReadOptions`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("How it is read"), "", parent)
        self._options = ReadOptions()
        self._showing = False
        self._rows: dict[str, QWidget] = {}
        self.nothing = label(
            self.tr("The file itself says how it is read. There is nothing to choose."),
            "muted",
            wrap=True,
        )
        self.problem = label("", "danger", wrap=True)
        self._build_fields()
        self.body.addWidget(self.nothing)
        self.body.addWidget(self.problem)
        self.body.addStretch(1)
        self.problem.hide()

    @property
    def options(self) -> ReadOptions:
        """The options as they are chosen."""
        return self._options

    def _build_fields(self) -> None:
        tr = self.tr
        self.sheet = self._choice("sheet", tr("Sheet"), ())
        self.delimiter = self._choice("delimiter", tr("Between columns"), ())
        self.quote = self._choice("quote", tr("Around texts"), _quotes(), beside="delimiter")
        self.encoding = self._choice("encoding", tr("Encoding"), ())
        decimals = ((".", tr("point  3.14")), (",", tr("comma  3,14")))
        self.decimal = self._choice("decimal", tr("Decimal mark"), decimals)
        self.thousands = self._choice("thousands", tr("Thousands"), _marks(), beside="decimal")
        self.date_order = self._choice("date_order", tr("Dates are written"), _orders())
        self.header = QCheckBox(tr("The first row holds the names"))
        self.header.toggled.connect(lambda on: self._change(header=on))
        self._add("header", self.header)
        self.skip_lines = NumberField(0, 10_000, decimals=0, show_range=False)
        self.skip_lines.value_changed.connect(lambda value: self._change(skip_lines=int(value)))
        self._add("skip_lines", self.skip_lines, tr("Lines to leave out above"))
        self.missing = QLineEdit()
        self.missing.setPlaceholderText(tr("NA; ?; unknown"))
        self.missing.setToolTip(tr("Texts that mean a missing value, with semicolons between."))
        self.missing.editingFinished.connect(self._take_missing)
        self._add("missing", self.missing, tr("Empty, and these, mean missing"))
        self.keep_user_missing = QCheckBox(tr("Keep declared missing codes as values"))
        self.keep_user_missing.toggled.connect(lambda on: self._change(keep_user_missing=on))
        self._add("keep_user_missing", self.keep_user_missing)
        self.ragged_rows = self._choice(
            "ragged_rows", tr("A row with too many or few fields"), _ragged()
        )
        self.bad_values = self._choice("bad_values", tr("A value of another type"), _bad_values())

    def _choice(self, name: str, title: str, choices: Choices, beside: str = "") -> ChoiceField:
        field = ChoiceField(choices)
        field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        field.chosen.connect(self._changer(name))
        self._add(name, field, title, beside)
        return field

    def _changer(self, name: str) -> Callable[[object], None]:
        def change(value: object) -> None:
            self._change(**{name: value})

        return change

    def _add(self, name: str, field: QWidget, title: str = "", beside: str = "") -> None:
        field.setObjectName(f"option-{name}")
        if title:
            field.setAccessibleName(title)
        caption = label(title, "small") if title else None
        if caption is not None:
            caption.setBuddy(field)
        line = QWidget(self)
        parts = (caption, field) if caption is not None else (field,)
        line.setLayout(column(*parts, spacing=Space.TIGHT))
        self._rows[name] = line
        if beside:
            place = self.body.indexOf(self._rows[beside])
            pair = row(self._rows[beside], line)
            pair.setStretch(0, 1)
            pair.setStretch(1, 1)
            self.body.insertLayout(place, pair)
        else:
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
        for name, line in self._rows.items():
            line.setVisible(name in concerned and (name != "sheet" or len(sheets) > 1))
        self.nothing.setVisible(not any(not line.isHidden() for line in self._rows.values()))
        self.problem.hide()
        first = sheets[0] if sheets else ""
        self.sheet.set_choices([(name, name) for name in sheets])
        self.sheet.set_value(options.sheet or first)
        known = _delimiters()
        own = self.tr("{mark} (other)").format(mark=options.delimiter)
        self.delimiter.set_choices(_with(known, options.delimiter, own))
        encoding = options.encoding or "utf-8"
        encodings = [(name, spoken(title)) for name, title in ENCODINGS]
        self.encoding.set_choices(_with(encodings, encoding, encoding))
        self.encoding.set_value(encoding)
        self.quote.set_choices(_with(_quotes(), options.quote, options.quote))
        self.thousands.set_choices(_with(_marks(), options.thousands, options.thousands))
        for name in (
            "delimiter",
            "quote",
            "decimal",
            "thousands",
            "date_order",
            "ragged_rows",
            "bad_values",
        ):
            field: ChoiceField = getattr(self, name)
            field.set_value(getattr(options, name))
        self.header.setChecked(options.header)
        self.skip_lines.set_value(options.skip_lines)
        self.missing.setText("; ".join(text for text in options.missing if text))
        self.keep_user_missing.setChecked(options.keep_user_missing)
        self._showing = False

    def _take_missing(self) -> None:
        texts = [text.strip() for text in re.split(r";", self.missing.text())]
        self._change(missing=("", *dict.fromkeys(text for text in texts if text)))

    def _change(self, **changes: object) -> None:
        """Take a change over, unless it contradicts the other options."""
        if self._showing:
            return
        try:
            options = replace(self._options, **changes)  # type: ignore[arg-type]
        except BadOptions as error:
            self.problem.setText(" ".join(error_texts(error)))
            self.problem.show()
            return
        self.problem.hide()
        if options != self._options:
            self._options = options
            self.changed.emit(options)
