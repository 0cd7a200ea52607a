"""A step is done when what it is for is done and still holds, and not before; nor by visiting."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.analysis.coarsening.views import with_proposed_hierarchies
from sfumato.engine.core.columns import Domain, Role
from sfumato.jobs import Ending
from sfumato.project.document.model import ViewRule
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state import steps, weighing
from sfumato.ui.state.steps import CHECK
from tests.ui.clinic import (
    clinic_document,
    clinic_table,
    open_clinic,
    protected,
    save_clinic,
    wait_for_jobs,
)
from tests.ui.hands import click, type_into

SOUND = {"Clinic A": 0.6, "Public": 0.1}


def state(window, name):
    return window.rail.step(name).state


def told(window, name):
    return window.rail.step(name).accessibleDescription()


def with_level(document, place, level):
    one = replace(
        document.recipients[place], statements={"disease": {"retention_probability": level}}
    )
    people = [one if at == place else each for at, each in enumerate(document.recipients)]
    return replace(document, recipients=tuple(people))


def without_age(document):
    """The clinic's document without the one column that could single somebody out."""
    return document.with_column(replace(document.column("age"), role=Role.IDENTIFYING))


@pytest.fixture
def opened(qtbot, window):
    """The window with a sound policy, left for another panel, and checked."""
    open_clinic(window.session, without_age(protected(SOUND)))
    window.show_panel("policy")
    window.show_panel("data")
    wait_for_jobs(qtbot, window.session)
    return window


@pytest.mark.slow
def test_visiting_finishes_nothing(window):
    open_clinic(window.session, clinic_document())
    for name in window.panels:
        click(window.rail.step(name))
    assert state(window, "policy") is PanelState.IN_PROGRESS
    assert "disease" in told(window, "policy")
    assert state(window, "releases") is PanelState.EMPTY
    assert state(window, "preview") is PanelState.NONE
    assert window.rail.step("preview").accessibleName() == "Preview"


def test_attributes_are_done_once_something_is_sensitive_and_its_values_fit(window):
    session = window.session
    none = clinic_document()
    open_clinic(session, none.with_column(replace(none.column("disease"), role=Role.INSENSITIVE)))
    assert state(window, "attributes") is PanelState.IN_PROGRESS
    session.edit("Mark", none)
    assert state(window, "attributes") is PanelState.DONE
    narrow = replace(none.column("disease"), domain=Domain(("asthma", "flu")))
    session.edit("Forget values", none.with_column(narrow))
    assert state(window, "attributes") is PanelState.ATTENTION
    assert told(window, "attributes")
    session.undo()
    assert state(window, "attributes") is PanelState.DONE


def test_the_policy_is_done_once_the_check_finds_nothing_grave(opened):
    assert state(opened, "policy") is PanelState.DONE
    assert "no danger" in told(opened, "policy")
    assert "no danger" in opened.rail.step("policy").toolTip()


@pytest.mark.slow
def test_a_later_edit_undoes_what_was_done(qtbot, opened):
    session = opened.session
    session.edit("x", with_level(session.document, 0, 0.5))
    assert state(opened, "policy") is PanelState.IN_PROGRESS
    session.edit("y", with_level(session.document, 0, 1.0))
    assert state(opened, "policy") is PanelState.ATTENTION
    assert "true values" in told(opened, "policy")
    session.undo()
    session.undo()
    session.steps.check_policy()
    wait_for_jobs(qtbot, session)
    assert state(opened, "policy") is PanelState.DONE


@pytest.mark.slow
def test_a_policy_whose_k_cannot_be_kept_is_not_done(qtbot, window):
    document = protected(SOUND)
    people = tuple(replace(each, view=ViewRule(8)) for each in document.recipients)
    table = clinic_table()
    document = with_proposed_hierarchies(replace(document, recipients=people), table)[0]
    open_clinic(window.session, document)
    window.show_panel("releases")
    wait_for_jobs(qtbot, window.session)
    for name in ("policy", "releases"):
        assert state(window, name) is PanelState.ATTENTION
        assert "have to be suppressed" in told(window, name)


def test_what_the_check_finds_is_told_at_the_policy_before_releases_is_opened(qtbot, window):
    document = protected(SOUND)
    open_clinic(
        window.session,
        document.with_column(replace(document.column("name"), role=Role.INSENSITIVE)),
    )
    window.show_panel("policy")
    window.show_panel("preview")
    wait_for_jobs(qtbot, window.session)
    assert "releases" not in window.panels.built or not window.panels["releases"].isVisible()
    assert state(window, "policy") is PanelState.ATTENTION
    assert told(window, "policy")


def checks_of(session):
    """The checks that have not ended, nor been told to."""
    return [job for job in session.runner.jobs if job.key == CHECK and not job.stop_requested()]


def test_the_check_begins_once_the_gauges_have_answered(qtbot, session, monkeypatch):
    begun = []

    def noting(name, real):
        return lambda *given: (begun.append(name), real(*given))[1]

    monkeypatch.setattr(steps, "examine", noting("check", steps.examine))
    monkeypatch.setattr(weighing, "gauges_of", noting("gauges", weighing.gauges_of))
    open_clinic(session, without_age(protected(SOUND)))
    session.steps.check()
    wait_for_jobs(qtbot, session)
    assert begun == ["gauges", "check"]
    assert session.steps.current


def test_an_edit_cancels_the_check_of_what_was_decided_before(qtbot, session):
    given_up = []
    open_clinic(session, without_age(protected(SOUND)))
    session.steps.given_up.connect(lambda: given_up.append(True))
    session.steps.check()
    [job] = checks_of(session)
    session.edit("Call it something", replace(session.document, title="Ward 3"))
    assert checks_of(session) == [job], "a title changes nothing that is checked"
    ended = []
    job.finished.connect(lambda: ended.append(job.ending))
    session.edit("x", with_level(session.document, 0, 0.5))
    assert not checks_of(session)
    assert not session.steps.checking
    session.steps.check()
    [newer] = checks_of(session)
    assert newer is not job
    wait_for_jobs(qtbot, session)
    assert ended == [Ending.CANCELLED]
    assert session.steps.current
    assert not given_up, "nobody stopped a check that was of use"


@pytest.mark.slow
def test_releases_are_done_until_a_level_changes(qtbot, opened, tmp_path):
    session = opened.session
    save_clinic(session, tmp_path)
    click(opened.rail.step("releases"))
    wait_for_jobs(qtbot, session)
    assert state(opened, "releases") is PanelState.IN_PROGRESS
    assert told(opened, "releases") == "No release to Clinic A and Public yet."
    panel = opened.panels["releases"]
    type_into(panel.form.folder, str(tmp_path / "releases"))
    QTest.mouseClick(panel.primary, Qt.MouseButton.LeftButton)
    wait_for_jobs(qtbot, session)
    assert state(opened, "releases") is PanelState.DONE
    session.edit("x", with_level(session.document, 1, 0.05))
    assert state(opened, "releases") is PanelState.IN_PROGRESS
    assert told(opened, "releases") == "Changed since the last release to Public."
    session.undo()
    assert state(opened, "releases") is PanelState.DONE
