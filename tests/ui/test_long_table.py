"""A table too long for memory in the window: opened, marked, previewed, released and verified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from sfumato.analysis.coarsening.views import find_views, views_in
from sfumato.analysis.utility.unit_price import price_of_unit
from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import hierarchy_of
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.formats.options import ReadOptions
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.release.units import unit_of_columns
from sfumato.project.source import read_source
from sfumato.project.verification.found import verify_file
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.hierarchy.keeping import HierarchyFilesDialog
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.audit.pages.group_risk import GroupRiskPage
from sfumato.ui.panels.audit.pages.leak import LeakPage
from sfumato.ui.panels.audit.pages.person import PersonPage
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.policy.views_card import COUNT_JOB, SMALLEST, SUPPRESSED, UNIQUE
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.settings import MemoryLimit
from tests.in_batches import in_batches
from tests.ui.clinic import DISEASES, clinic_table
from tests.ui.data_steps import load, shown
from tests.ui.hands import choose, click, dialog_of, explain_first, messages, settle, type_into

ROWS = 3000
AGES = pd.Series(range(20, 80), name="age")
PROBABILITY = {"Clinic A": 0.6, "Public": 0.2}


both = pytest.mark.parametrize("path", ["csv", "parquet"], indirect=True)


@pytest.fixture
def path(request, tmp_path):
    """The clinic's table, in a format that can be read in parts."""
    suffix = getattr(request, "param", "parquet")
    path, frame = tmp_path / f"clinic.{suffix}", clinic_table(ROWS).frame
    if suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=700)
    return path


def panel_of(window, qtbot, name):
    window.show_panel(name)
    settle(qtbot, window.session)
    return window.panels[name]


@pytest.fixture
def opened(window, qtbot, path):
    """The window with the table open, which may take no memory to speak of."""
    window.session.store.setValue(MemoryLimit.KEY, 0.001)
    load(panel_of(window, qtbot, "data"), qtbot, path)
    return window


@pytest.fixture
def marked(opened, qtbot):
    """The table with a record key, a sensitive column, its protection and two recipients."""
    session = opened.session
    panel = panel_of(opened, qtbot, "attributes")
    panel.choose("disease")
    choose(panel.detail.role, Role.SENSITIVE)
    settle(qtbot, session)
    choose(panel.record_key.field, "name")
    settle(qtbot, session)
    recipients = tuple(
        Recipient(name, {"disease": {"retention_probability": level}})
        for name, level in PROBABILITY.items()
    )
    policy = (PolicyEntry(("disease",), "uniform"),)
    session.edit("Protect", replace(session.document, policy=policy, recipients=recipients))
    settle(qtbot, session)
    return opened


@pytest.fixture
def saved(marked, qtbot, tmp_path):
    """The same in a project."""
    session = marked.session
    project = ProjectFile.create(tmp_path / "clinic.sfumato", "correct horse", session.document)
    session.set_project(project, keep_state=True)
    settle(qtbot, session)
    return marked


class TestOpening:
    def test_a_long_table_is_read_in_parts_and_that_is_said(self, opened):
        session, page = opened.session, opened.panels["data"].loaded
        assert session.table is None
        assert session.source.rows == ROWS
        assert page.parts.isVisible()
        assert "read in parts" in page.in_parts.text()
        assert f"{ROWS:,} records" in page.about.text()
        assert [profile.distinct for profile in session.insight().profiles] == [ROWS, 60, 4, 2]

    @pytest.mark.slow
    @both
    def test_rows_are_read_where_they_are_looked_for(self, opened, qtbot):
        page = opened.panels["data"].loaded
        page.place.spin.setValue(2500)
        settle(qtbot, opened.session)
        assert "patient 2499" in [row[0] for row in shown(page.table)]
        assert f"of {ROWS:,}" in page.rows.text()

    @pytest.mark.slow
    def test_all_of_it_can_be_read_after_all(self, opened, qtbot):
        click(opened.panels["data"].loaded.whole)
        settle(qtbot, opened.session)
        assert opened.session.table.rows == ROWS
        assert opened.session.source.fits
        assert not opened.panels["data"].loaded.parts.isVisible()


class TestMarking:
    @pytest.mark.slow
    def test_domains_are_those_of_all_rows(self, marked):
        spec = marked.session.document.column("disease")
        assert set(spec.domain.values) == {"asthma", "cancer", "flu", "none"}
        assert int(marked.session.attribute("disease").attribute.counts.sum()) == ROWS

    @pytest.mark.slow
    def test_a_column_that_repeats_is_no_record_key(self, opened, qtbot):
        panel = panel_of(opened, qtbot, "attributes")
        panel.record_key.field.chosen.emit("age")
        settle(qtbot, opened.session)
        assert opened.session.document.record_key is None
        assert "age" in messages(panel.messages)[0]

    @pytest.mark.slow
    def test_a_column_without_repeats_names_no_unit(self, marked, qtbot):
        panel = panel_of(marked, qtbot, "attributes")
        choose(panel.unit.field, "name")
        settle(qtbot, marked.session)
        assert marked.session.document.unit is None
        assert "No two rows share “name”" in messages(panel.messages)[0]


@pytest.mark.slow
def test_the_guarantee_says_what_it_leaves_out(marked, qtbot):
    explain_first(qtbot, marked.guarantee)
    qtbot.waitUntil(lambda: "read in parts" in marked.guarantee.text())
    assert "odds" in marked.guarantee.text()


@pytest.mark.slow
def test_the_preview_shows_rows_by_their_numbers_in_the_table(marked, qtbot):
    panel = panel_of(marked, qtbot, "preview")
    assert panel.pages.currentWidget() is panel.work
    assert f"{ROWS:,} rows" in panel.part.text()
    assert panel.sample.model.rowCount() == 200


@pytest.mark.few(1)
@both
def test_a_release_is_made_in_parts_and_verified(saved, qtbot, tmp_path):
    panel = panel_of(saved, qtbot, "releases")
    assert not panel.empty.isVisible()
    panel.readiness.reason.setText("a test")
    click(panel.primary)
    settle(qtbot, saved.session)
    bundles = sorted((tmp_path / "releases").iterdir())
    assert len(bundles) == len(PROBABILITY)
    panel.verify(bundles[0])
    settle(qtbot, saved.session)
    assert "is as it was released" in panel.ledger.report.verdict.text()


@pytest.mark.slow
def test_a_release_rests_on_what_the_check_before_it_found(saved, qtbot, monkeypatch):
    panel, read, told = panel_of(saved, qtbot, "releases"), BatchedTable.read, []

    def telling(table, names, text, context):
        told.append(str(text))
        return read(table, names, text, context)

    monkeypatch.setattr(BatchedTable, "read", telling)
    panel.readiness.reason.setText("a test")
    click(panel.primary)
    settle(qtbot, saved.session)
    assert told == ["Releasing the rows"] * len(PROBABILITY)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_what_is_measured_of_numbers_says_from_which_rows(opened, qtbot, mechanism):
    panel, session = panel_of(opened, qtbot, "attributes"), opened.session
    panel.choose("age")
    choose(panel.detail.role, Role.SENSITIVE)
    settle(qtbot, session)
    attribute = session.attribute("age").attribute
    settings = mechanism_called(mechanism).first_settings((attribute,), session.noise)
    policy = (PolicyEntry(("age",), mechanism, settings),)
    session.edit("Protect", replace(session.document, policy=policy))
    shown = panel_of(opened, qtbot, "policy").findChildren(QLabel)
    told = [each.text() for each in shown if each.isVisibleTo(opened)]
    assert any(f"comes from {ROWS:,} rows, drawn evenly" in each for each in told)


@pytest.mark.slow
def test_a_found_file_is_traced_in_parts(saved, qtbot, tmp_path):
    session, project = saved.session, saved.session.project
    made = make_release(
        project, in_batches(session.source), "Public", tmp_path / "out", "csv", Silent()
    )
    lines = (made.path / "data.csv").read_bytes().splitlines(keepends=True)
    found = tmp_path / "found.csv"
    found.write_bytes(b"".join([lines[0], *lines[900:100:-1]]))
    session.ledger_changed.emit()
    page = panel_of(saved, qtbot, "audit").show_page(LeakPage)
    settle(qtbot, session)
    assert page.work.isVisible()
    page.trace(found)
    settle(qtbot, session)
    assert "Public" in page.finding.verdict.text()


@pytest.mark.slow
@both
def test_records_are_released_by_groups_in_parts(saved, qtbot, tmp_path, path):
    session = saved.session
    settings = {"epsilon": 0.3, "delta": 0.17, "public": ["ward"]}
    policy = (PolicyEntry(("disease",), "reconstruction", settings),)
    recipients = [
        replace(each, statements={"disease": {"retention_probability": PROBABILITY[each.name] / 2}})
        for each in session.document.recipients
    ]
    document = replace(session.document, policy=policy, recipients=tuple(recipients))
    session.edit("Protect", document)
    settle(qtbot, session)
    assert session.attribute_error("disease") is None
    labels = panel_of(saved, qtbot, "policy").findChildren(QLabel)
    settle(qtbot, session)
    told = " ".join(each.text() for each in labels if each.isVisibleTo(saved))
    assert f"2 of 2 groups, with {ROWS:,} of {ROWS:,} records" in told

    preview = panel_of(saved, qtbot, "preview")
    assert preview.pages.currentWidget() is preview.work
    assert "some rows of a table that is read in parts" in preview.utility.note.text()

    panel = panel_of(saved, qtbot, "releases")
    panel.readiness.reason.setText("a test")
    click(panel.primary)
    settle(qtbot, session)
    bundles = sorted((tmp_path / "releases").iterdir())
    assert len(bundles) == len(PROBABILITY)
    panel.verify(bundles[1])
    settle(qtbot, session)
    assert "is as it was released" in panel.ledger.report.verdict.text()
    whole, _ = read_source(path, ReadOptions.from_dict(session.document.source.options), Silent())
    report = verify_file(session.project, in_batches(whole), bundles[1], Silent())
    assert report.holds, report.failed

    # What the preview showed is what has left.
    plain = replace(session.document, rows_as_in_table="The order is public.")
    session.project.save_document(plain)
    made = make_release(
        session.project, in_batches(whole), "Public", tmp_path / "out", "csv", Silent()
    )
    released = pd.read_csv(made.path / "data.csv", keep_default_na=False)["disease"]
    sample = preview._preview.sample
    [public] = [each for each in sample.seen if each.recipient == "Public"]
    assert [released[row - 1] for row in sample.rows] == list(public.values)


@pytest.mark.slow
def test_the_shares_of_groups_are_measured_in_all_rows_when_protection_begins(marked, qtbot):
    session = marked.session
    panel = panel_of(marked, qtbot, "policy")
    panel.choose("disease")
    panel.page.mechanism_chosen.emit("reconstruction")
    settle(qtbot, session)
    [entry] = session.document.policy
    assert entry.mechanism == "reconstruction"
    attribute = session.attribute("disease").attribute
    assert attribute.groups.records == ROWS
    assert not mechanism_called("reconstruction").outdated((attribute,), entry.settings)


def seen(card, row):
    return [card.model.index(row, 1 + place).data() for place in range(len(PROBABILITY))]


@pytest.mark.slow
def test_views_are_found_and_counted_in_all_rows(saved, qtbot, path):
    session = saved.session
    roles = {"age": Role.QUASI_IDENTIFIER, "ward": Role.QUASI_IDENTIFIER}
    document = session.document
    for name, role in roles.items():
        document = document.with_column(replace(document.column(name), role=role))
    session.edit("Mark", document)
    card = panel_of(saved, qtbot, "policy").views
    click(card.propose)
    settle(qtbot, session)
    assert set(session.document.hierarchies) >= set(roles)
    click(card.state_k)
    settle(qtbot, session)
    assert seen(card, UNIQUE) == ["…", "…"], "all rows are read once somebody asks"
    assert card.picture.isHidden()
    click(card.count_rows)
    settle(qtbot, session)
    assert "–" not in seen(card, UNIQUE)
    assert not card.count_rows.isVisible()
    click(card.find_levels)
    settle(qtbot, session)
    table = Table(pd.read_parquet(path))
    whole = find_views(session.document, in_batches(table), Silent())
    assert session.document.recipients == whole.recipients
    found = views_in(whole, in_batches(table), Silent())
    assert seen(card, UNIQUE) == [str(each.unique) for each in found]
    counted = [each.view for each in found]
    assert seen(card, SMALLEST) == [str(each.smallest) for each in counted]
    assert seen(card, SUPPRESSED) == [str(each.suppressed_rows) for each in counted]
    assert card.problem.text() == ""
    assert card.picture.isVisible()
    card.picture.choose("Public")
    settle(qtbot, session)
    assert f"Smallest class {counted[-1].smallest}" in card.picture.told.text()


@pytest.mark.slow
def test_a_count_of_a_long_table_that_is_stopped_can_be_asked_for_again(saved, qtbot):
    session = saved.session
    age = replace(session.document.column("age"), role=Role.QUASI_IDENTIFIER)
    session.edit("Mark", session.document.with_column(age))
    card = panel_of(saved, qtbot, "policy").views
    click(card.propose)
    settle(qtbot, session)
    click(card.count_rows)
    session.runner.cancel(COUNT_JOB)
    settle(qtbot, session)
    assert seen(card, UNIQUE) == ["…", "…"]
    click(card.count_rows)
    settle(qtbot, session)
    assert seen(card, UNIQUE) == ["0", "0"]


@pytest.mark.slow
def test_the_audit_answers_about_all_rows(saved, qtbot):
    panel = panel_of(saved, qtbot, "audit")
    answers = [card.answer.text() for card in panel.overview.cards.values()]
    assert all(answers)
    assert "most trusted" not in answers
    alike = panel.show_page(GroupRiskPage)
    settle(qtbot, saved.session)
    assert alike.work.isVisible()
    assert (
        "Clinic A can estimate the share of at least one value of disease" in alike.sentence.text()
    )
    weighed = panel.show_page(CoalitionPage)
    settle(qtbot, saved.session)
    assert weighed.work.isVisible()
    assert weighed.sentence.text()


def know_age(qtbot, page, text):
    field = page.fields["age"]
    qtbot.waitUntil(field.isVisible)
    type_into(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


@pytest.mark.slow
def test_a_person_is_looked_for_once_something_is_known(saved, qtbot, path):
    page = panel_of(saved, qtbot, "audit").show_page(PersonPage)
    settle(qtbot, saved.session)
    assert page.work.isVisible()
    assert "Say what is known of the person" in page.sentence.text()
    know_age(qtbot, page, "40 to 41")
    settle(qtbot, saved.session)
    rows = np.flatnonzero(pd.read_parquet(path)["age"].between(40, 41)) + 1
    assert f"{len(rows)} of {ROWS:,} records fit" in page.sentence.text().replace("\u202f", " ")
    model = page.fitting.tables[0].model()
    shown_rows = [model.index(at, 0).data() for at in range(model.rowCount())]
    assert [int(row.replace(",", "")) for row in shown_rows] == rows.tolist()[: len(shown_rows)]
    assert {model.index(at, 2).data() for at in range(model.rowCount())} == {"40", "41"}
    assert len(page.beliefs.plots) == 1


@pytest.mark.slow
def test_looking_for_a_person_that_is_stopped_can_be_asked_for_again(saved, qtbot):
    page = panel_of(saved, qtbot, "audit").show_page(PersonPage)
    settle(qtbot, saved.session)
    know_age(qtbot, page, "40")
    saved.session.runner.cancel(PersonPage.job)
    settle(qtbot, saved.session)
    assert "was stopped" in page.sentence.text()
    hold = page.holders.item(1)
    hold.setCheckState(Qt.CheckState.Checked)
    settle(qtbot, saved.session)
    assert "records fit" in page.sentence.text()


@pytest.mark.slow
def test_the_report_tells_of_all_rows(saved, qtbot):
    page = panel_of(saved, qtbot, "audit").show_page(ReportPage)
    settle(qtbot, saved.session)
    qtbot.waitUntil(page.html.isEnabled)
    told = page.view.toPlainText()
    assert f"{ROWS:,} records" in told
    assert "Groups estimated closely" in told


@pytest.mark.slow
def test_a_project_is_opened_in_parts_again(saved, qtbot, tmp_path):
    session = saved.session
    session.set_project(None)
    project = ProjectFile.open(tmp_path / "clinic.sfumato", "correct horse")
    session.set_project(project)
    saved.projects.sources.read()
    settle(qtbot, session)
    assert isinstance(session.surveyed, SurveyedTable)
    assert session.document.record_key == "name"


@pytest.mark.slow
def test_rules_are_applied_to_a_long_table(marked, qtbot, tmp_path):
    path = tmp_path / "clinic.rules.toml"
    path.write_text('format = 1\nother_columns = "insensitive"\n', encoding="utf-8")
    marked.rules.apply(path)
    settle(qtbot, marked.session)
    assert marked.session.document.sensitive == ()


@pytest.fixture
def grouped(window, qtbot, tmp_path):
    """A long table of wards' persons, up to three rows each, with a disease that is each one's."""
    frame = clinic_table(ROWS).frame
    person = (np.arange(ROWS) * 7919 % ROWS) % (ROWS // 2)
    frame["person"] = [f"P{one:05}" for one in person]
    frame["disease"] = frame["disease"].astype(str).to_numpy()[person]
    frame["visit"] = np.where(np.arange(ROWS) % 5 == 0, "planned", "urgent")
    frame.loc[5, "person"] = frame.loc[4, "person"]
    frame.loc[5, "disease"] = frame.loc[4, "disease"]
    path = tmp_path / "visits.parquet"
    frame.to_parquet(path, row_group_size=700)
    window.session.store.setValue(MemoryLimit.KEY, 0.001)
    load(panel_of(window, qtbot, "data"), qtbot, path)
    panel = panel_of(window, qtbot, "attributes")
    for name in ("disease", "visit"):
        panel.choose(name)
        choose(panel.detail.role, Role.SENSITIVE)
        settle(qtbot, window.session)
    choose(panel.record_key.field, "name")
    settle(qtbot, window.session)
    return window, frame


def protected_by_person(window, qtbot, most_rows=1):
    session, panel = window.session, panel_of(window, qtbot, "attributes")
    choose(panel.unit.field, "person")
    settle(qtbot, session)
    panel.unit.most_rows.spin.setValue(most_rows)
    settle(qtbot, session)
    recipients = tuple(
        Recipient(
            name,
            {
                "disease": {"retention_probability": level},
                "visit": {"retention_probability": level},
            },
        )
        for name, level in PROBABILITY.items()
    )
    policy = (PolicyEntry(("disease",), "uniform"), PolicyEntry(("visit",), "uniform"))
    session.edit("Protect", replace(session.document, policy=policy, recipients=recipients))
    settle(qtbot, session)


class TestUnits:
    @pytest.mark.slow
    def test_what_is_the_same_in_all_rows_of_a_unit_is_found_in_all_rows(self, grouped, qtbot):
        window, frame = grouped
        panel = panel_of(window, qtbot, "attributes")
        choose(panel.unit.field, "person")
        settle(qtbot, window.session)
        document = window.session.document.with_unit(None)
        whole, _ = unit_of_columns(document, MemorySurvey(Table(frame)), ["person"], None, Silent())
        noise = window.session.noise
        price = price_of_unit(document, Table(frame), ["person"], noise, Silent())
        assert window.session.document.unit == replace(whole, most_rows=price.proposed)
        assert whole.constant == ("disease",)
        panel.unit.most_rows.spin.setValue(50)
        settle(qtbot, window.session)
        assert f"No “person” has more than {whole.most_rows}" in panel.unit.note.text()

    @pytest.mark.slow
    def test_units_are_counted_where_they_draw_once(self, grouped, qtbot):
        window, frame = grouped
        protected_by_person(window, qtbot)
        counts = window.session.attribute("disease").attribute.counts
        assert counts.sum() == frame["person"].nunique()
        assert window.session.attribute("visit").attribute.counts.sum() == ROWS

    @pytest.mark.slow
    def test_an_attribute_marked_later_is_drawn_once_too(self, grouped, qtbot):
        window, _ = grouped
        panel = panel_of(window, qtbot, "attributes")
        panel.choose("disease")
        choose(panel.detail.role, Role.INSENSITIVE)
        choose(panel.unit.field, "person")
        settle(qtbot, window.session)
        assert window.session.document.unit.constant == ()
        panel.choose("disease")
        choose(panel.detail.role, Role.SENSITIVE)
        settle(qtbot, window.session)
        assert window.session.document.unit.constant == ("disease",)

    @pytest.mark.slow
    def test_the_preview_shows_rows_that_leave_alone(self, grouped, qtbot):
        window, _ = grouped
        protected_by_person(window, qtbot)
        panel = panel_of(window, qtbot, "preview")
        settle(qtbot, window.session)
        assert panel.pages.currentWidget() is panel.work
        session = window.session
        left = leaving_rows(session.source, session.document, session.keys, Silent()).units
        places = [int(row[0].replace(",", "")) - 1 for row in shown(panel.sample.table)]
        assert left.leave(np.array(places)).all()
        assert left.rows < ROWS


class TestHierarchies:
    @pytest.fixture
    def section(self, opened, qtbot):
        panel = panel_of(opened, qtbot, "attributes")
        panel.choose("age")
        choose(panel.detail.role, Role.QUASI_IDENTIFIER)
        settle(qtbot, opened.session)
        return panel.detail.hierarchy

    @pytest.mark.slow
    def test_the_editor_knows_the_values_of_all_rows(self, opened, section, qtbot):
        click(section.edit)
        settle(qtbot, opened.session)
        dialog = dialog_of(opened, HierarchyDialog)
        click(dialog.keep)
        settle(qtbot, opened.session)
        recipe = opened.session.document.hierarchies["age"]
        assert hierarchy_of(recipe, opened.session.document.column("age"), AGES).height > 1
        assert section.levels.isVisible()

    @pytest.mark.slow
    def test_hierarchies_are_read_from_files(self, opened, section, qtbot, tmp_path):
        folder = tmp_path / "hierarchies"
        folder.mkdir()
        lines = [f"{age};{age // 10}0s;*" for age in AGES]
        (folder / "clinic_hierarchy_age.csv").write_text("\n".join(lines))
        (folder / "clinic_hierarchy_ward.csv").write_text("north;*\n")
        click(section.files)
        dialog = dialog_of(opened, HierarchyFilesDialog)
        opened.session.chooser.chosen_folder = folder
        click(dialog.add_folder)
        settle(qtbot, opened.session)
        assert dialog.states[0].text() == "3 levels"
        assert "that no row lists" in dialog.states[1].text()
        click(dialog.submit)
        assert set(opened.session.document.hierarchies) == {"age"}


def test_how_much_memory_a_table_may_take_is_chosen_in_the_menu(window, qtbot, path):
    session, actions = window.session, window.menus.actions
    assert actions["memory-0"].isChecked()
    usual = session.memory
    actions["memory-1000"].trigger()
    assert session.memory == 1e9
    session.take_all_memory()
    actions["memory-0"].trigger()
    assert session.memory == usual
    assert "opened from now on" in messages(window.current.messages)[0]


@pytest.mark.slow
def test_an_earlier_release_is_adopted_beside_all_rows(saved, qtbot, tmp_path, answers):
    session, rng = saved.session, np.random.default_rng(3)
    frame = clinic_table(ROWS).frame
    other = np.array(DISEASES)[rng.integers(0, len(DISEASES), ROWS)]
    frame["disease"] = np.where(rng.random(ROWS) < 0.5, frame["disease"].astype(str), other)
    answers.file = tmp_path / "earlier.csv"
    frame[["name", "disease"]].to_csv(answers.file, index=False)
    card = panel_of(saved, qtbot, "policy").page.adopted
    qtbot.waitUntil(lambda: session.attribute("disease") is not None)
    click(card.adopt)
    dialog = card.dialog
    click(dialog.form.choose)
    settle(qtbot, session)
    assert dialog.findings.texts[0].startswith("It becomes a rung")
    click(dialog.submit)
    settle(qtbot, session)
    [file] = adopted_files(session.document.policy[0].settings)
    assert file.rung
    assert file.level == pytest.approx(0.5, abs=0.05)
