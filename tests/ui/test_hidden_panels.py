"""An edit computes nothing for what nobody looks at; it catches up once somebody does."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from sfumato.engine.generalization.hierarchies import propose_hierarchy
from sfumato.project.publication.generalization_pipeline import proposed
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.audit.pages.person import PersonPage
from tests.ui.clinic import clinic_table, open_clinic, protected, save_clinic, wait_for_jobs

COMPUTING = ("analysis", "engine", "plots", "project/release", "project/publication", "report")
COMPARING = "engine/core/frozen.py"
"""Whether two documents are the same is no computation, whoever asks."""
RAIL = {"step", "state", "has_material"}
"""What tells how far the steps are, and which pages there are: that is always in sight."""


def decided():
    """The clinic's document with a policy, and with a generalized table beside it."""
    document = protected({"Clinic A": 0.6, "Public": 0.1})
    recipe = propose_hierarchy(document.column("age"), clinic_table().column("age")).recipe
    document = document.with_hierarchy("age", recipe)
    return replace(document, generalization=proposed(document))


def level_changed(document, level):
    first, *others = document.recipients
    changed = replace(first, statements={"disease": {"retention_probability": level}})
    return replace(document, recipients=(changed, *others))


@pytest.fixture
def seen(qtbot, window, tmp_path):
    """The window on a project, after all its panels and the audit's pages were looked at."""
    session = window.session
    open_clinic(session, decided())
    save_clinic(session, tmp_path)
    for name in window.panels:
        window.show_panel(name)
        wait_for_jobs(qtbot, session)
    audit, policy = window.panels["audit"], window.panels["policy"]
    for page in audit.pages:
        audit.show_page(type(page))
        wait_for_jobs(qtbot, session)
    window.show_panel("policy")
    for way in ("generalized", "board"):
        policy.ways.show_way(way)
        wait_for_jobs(qtbot, session)
    return window


class Watch:
    """Notes which modules of the panels compute, and which jobs are started."""

    def __init__(self, session, monkeypatch):
        self.jobs, self.computing = [], set()
        run = session.runner.run

        def noted(text, *arguments, **options):
            self.jobs.append(options["key"])
            return run(text, *arguments, **options)

        monkeypatch.setattr(session.runner, "run", noted)

    def __enter__(self):
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_ended):
        sys.setprofile(None)

    def _note(self, frame, event, _argument):
        _, _, room = frame.f_code.co_filename.partition("/sfumato/")
        if event != "call" or not room.startswith(COMPUTING) or room == COMPARING:
            return
        found = set()
        while frame is not None:
            _, _, panel = frame.f_code.co_filename.partition("/ui/panels/")
            if panel and frame.f_code.co_name in RAIL:
                return
            found |= {f"{panel}: {frame.f_code.co_name}"} if panel else set()
            frame = frame.f_back
        self.computing |= found

    def of(self, *parts):
        return sorted(where for where in self.computing if where.startswith(parts))


HIDDEN = {
    "data": ("attributes", "policy", "preview", "releases", "audit"),
    "policy": ("attributes", "policy/generalized", "preview", "releases", "audit"),
    "audit": ("attributes", "policy", "preview", "releases", "audit/pages", "audit/groups.py"),
}

ASKED = {"policy": {"board-gauges", "open columns"}, "audit": {"audit questions"}}
"""What is in sight asks for by itself."""


@pytest.mark.slow
def test_an_edit_computes_nothing_for_what_is_hidden(qtbot, seen, monkeypatch):
    session = seen.session
    seen.panels["audit"].show_questions()
    for level, (shown, hidden) in enumerate(HIDDEN.items(), 3):
        seen.show_panel(shown)
        wait_for_jobs(qtbot, session)
        with monkeypatch.context() as patch, Watch(session, patch) as watch:
            session.edit("x", level_changed(session.document, level / 10))
        assert watch.of(*hidden) == []
        assert set(watch.jobs) == ASKED.get(shown, set())


@pytest.mark.slow
def test_hidden_pages_catch_up_once_somebody_looks(qtbot, seen):
    session, audit = seen.session, seen.panels["audit"]
    page = audit.show_page(CoalitionPage)
    seen.show_panel("data")
    session.edit("x", level_changed(session.document, 0.5))
    seen.show_panel("audit")
    assert "0.5" in page.model.index(0, 1).data()
    wait_for_jobs(qtbot, session)
    seen.show_panel("policy")
    assert "0.5" in seen.panels["policy"].page.recipients.model.rows[0].level


@pytest.mark.slow
def test_what_a_person_asked_is_asked_again_where_an_edit_was_undone_meanwhile(
    qtbot, seen, monkeypatch
):
    session, audit = seen.session, seen.panels["audit"]
    page = audit.show_page(PersonPage)
    page.fields["age"].setText("40")
    page.fields["age"].editingFinished.emit()
    seen.show_panel("data")
    session.edit("x", level_changed(session.document, 0.5))
    session.undo()
    wait_for_jobs(qtbot, session)
    watch = Watch(session, monkeypatch)
    seen.show_panel("audit")
    wait_for_jobs(qtbot, session)
    assert page.job in watch.jobs
    assert page.sentence.text()
