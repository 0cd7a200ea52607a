"""The states of the board, Policy's first page."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.table.table import Table
from sfumato.ui.panels.policy.panel import PolicyPanel
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.screenshots.stage import Scene, Stage

COLUMNS, PEOPLE = 60, 10


def _board(stage: Stage) -> PolicyPanel:
    panel = stage.panel("policy")
    assert isinstance(panel, PolicyPanel)
    panel.drawer.turn(False)
    stage.settle()
    stage.session.steps.check_policy()
    stage.settle()
    return panel


def _filled(stage: Stage) -> None:
    stage.open_sample()
    _board(stage)


def _blank(stage: Stage) -> None:
    stage.open_sample()
    document = replace(stage.session.document, policy=(), recipients=())
    stage.session.edit("Clear", document)
    _board(stage)


def _dangers(stage: Stage) -> None:
    """The last recipient sees the quasi-identifiers as they are."""
    stage.open_sample()
    document = stage.session.document
    people = tuple(replace(each, view=None) for each in document.recipients)
    stage.session.edit("Show all", replace(document, recipients=people))
    panel = _board(stage)
    rows = range(panel.board.model.rowCount())
    wrong = [
        (row, column)
        for row in rows
        for column in range(1, panel.board.model.columnCount())
        if (cell := panel.board.model.cell(row, column)) is not None and cell.problem
    ]
    if wrong:
        panel.board.view.setCurrentIndex(panel.board.model.index(*wrong[0]))
    stage.settle()


def _wide(stage: Stage) -> None:
    """A table of 60 columns for ten recipients."""
    table = stage.open_sample()
    frame, document = table.frame.copy(), stage.session.document
    more = [f"question_{place + 1}" for place in range(COLUMNS - frame.shape[1])]
    drawn = np.random.default_rng(1).integers(1, 6, (len(frame), len(more)))
    frame = pd.concat([frame, pd.DataFrame(drawn, columns=more, index=frame.index)], axis=1)
    specs = tuple(ColumnSpec(name, Role.INSENSITIVE, Kind.NUMERIC) for name in more)
    people = tuple(
        replace(document.recipients[place % 3], name=f"Institute {place + 1}")
        for place in range(PEOPLE)
    )
    document = replace(document, columns=(*document.columns, *specs), recipients=people)
    stage.session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), document)
    stage.settle()
    _board(stage)


def _folded(stage: Stage, text: str = "") -> None:
    stage.open_sample()
    panel = _board(stage)
    if text:
        panel.board.search.setText(text)
    else:
        panel.board.model.fold(Role.QUASI_IDENTIFIER)
    stage.settle()


SCENES = (
    Scene("board-empty", lambda stage: _board(stage) and None),
    Scene("board", _filled),
    Scene("board-blank", _blank),
    Scene("board-dangers", _dangers),
    Scene("board-wide", _wide),
    Scene("board-folded", _folded),
    Scene("board-searched", partial(_folded, text="dia")),
)
