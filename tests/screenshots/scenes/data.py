"""The states of the Data panel."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pandas as pd
import pyreadstat

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import Sentence
from sfumato.formats.databases import Address
from sfumato.formats.errors import RaggedRow, Way, WrongPassword
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, RaggedRows, ReadOptions
from sfumato.formats.reading import first_rows
from sfumato.project.document.model import TableSource
from sfumato.project.errors import NotSealed, ProjectPart, SealViolation
from sfumato.ui.dialogs.about import AboutDialog
from sfumato.ui.dialogs.base import UnsealedDialog
from sfumato.ui.dialogs.databases import DatabaseDialog
from sfumato.ui.panels.data.panel import LOAD_KEY, DataPanel
from sfumato.ui.panels.import_page import MissingTextsDialog
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.messages import Message
from tests.formats.workbooks import parts, save, sheet
from tests.in_batches import in_batches
from tests.screenshots.stage import SAMPLE, Scene, Stage


def _panel(stage: Stage) -> DataPanel:
    panel = stage.panel("data")
    assert isinstance(panel, DataPanel)
    return panel


def _importing(stage: Stage) -> DataPanel:
    panel = _panel(stage)
    panel.open_file(stage.sample())
    stage.settle()
    return panel


def _reading(stage: Stage) -> None:
    panel = _importing(stage)
    job = stage.hold(f"Reading {SAMPLE}.csv", 0.42, "Reading rows", LOAD_KEY)
    panel.wait_for(job)


def _refused(stage: Stage) -> None:
    panel = _importing(stage)
    options = panel.importing.options
    error: SfumatoError = RaggedRow(
        "Row {row} has {found} fields where there are {expected} columns.",
        "Leave such rows out, or mend them in the file.",
        row=1204,
        ways=(Way("Leave out such rows", replace(options, ragged_rows=RaggedRows.SKIP)),),
        found=11,
        expected=12,
    )
    panel.show_load_error(error)


def _gone(stage: Stage) -> None:
    table = stage.open_sample()
    source = TableSource("/home/you/clinic.csv", "0" * 64, table.rows, ReadOptions().to_dict())
    stage.session.edit("Move", replace(stage.session.document, source=source))
    stage.session.set_project(stage.create_project())


def _cautioned(stage: Stage) -> None:
    """A workbook whose first sheet is hidden, and whose second holds a formula without a value."""
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>income</t></is></c></row>'
    value = '<row r="2"><c r="A2"><v>1</v></c></row><row r="3"><c r="A3"><f>A2*2</f></c></row>'
    made = parts(sheet(header + value), sheet(header + value), states=("hidden",))
    _panel(stage).open_file(save(stage.folder / "income.xlsx", made))
    stage.settle()


def _remarked(stage: Stage) -> DataPanel:
    """A file with five kinds of remarks, one of which was answered."""
    panel = _importing(stage)
    page = panel.importing
    options = page.options
    as_text = options.with_type("postcode", ColumnType.TEXT)
    notes = (
        Note(
            "Column {column} is read as text: a number would alter the value in row {row}"
            " (a leading zero, or more digits than a number holds).",
            {"column": "record_number", "row": 7},
            columns=("record_number",),
            rows=(7,),
        ),
        Note(
            "{count:,} {count:row|rows} without any value {count:is|are} left out.",
            {"count": 12},
            caution=True,
            count=12,
            rows=(17, 18, 204, 911, 5204),
            ways=(Way("Read these rows too", replace(options, ragged_rows=RaggedRows.SKIP)),),
        ),
        Note(
            "The text is read as Windows-1252, and may be meant otherwise.",
            caution=True,
            count=31,
            rows=(3, 9, 11),
            ways=(
                Way("Read it as Windows-1250", replace(options, encoding="cp1250")),
                Way("Read it as Mac Roman", replace(options, encoding="mac-roman")),
            ),
        ),
        Note(
            "{column} holds numbers with leading zeros removed: it may be a code.",
            {"column": "birth_year"},
            caution=True,
            columns=("birth_year",),
            ways=(Way("Read it as text", options.with_type("birth_year", ColumnType.TEXT)),),
        ),
        Note(
            "Trailing blanks of {count:,} {count:value|values} of {column} are taken away.",
            {"count": 40, "column": "sex"},
            columns=("sex",),
            count=40,
        ),
    )
    page.use_options(as_text)
    stage.settle()
    read = first_rows(stage.sample(), options)
    page.show_rows(as_text, replace(read, notes=notes))
    return panel


def _reasons(stage: Stage) -> None:
    """An SPSS file whose incomes are missing with reasons, and whose ages hold a code."""
    rows = 60
    incomes = [99998.0 if row % 5 == 3 else 1200.0 + 31 * row for row in range(rows)]
    ages = [999.0 if row % 10 == 7 else 20.0 + row for row in range(rows)]
    path = stage.folder / "income.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"income": incomes, "age": ages}),
        path,
        variable_value_labels={"income": {99998: "refused"}},
        missing_ranges={"income": [99998]},
    )
    _panel(stage).open_file(path)
    stage.settle()


def _laid_out(stage: Stage) -> None:
    """A text of fixed width, read by its layout."""
    path, layout = stage.folder / "survey.dat", stage.folder / "layout.csv"
    path.write_text("".join(f"{row:06d}{row % 2 + 1}{20 + row:03d}\n" for row in range(60)))
    layout.write_text("name,start,width\nid,1,6\nsex,7,1\nage,8,3\n")
    panel = _panel(stage)
    panel.open_file(path)
    stage.settle()
    panel.importing.form.take_layout(layout)
    panel.importing.use_options(panel.importing.options)
    stage.settle()


def _missing_texts(stage: Stage) -> MissingTextsDialog:
    """Asking what means a missing value in one column."""
    return _importing(stage).importing.ask_for_missing("length_of_stay")


def _periods(stage: Stage) -> None:
    """A Stata file of months, quarters and times, with a date that no calendar has."""
    rows = range(60)
    frame = pd.DataFrame(
        {
            "birth_month": [float(-120 + 7 * row) for row in rows],
            "birth_quarter": [float(-40 + 2 * row) for row in rows],
            "admitted_at": [60_000.0 * 17 * row for row in rows],
            "discharged": [4e6 if row == 4 else 16_000.0 + 31 * row for row in rows],
        }
    )
    formats = {"birth_month": "%tm", "birth_quarter": "%tq", "admitted_at": "%tcHH:MM"}
    path = stage.folder / "stays.dta"
    pyreadstat.write_dta(frame, path, variable_format={**formats, "discharged": "%td"})
    _panel(stage).open_file(path)
    stage.settle()


def _loaded_with_remarks(stage: Stage) -> None:
    """A table whose whole file told more than its first rows."""
    stage.open_sample(with_rules=False)
    document = stage.session.document
    source = document.source
    assert source is not None
    options = ReadOptions.from_dict(dict(source.options))
    notes = (
        Note(
            "The codes {codes} of {column} may mean that the value is missing.",
            {"codes": "−9", "column": "name"},
            caution=True,
            columns=("name",),
            count=412,
            rows=(17, 204, 911),
            ways=(Way("Read −9 as missing", replace(options, missing=("", "-9"))),),
        ),
        Note(
            "Column {column}: values of another type are read as missing ({count}).",
            {"column": "length_of_stay", "count": 3},
            columns=("length_of_stay",),
            count=3,
            rows=(12, 600, 9000),
            ways=(Way("Read it as text", options.with_type("length_of_stay", ColumnType.TEXT)),),
        ),
    )
    chosen = replace(options, skip_lines=2).with_type("postcode", ColumnType.TEXT).to_dict()
    kept = replace(source, notes=notes, options=chosen, found=dict(source.options))
    table = stage.session.table
    assert table is not None
    stage.session.attach_table(SurveyedTable.of(in_batches(table)), replace(document, source=kept))
    stage.settle()


def _changed(stage: Stage) -> None:
    """A project whose table has fewer rows by now."""
    table = stage.open_sample()
    rows = table.rows
    source = TableSource(str(stage.sample()), "0" * 64, rows + 3, ReadOptions().to_dict())
    project = stage.create_project()
    project.save_document(replace(stage.session.document, source=source))
    stage.session.set_project(project)
    stage.window.projects.sources.read()
    stage.settle()


def _database(stage: Stage) -> None:
    """A server that wants another password."""
    stage.window.choose_database(Address("db.example.org", database="clinic", user="ann"))
    dialog = stage.window.findChild(DatabaseDialog)
    assert dialog is not None
    dialog.password.setText("Quicksilver")
    words = "The server {server} refuses this user or password for {database}."
    remedy = "Check both, and which database the user may connect to."
    error = WrongPassword(words, remedy, server="db.example.org:5432", database="clinic")
    dialog.messages.show_message(Message.of_error(error))
    dialog.grow()
    stage.settle()


def _query(stage: Stage) -> None:
    """A query on the sample in a database."""
    path = stage.folder / "clinic.sqlite"
    with closing(sqlite3.connect(path)) as driver:
        pd.read_csv(stage.sample()).to_sql("patients", driver, index=False)
    panel = _panel(stage)
    panel.open_file(path)
    stage.settle()
    panel.importing.form.query.setPlainText("SELECT * FROM patients\nWHERE length_of_stay > 2")
    panel.importing.form.query.edited.emit()
    panel.importing.use_options(panel.importing.options)
    stage.settle()


def _unsealed(stage: Stage) -> None:
    """A project that somebody changed without Sfumato."""
    findings = (
        SealViolation(
            ProjectPart.WRAPPING,
            Sentence("Its passphrase was changed or set back to an older one."),
        ),
        SealViolation(
            ProjectPart.PENDING, Sentence("Its list of interrupted releases was changed.")
        ),
    )
    error = NotSealed(stage.folder / "Ward 7.sfumato", findings)
    UnsealedDialog("Ward 7", error, _panel(stage).window()).open()
    stage.settle()


def _about(stage: Stage) -> AboutDialog:
    stage.window.show_about()
    [dialog] = stage.window.findChildren(AboutDialog)
    return dialog


SCENES = (
    Scene("about", _about),
    Scene("empty", _panel),
    Scene("options", _importing),
    Scene("cautions", _cautioned),
    Scene("remarks", _remarked),
    Scene("reasons", _reasons),
    Scene("layout", _laid_out),
    Scene("missing-texts", _missing_texts),
    Scene("periods", _periods),
    Scene("loaded-remarks", _loaded_with_remarks),
    Scene("changed", _changed),
    Scene("database", _database),
    Scene("query", _query),
    Scene("unsealed", _unsealed),
    Scene("working", _reading),
    Scene("error", _refused),
    Scene("missing", _gone),
    Scene("in-parts", lambda stage: stage.open_long()),
    Scene("filled", lambda stage: stage.open_sample(with_rules=False)),
)
