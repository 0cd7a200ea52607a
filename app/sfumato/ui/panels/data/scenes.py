"""The states of the Data panel."""

from __future__ import annotations

from dataclasses import replace

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.errors import RaggedRow, Way
from sfumato.formats.options import RaggedRows, ReadOptions
from sfumato.project.document.model import Source
from sfumato.ui.panels.data.panel import LOAD_KEY, DataPanel
from sfumato.ui.scenes import SAMPLE, Scene, Stage


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


SCENES = (
    Scene("empty", _panel),
    Scene("options", _importing),
    Scene("working", _reading),
    Scene("error", _refused),
    Scene("missing", _gone),
    Scene("filled", lambda stage: stage.open_sample(with_rules=False)),
)
