"""What an edit costs the window, counted in work: seconds would tell of the machine."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.mechanisms.matrix import TransitionMatrix
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.panels.policy.mechanisms.matrix import EntriesModel
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.tables import CellsModel
from tests.in_batches import in_batches
from tests.ui.clinic import wait_for_jobs

VALUES = tuple(f"Diagnosis {place}" for place in range(200))
LEVELS = {"Office": 0.6, "Institute": 0.3, "Public": 0.1}


@pytest.fixture
def policy(qtbot, window):
    """The Policy panel on an attribute of 200 values, which is protected for three recipients."""
    session = window.session
    table = Table(pd.DataFrame({"diagnosis": pd.Categorical(np.resize(VALUES, 4000))}))
    column = ColumnSpec("diagnosis", Role.SENSITIVE, Kind.CATEGORICAL, Domain(VALUES))
    recipients = tuple(
        Recipient(name, {"diagnosis": {"retention_probability": level}})
        for name, level in LEVELS.items()
    )
    entry = PolicyEntry(("diagnosis",), "uniform")
    document = Document(columns=(column,), policy=(entry,), recipients=recipients)
    session.open_table("Open", SurveyedTable.of(in_batches(table)), document)
    window.show_panel("policy")
    wait_for_jobs(qtbot, session)
    QCoreApplication.processEvents()
    return window.panels["policy"]


def counted(monkeypatch, *methods):
    """Count calls of methods, given as (class, name)."""
    calls = Counter()

    def watch(owner, name):
        real = getattr(owner, name)

        def noted(*arguments, **details):
            calls[name] += 1
            return real(*arguments, **details)

        replacement = classmethod(lambda _cls, *a: noted(*a)) if name == "from_lists" else noted
        monkeypatch.setattr(owner, name, replacement)

    for owner, name in methods:
        watch(owner, name)
    return calls


def choose(qtbot, policy, mechanism):
    policy.page.mechanism_chosen.emit(mechanism)
    wait_for_jobs(qtbot, policy.session)
    QCoreApplication.processEvents()


@pytest.mark.slow
def test_an_edited_matrix_is_read_and_inverted_once_for_all_who_show_it(qtbot, policy, monkeypatch):
    # The check begins after a pause, which a busy machine may have within the edit.
    monkeypatch.setattr(policy.session.steps, "check", lambda: None)
    choose(qtbot, policy, "matrix")
    calls = counted(
        monkeypatch, (TransitionMatrix, "from_lists"), (np.linalg, "inv"), (DenseMatrix, "__init__")
    )
    policy.page.settings.matrix.entries.written.emit({(0, 3): "0.0015", (1, 3): "0.0035"})
    wait_for_jobs(qtbot, policy.session)
    QCoreApplication.processEvents()
    assert policy.session.document.policy[0].settings["entries"][1][3] == 0.0035
    assert calls["from_lists"] <= 2, "for the grid, and for all others"
    assert calls["inv"] == 1
    assert calls["__init__"] <= 1 + len(LEVELS) + 3, "the matrix, each level, three proposals"


@pytest.mark.slow
def test_a_level_below_a_matrix_inverts_nothing(qtbot, policy, monkeypatch):
    choose(qtbot, policy, "matrix")
    calls = counted(monkeypatch, (TransitionMatrix, "from_lists"), (np.linalg, "inv"))
    for level in (0.35, 0.25, 0.15):
        policy.page.stated.emit({"trust_factor": level})
        QCoreApplication.processEvents()
    assert not calls


@pytest.mark.slow
def test_a_cell_in_sight_is_made_once_a_picture(qtbot, policy, monkeypatch):
    choose(qtbot, policy, "matrix")
    grid = policy.page.settings.matrix.grid
    policy.scroll_to(grid)
    qtbot.waitUntil(lambda: not turns().busy)
    QCoreApplication.processEvents()
    calls = counted(monkeypatch, (EntriesModel, "cell"))
    grid.viewport().repaint()
    rows = grid.viewport().height() // grid.rowHeight(0) + 2
    columns = grid.viewport().width() // grid.columnWidth(0) + 2
    assert 0 < calls["cell"] <= rows * columns


@pytest.mark.slow
def test_a_long_list_of_values_is_made_as_far_as_it_is_in_sight(qtbot, policy, monkeypatch):
    calls = counted(monkeypatch, (CellsModel, "cell"))
    choose(qtbot, policy, "distribution")
    assert policy.page.settings.values.rowCount() == len(VALUES)
    assert calls["cell"] < 3 * len(VALUES), "all cells once would be so many"


@pytest.mark.slow
def test_editors_are_built_before_a_mechanism_is_chosen(qtbot, policy, monkeypatch):
    policy.page.mechanism.setFocus()
    qtbot.waitUntil(lambda: not turns().busy)
    built = []
    monkeypatch.setattr(type(policy.page), "_preparing", lambda _page, names: built.append(names))
    policy.page.prepare([str(name) for name in policy.page.mechanism.values])
    assert not built, "every editor is there"
