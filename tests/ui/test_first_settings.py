"""What a mechanism begins with is worked out in a job where that takes a while."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.ui.panels.policy import panel as policy_panel
from tests.ui.clinic import wait_for_jobs
from tests.ui.limit_steps import open_values


@pytest.fixture
def panel(tall_policy_panel):
    open_values(
        tall_policy_panel.session,
        by="uniform",
        settings={},
        statement={"retention_probability": 0.5},
    )
    return tall_policy_panel


@pytest.fixture
def long_domain(monkeypatch):
    """Four values are many here."""
    monkeypatch.setattr(policy_panel, "VALUES_AT_ONCE", 3)


def mechanism(panel):
    return panel.session.document.policy[0].mechanism


def test_a_short_domain_is_protected_at_once(panel):
    panel.page.mechanism_chosen.emit("finegrain")
    assert mechanism(panel) == "finegrain"
    assert panel.content.currentWidget() is not panel.waiting


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_long_domain_is_protected_by_a_job_and_nothing_changes_before(qtbot, panel, long_domain):
    before = panel.session.document
    panel.page.mechanism_chosen.emit("finegrain")
    assert panel.session.document is before
    assert panel.content.currentWidget() is panel.waiting
    wait_for_jobs(qtbot, panel.session)
    assert mechanism(panel) == "finegrain"
    assert panel.content.currentWidget() is panel._scroll
    panel.session.undo()
    assert panel.session.document == before


@pytest.mark.slow
def test_a_choice_that_another_follows_is_dropped(qtbot, panel, long_domain):
    panel.page.mechanism_chosen.emit("finegrain")
    panel.page.mechanism_chosen.emit("matrix")
    wait_for_jobs(qtbot, panel.session)
    assert mechanism(panel) == "matrix"
    panel.session.undo()
    assert mechanism(panel) == "uniform"


def test_a_choice_is_dropped_where_something_else_was_decided_meanwhile(qtbot, panel, long_domain):
    panel.page.mechanism_chosen.emit("finegrain")
    panel.session.edit("Call", replace(panel.session.document, title="Ward"))
    assert panel.content.currentWidget() is panel._scroll
    wait_for_jobs(qtbot, panel.session)
    assert mechanism(panel) == "uniform"


def test_a_cancelled_choice_leaves_what_was_in_force(qtbot, panel, long_domain):
    panel.page.mechanism_chosen.emit("finegrain")
    for job in panel.session.runner.jobs:
        job.cancel()
    wait_for_jobs(qtbot, panel.session)
    assert mechanism(panel) == "uniform"
    assert panel.content.currentWidget() is panel._scroll


@pytest.mark.slow
def test_the_groups_of_many_rows_are_formed_in_a_job(qtbot, panel, monkeypatch):
    monkeypatch.setattr(policy_panel, "ROWS_AT_ONCE", 3)
    monkeypatch.setattr("sfumato.ui.state.insights.ROWS_AT_ONCE", 3)
    panel.page.mechanism_chosen.emit("reconstruction")
    assert panel.content.currentWidget() is panel.waiting
    wait_for_jobs(qtbot, panel.session)
    assert mechanism(panel) == "reconstruction"
