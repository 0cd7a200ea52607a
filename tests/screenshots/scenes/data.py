"""The states of the Data panel."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pandas as pd

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import Sentence
from sfumato.formats.databases import Address
from sfumato.formats.errors import RaggedRow, Way, WrongPassword
from sfumato.formats.options import RaggedRows, ReadOptions
from sfumato.project.document.model import Source
from sfumato.project.errors import Finding, NotSealed, Part
from sfumato.ui.dialogs.base import UnsealedDialog
from sfumato.ui.dialogs.databases import DatabaseDialog
from sfumato.ui.dialogs.help import AboutDialog
from sfumato.ui.panels.data.panel import LOAD_KEY, DataPanel
from sfumato.ui.widgets.messages import Message
from tests.formats.workbooks import parts, save, sheet
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
    source = Source("/home/you/clinic.csv", "0" * 64, table.rows, ReadOptions().to_dict())
    stage.session.edit("Move", replace(stage.session.document, source=source))
    stage.session.set_project(stage.create_project())


def _cautioned(stage: Stage) -> None:
    """A workbook whose first sheet is hidden, and whose second holds a formula without a value."""
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>income</t></is></c></row>'
    value = '<row r="2"><c r="A2"><v>1</v></c></row><row r="3"><c r="A3"><f>A2*2</f></c></row>'
    made = parts(sheet(header + value), sheet(header + value), states=("hidden",))
    _panel(stage).open_file(save(stage.folder / "income.xlsx", made))
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
        Finding(Part.WRAPPING, Sentence("Its passphrase was changed or set back to an older one.")),
        Finding(Part.PENDING, Sentence("Its list of interrupted releases was changed.")),
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
    Scene("database", _database),
    Scene("query", _query),
    Scene("unsealed", _unsealed),
    Scene("working", _reading),
    Scene("error", _refused),
    Scene("missing", _gone),
    Scene("in-parts", lambda stage: stage.open_long()),
    Scene("filled", lambda stage: stage.open_sample(with_rules=False)),
)
