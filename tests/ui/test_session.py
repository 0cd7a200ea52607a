"""What is open: undo and redo, autosave, recent projects, and what is computed of the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.secret import ScryptCost
from sfumato.ui.panels.base import LazyWidget
from sfumato.ui.state import insights as attribute_cache
from sfumato.ui.state import session as session_module
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.settings import MemoryStore, RecentProjects
from tests.in_batches import in_batches
from tests.ui.hands import on_screen

QUICK = ScryptCost(2**4)


def titled(title):
    return Document(title=title)


def small_table(values=("a", "b", "a")):
    return Table(pd.DataFrame({"disease": pd.Categorical(values), "age": range(len(values))}))


def document_of(table, **changes):
    columns = (ColumnSpec("disease", Role.SENSITIVE), ColumnSpec("age"))
    return replace(Document(title="clinic", columns=columns), **changes)


class Follower(LazyWidget):
    """Counts how often it is refreshed by a session."""

    def __init__(self, session):
        super().__init__()
        self.seen = []
        self.follow_state(session, lambda: self.seen.append(session.document.title))


def test_who_follows_table_and_document_is_refreshed_once_where_both_change(qtbot, session):
    follower = on_screen(qtbot, Follower(session))
    table = SurveyedTable.of(in_batches(small_table()))
    session.open_table("Open", table, titled("both"))
    session.edit("Call it otherwise", titled("document"))
    session.open_table("Open", SurveyedTable.of(in_batches(small_table())), titled("document"))
    assert follower.seen == ["both", "document", "document"], "the last time the table alone"
    session.undo()
    session.undo()
    session.undo()
    assert follower.seen[3:] == ["document", "both", ""]


@pytest.fixture
def create(tmp_path):
    made = []

    def make(document=None, name="clinic"):
        path = tmp_path / f"{name}.sfumato"
        project = ProjectFile.create(path, "four random words", document or Document(), cost=QUICK)
        made.append(project)
        return project

    yield make
    for project in made:
        project.close()


class TestUndo:
    def test_an_edit_is_taken_back_and_done_again(self, session):
        session.edit("Name it", titled("one"))
        session.edit("Rename it", titled("two"))
        session.undo()
        assert session.document.title == "one"
        session.undo()
        assert session.document.title == ""
        session.redo()
        session.redo()
        assert session.document.title == "two"

    def test_the_menu_learns_what_would_be_undone(self, session):
        assert (session.undo_text, session.redo_text) == (None, None)
        session.edit("Name it", titled("one"))
        assert (session.undo_text, session.redo_text) == ("Name it", None)
        session.undo()
        assert (session.undo_text, session.redo_text) == (None, "Name it")

    def test_what_a_job_found_is_dropped_and_told_once_something_else_was_edited(
        self, session, qtbot
    ):
        take = session.unless_changed("Rename it", lambda name: session.edit("Re", titled(name)))
        session.edit("Name it", titled("one"))
        with qtbot.waitSignal(session.message) as told:
            take("two")
        assert session.document.title == "one"
        assert "in the meantime: Rename it." in told.args[0].text

    def test_what_a_job_found_is_taken_where_everything_is_as_it_was(self, session):
        session.edit("Name it", titled("one"))
        take = session.unless_changed("Rename it", lambda name: session.edit("Re", titled(name)))
        session.edit("Name it otherwise", titled("three"))
        session.undo()
        take("two")
        assert session.document.title == "two"

    def test_a_new_edit_forgets_what_was_undone(self, session):
        session.edit("Name it", titled("one"))
        session.undo()
        session.edit("Name it otherwise", titled("two"))
        session.redo()
        assert session.document.title == "two"
        assert session.redo_text is None

    def test_an_edit_that_changes_nothing_is_no_step(self, session, qtbot):
        with qtbot.assertNotEmitted(session.document_changed):
            session.edit("Nothing", Document())
        assert session.undo_text is None

    def test_edits_of_one_drag_are_one_step(self, session):
        for step in range(5):
            session.edit("Drag", titled(str(step)), merge_key="slider")
        session.end_merge()
        session.edit("Drag", titled("again"), merge_key="slider")
        session.undo()
        assert session.document.title == "4"
        session.undo()
        assert session.document.title == ""

    def test_opening_a_table_can_be_undone(self, session):
        table = small_table()
        session.open_table("Open clinic", SurveyedTable.of(in_batches(table)), document_of(table))
        assert session.table is table
        session.undo()
        assert session.table is None
        assert session.document == Document()

    def test_no_more_than_one_earlier_table_is_kept(self, session):
        tables = [small_table() for _ in range(4)]
        for number, table in enumerate(tables):
            session.open_table(
                f"Open {number}", SurveyedTable.of(in_batches(table)), titled(str(number))
            )
        session.undo()
        assert session.table is tables[2]
        session.undo()
        assert session.table is tables[2]
        assert session.undo_text is None

    def test_everyone_is_told_once(self, session):
        told = []
        session.document_changed.connect(lambda: told.append("document"))
        session.table_changed.connect(lambda: told.append("table"))
        session.edit("Name it", titled("one"))
        assert told == ["document"]
        session.open_table("Open", SurveyedTable.of(in_batches(small_table())), titled("two"))
        assert told == ["document", "table", "document"]


class TestProject:
    def test_edits_reach_the_file_by_themselves(self, session, create, qtbot, monkeypatch):
        project = create()
        session.set_project(project)
        session._autosave.setInterval(1)
        with qtbot.waitSignal(session.saved):
            session.edit("Name it", titled("kept"))
        assert project.document.title == "kept"
        assert not session.unsaved

    def test_edits_in_a_row_are_saved_once(self, session, create, qtbot):
        session.set_project(create())
        session._autosave.setInterval(20)
        saves = []
        session.saved.connect(lambda: saves.append(session.document.title))
        with qtbot.waitSignal(session.saved):
            for title in "abc":
                session.edit("Name it", titled(title))
        assert saves == ["c"]

    def test_without_a_project_nothing_is_saved(self, session):
        session.edit("Name it", titled("one"))
        assert session.unsaved
        assert not session.save()

    def test_a_failed_save_is_told_and_the_work_stays_unsaved(self, session, create, monkeypatch):
        session.set_project(create())
        heard = []
        session.message.connect(heard.append)

        def full(_document, **_stated):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(session.project, "save_document", full)
        session.edit("Name it", titled("one"))
        assert not session.save()
        assert session.unsaved
        assert "No space left" in heard[0].text
        session.forget_changes()

    def test_an_opened_project_brings_its_document_and_starts_a_new_history(self, session, create):
        session.edit("Name it", titled("before"))
        session.set_project(create(titled("inside")))
        assert session.document.title == "inside"
        assert session.undo_text is None
        assert not session.unsaved

    def test_a_created_project_keeps_what_is_open(self, session, create):
        table = small_table()
        session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
        session.set_project(create(session.document), keep_state=True)
        assert session.table is table
        assert session.undo_text == "Open"

    def test_leaving_a_project_saves_and_closes_it(self, session, create):
        first = create(name="first")
        session.set_project(first)
        session.edit("Name it", titled("kept"))
        session.set_project(create(name="second"))
        with ProjectFile.open(first.path, "four random words") as again:
            assert again.document.title == "kept"

    def test_keys_are_the_projects_own_once_there_is_one(self, session, create):
        passing = session.keys
        assert session.keys is passing
        project = create()
        session.set_project(project)
        assert session.keys is project.keys
        session.set_project(None)
        assert session.keys is not passing

    def test_a_table_found_elsewhere_changes_its_place_without_a_step_of_undo(
        self, session, create
    ):
        table = small_table()
        source = TableSource("/old/clinic.csv", "0" * 64, 3)
        session.set_project(create(document_of(table, source=source)))
        moved = replace(session.document, source=replace(source, path="/new/clinic.csv"))
        session.attach_table(SurveyedTable.of(in_batches(table)), moved)
        assert session.document.source.path == "/new/clinic.csv"
        assert session.undo_text is None
        assert session.save()
        assert session.project.document.source.path == "/new/clinic.csv"

    def test_closing_saves_and_lets_the_file_go(self, plain, create):
        made = session_module.Session(store=MemoryStore())
        project = create()
        made.set_project(project)
        made.edit("Name it", titled("kept"))
        made.close()
        with ProjectFile.open(project.path, "four random words") as again:
            assert again.document.title == "kept"


class TestAttributes:
    def test_a_column_is_encoded_by_its_specification(self, session):
        table = small_table()
        session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
        encoded = session.attribute("disease")
        assert encoded.attribute.domain.values == ("a", "b")
        assert encoded.attribute.counts.tolist() == [2, 1]
        assert session.attribute("disease") is encoded

    def test_another_specification_is_encoded_anew(self, session):
        table = small_table()
        session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
        wider = replace(session.document.column("disease"), domain=Domain(("a", "b", "c")))
        session.edit("Widen", session.document.with_column(wider))
        assert session.attribute("disease").attribute.counts.tolist() == [2, 1, 0]

    def test_why_a_column_does_not_fit_is_kept(self, session):
        table = small_table()
        session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
        narrower = replace(session.document.column("disease"), domain=Domain(("a",)))
        session.edit("Narrow", session.document.with_column(narrower))
        assert session.attribute("disease") is None
        assert "outside its domain" in session.attribute_error("disease").what

    def test_what_is_not_in_the_table_is_not_known(self, session):
        assert session.attribute("disease") is None
        session.open_table("Open", SurveyedTable.of(in_batches(small_table())), Document())
        assert session.attribute("disease") is None
        assert session.attribute("weight") is None

    def test_large_tables_are_encoded_in_a_job(self, session, qtbot, monkeypatch):
        monkeypatch.setattr(attribute_cache, "ROWS_AT_ONCE", 2)
        table = small_table()
        session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
        with qtbot.waitSignal(session.attribute_changed) as heard:
            assert session.attribute("disease") is None
        assert heard.args == ["disease"]
        assert session.attribute("disease").attribute.counts.tolist() == [2, 1]

    def test_a_result_for_an_older_specification_is_dropped(self, session, qtbot, monkeypatch):
        monkeypatch.setattr(attribute_cache, "ROWS_AT_ONCE", 2)
        table = small_table()
        session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
        session.attribute("disease")
        wider = replace(session.document.column("disease"), domain=Domain(("b", "a", "c")))
        session.edit("Widen", session.document.with_column(wider))
        with qtbot.waitSignal(session.attribute_changed):
            session.attribute("disease")
        qtbot.waitUntil(lambda: not session.runner.jobs)
        assert session.attribute("disease").attribute.domain.values == ("b", "a", "c")

    def test_profiles_become_known_in_a_job(self, session, qtbot):
        table = small_table()
        with qtbot.waitSignal(session.profiles_changed):
            session.open_table("Open", SurveyedTable.of(in_batches(table)), document_of(table))
            assert session.insight() is None
        assert [profile.name for profile in session.insight().profiles] == ["disease", "age"]

    def test_the_cache_shares_the_tables_numbers(self, session):
        frame = pd.DataFrame({"age": np.arange(4.0)})
        session.open_table(
            "Open",
            SurveyedTable.of(in_batches(Table(frame))),
            Document(columns=(ColumnSpec("age"),)),
        )
        assert session.attribute("age").attribute.domain.size == 4


class TestRecentProjects:
    def test_the_last_one_stands_first_and_none_twice(self, tmp_path):
        recent = RecentProjects(MemoryStore())
        paths = [tmp_path / f"{name}.sfumato" for name in "abc"]
        for path in paths:
            path.touch()
            recent.add(path)
        recent.add(paths[0])
        assert recent.paths == (paths[0], paths[2], paths[1])

    def test_what_is_gone_is_not_listed(self, tmp_path):
        recent = RecentProjects(MemoryStore())
        recent.add(tmp_path / "gone.sfumato")
        assert recent.paths == ()

    def test_a_list_of_one_survives_settings_that_store_it_as_text(self, tmp_path):
        path = tmp_path / "only.sfumato"
        path.touch()
        store = MemoryStore()
        store.setValue("recent/projects", str(path))
        assert RecentProjects(store).paths == (path,)

    def test_only_so_many_are_kept(self, tmp_path):
        recent = RecentProjects(MemoryStore())
        for number in range(20):
            path = tmp_path / f"{number}.sfumato"
            path.touch()
            recent.add(path)
        assert len(recent.paths) == 8
        recent.clear()
        assert recent.paths == ()

    def test_an_opened_project_is_remembered(self, session, create):
        project = create()
        session.set_project(project)
        assert session.recent.paths == (project.path,)
