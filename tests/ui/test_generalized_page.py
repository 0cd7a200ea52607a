"""The page about a generalized table, used as a person uses it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QToolButton

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies.recipes import Taxonomy
from sfumato.engine.table.table import Table
from sfumato.project.document.generalization import CriterionChoice
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.policy.generalized.explore_page import COMPARE, HEIGHTS, PICTURE
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.ui.clinic import clinic_document, open_clinic, save_clinic
from tests.ui.generalized_steps import (
    open_small,
    small_document,
    small_table,
    write_counts,
    write_other,
)
from tests.ui.hands import at, choose, click, messages, on_screen, settle, type_into

START = {"criteria": (CriterionChoice("k-anonymity", {"k": 10}),)}


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 700)
    click(made.ways.segments.button_for("generalized"))
    return made


def page_of(panel):
    return panel.ways.page


def searched(qtbot, panel, **decided):
    open_small(panel.session, **(decided or START))
    wait(qtbot, panel)
    return page_of(panel)


def wait(qtbot, panel):
    page = page_of(panel)
    qtbot.waitUntil(lambda: not page.finding.working)
    settle(qtbot, panel.session)


def test_without_hierarchies_the_page_says_what_is_missing(panel):
    open_small(panel.session, hierarchies=False)
    page = page_of(panel)
    assert page.empty.currentWidget() is page.nothing
    asked = []
    panel.session.panel_requested.connect(asked.append)
    click(page.nothing.findChild(type(page.start)))
    assert asked == ["attributes"]


def test_missing_hierarchies_are_proposed_where_they_are_missing(qtbot, panel):
    open_small(panel.session, hierarchies=False)
    page, document = page_of(panel), panel.session.document
    assert page.propose.isVisible()
    click(page.propose)
    settle(qtbot, panel.session)
    assert page.empty.currentWidget() is page.ready
    assert panel.session.document.hierarchies.keys() == {
        column.name for column in document.columns if column.role is Role.QUASI_IDENTIFIER
    }
    panel.session.undo()
    assert panel.session.document == document
    columns = [replace(column, role=Role.INSENSITIVE) for column in document.columns]
    panel.session.edit("Mark", replace(document, columns=tuple(columns)))
    assert not page.propose.isVisible()


def test_what_is_missing_stands_in_sight_however_long_the_other_way_is(qtbot, session):
    panel = on_screen(qtbot, PANEL(session), 750, 560)
    open_clinic(session, clinic_document())
    assert panel.unprotected.isVisible()  # all mechanisms, below one another
    click(panel.ways.segments.button_for("generalized"))
    QCoreApplication.processEvents()
    page = page_of(panel)
    wanted = page.nothing.findChild(QPushButton)
    where = wanted.mapTo(panel, wanted.rect().bottomLeft())
    assert panel.rect().contains(where)


@pytest.mark.slow
def test_a_project_about_a_generalized_table_opens_at_it(qtbot, panel, tmp_path):
    searched(qtbot, panel)
    click(panel.ways.segments.button_for("board"))
    assert panel.ways.perturbing
    save_clinic(panel.session, tmp_path)
    assert not panel.ways.perturbing


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_generalized_table_starts_with_one_click_and_is_searched(qtbot, panel):
    open_small(panel.session)
    page = page_of(panel)
    assert panel.session.document.generalization is None
    assert page.tabs.count() == 0, "what few look at is built once there is a generalized table"
    click(page.start)
    wait(qtbot, panel)
    assert "combinations of levels are safe" in page.sentence.text()
    assert page.state() is PanelState.DONE
    assert panel.state() is PanelState.DONE
    panel.session.undo()
    assert panel.session.document.generalization is None


@pytest.mark.slow
def test_showing_the_page_changes_nothing(qtbot, panel):
    page = searched(qtbot, panel, suppression=0.0123456, node=(1, 1), pinned=((1, 1), (2, 1)))
    for place in range(page.tabs.count()):
        page.tabs.setCurrentIndex(place)
        QCoreApplication.processEvents()
    settle(qtbot, panel.session)
    assert panel.session.undo_text == "Open"
    assert panel.session.document.generalization.suppression == 0.0123456


@pytest.mark.slow
def test_criteria_are_added_changed_and_removed(qtbot, panel):
    page = searched(qtbot, panel)
    click(page.requirements.add)
    assert [c.kind for c in panel.session.document.generalization.criteria] == [
        "k-anonymity",
        "distinct-diversity",
    ]
    line = page.requirements.criteria[0]
    type_into(line.fields["k"].spin, "17")
    line.fields["k"].spin.lineEdit().returnPressed.emit()
    line.fields["k"].spin.clearFocus()
    line.fields["k"].spin.interpretText()
    assert panel.session.document.generalization.criteria[0].numbers == {"k": 17}
    choose(page.requirements.criteria[1].kind, "closeness")
    assert panel.session.document.generalization.criteria[1].kind == "closeness"
    click(page.requirements.criteria[1].remove)
    wait(qtbot, panel)
    assert len(panel.session.document.generalization.criteria) == 1
    assert not page.requirements.criteria[0].remove.isEnabled()


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("field", ["criterion", "suppression"])
def test_a_number_half_typed_is_dropped_when_another_table_is_opened(qtbot, panel, field):
    page = searched(qtbot, panel)
    card = page.requirements
    spin = (card.criteria[0].fields["k"] if field == "criterion" else card.suppression).spin
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, "7")
    open_small(panel.session)
    wait(qtbot, panel)
    assert panel.session.document.generalization is None


@pytest.mark.slow
def test_columns_can_be_left_out_but_not_all_of_them(qtbot, panel):
    page = searched(qtbot, panel)
    qtbot.keyClick(page.requirements.boxes["sex"], Qt.Key.Key_Space)
    assert panel.session.document.generalization.quasi_identifiers == ("age",)
    assert "sex" in page.requirements.lacking.text()
    qtbot.keyClick(page.requirements.boxes["age"], Qt.Key.Key_Space)
    assert panel.session.document.generalization.quasi_identifiers == ("age",)
    assert page.requirements.boxes["age"].isChecked()


@pytest.mark.slow
def test_records_that_stand_out_may_be_left_out_or_starred(qtbot, panel):
    page = searched(qtbot, panel)
    page.requirements.suppression.spin.setValue(5)
    click(page.requirements.suppressed.button_for(Suppressed.STARRED))
    decided = panel.session.document.generalization
    assert decided.suppression == 0.05
    assert decided.suppressed is Suppressed.STARRED


@pytest.mark.slow
def test_where_nothing_is_safe_the_page_says_what_would_help(qtbot, panel):
    page = searched(qtbot, panel, criteria=(CriterionChoice("k-anonymity", {"k": 100}),))
    blunt = Taxonomy((("f", "female"), ("m", "male")))
    document = panel.session.document.with_hierarchy("sex", blunt)
    panel.session.edit("Change the hierarchy", document)
    wait(qtbot, panel)
    assert "None of the" in page.sentence.text()
    assert "one more level" in page.explanation.text()
    assert page.state() is PanelState.ATTENTION
    assert not page.tabs.isTabEnabled(1)


def test_a_criterion_that_can_not_be_met_is_explained(qtbot, panel):
    page = searched(qtbot, panel, criteria=(CriterionChoice("distinct-diversity", {"l": 9}),))
    assert "l is 9" in page.sentence.text()
    assert page.state() is PanelState.ATTENTION


@pytest.mark.slow
def test_the_list_is_filtered_by_safety_and_by_level(qtbot, panel):
    page = searched(qtbot, panel)
    page.tabs.setCurrentIndex(1)
    explore, table = page.explore, page.explore.table
    result = page.finding.searched.result
    assert table.model().rowCount() == result.safe_count
    click(explore.filters.which.button_for("all"))
    assert table.model().rowCount() == result.lattice.size
    choose(explore.filters.column, "age\u200b")
    explore.filters.value.spin.setValue(0)
    click(explore.filters.add)
    assert table.model().rowCount() == result.lattice.shape[1]
    explore.filters.conditions.clear()
    click(explore.filters.which.button_for("minimal"))
    assert table.model().rowCount() == len(result.minimal)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_node_of_the_picture_is_looked_at_pinned_compared_and_chosen(qtbot, panel):
    page = searched(qtbot, panel)
    page.tabs.setCurrentIndex(1)
    explore, result = page.explore, page.finding.searched.result
    click(explore.view.button_for(PICTURE))
    top = result.lattice.top
    point = at(explore.lattice, top)
    qtbot.mouseClick(explore.lattice.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert explore.node == top
    click(page.node_card.pin)
    assert panel.session.document.generalization.pinned == (top,)
    click(explore.view.button_for(COMPARE))
    settle(qtbot, panel.session)
    assert explore.compared.model().columnCount() == 3
    click(page.node_card.choose)
    settle(qtbot, panel.session)
    assert page.finding.node == top
    panel.session.undo()
    assert page.finding.node == page.finding.searched.best.node
    assert panel.session.document.generalization.pinned == (top,)


@pytest.mark.slow
def test_the_picture_is_walked_and_zoomed_by_keys(qtbot, panel):
    page = searched(qtbot, panel)
    page.tabs.setCurrentIndex(1)
    click(page.explore.view.button_for(PICTURE))
    lattice, before = page.explore.lattice, page.explore.node
    qtbot.keyClick(lattice, Qt.Key.Key_Up)
    assert sum(page.explore.node) == sum(before) + 1
    qtbot.keyClick(lattice, Qt.Key.Key_Down)
    assert sum(page.explore.node) == sum(before)
    scale = lattice.transform().m11()
    qtbot.keyClick(lattice, Qt.Key.Key_Plus)
    assert lattice.transform().m11() > scale
    qtbot.keyClick(lattice, Qt.Key.Key_0)
    assert lattice.transform().m11() <= 1.0


@pytest.mark.slow
def test_heights_are_drawn_and_measures_arrive(qtbot, panel):
    page = searched(qtbot, panel)
    page.tabs.setCurrentIndex(1)
    click(page.explore.measure)
    settle(qtbot, panel.session)
    assert len(page.finding.nodes) == page.finding.searched.result.lattice.size
    click(page.explore.view.button_for(HEIGHTS))
    assert "Safe combinations begin" in page.explore.plot.figure.headline


@pytest.mark.slow
def test_rows_before_and_after_stand_beside_each_other(qtbot, panel):
    page = searched(qtbot, panel)
    page.tabs.setCurrentIndex(2)
    settle(qtbot, panel.session)
    beside = page.beside
    before, after = beside.before.model(), beside.after.model()
    assert before.rowCount() == after.rowCount() == 120
    ward = list(before.frame.columns).index("ward")
    for row in (0, 50, 119):
        assert before.index(row, ward).data() == after.index(row, ward).data()
    click(beside.order.button_for(True))
    seen = [tuple(after.index(r, c).data() for c in (0, 1)) for r in range(120)]
    assert sum(a != b for a, b in itertools.pairwise(seen)) < len(set(seen))
    assert "chance" in beside.risk.figure.headline
    assert beside.statistics.model().rowCount() >= 5


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_table_is_published_into_a_bundle(qtbot, panel, answers, tmp_path):
    page = searched(qtbot, panel)
    save_clinic(panel.session, tmp_path)
    wait(qtbot, panel)
    page.tabs.setCurrentIndex(3)
    assert not page.publish.submit.isEnabled()
    assert page.publish.check.word.text().endswith("it holds")
    page.publish.folder.setText(str(tmp_path / "out"))
    click(page.publish.submit)
    settle(qtbot, panel.session)
    assert [m for m in messages(panel.messages) if "is in" in m], messages(panel.messages)
    assert len(list((tmp_path / "out").iterdir())) == 1


def keyed_table(rows=120):
    """The small table with a key, from which one person of each kind may have left."""
    frame = small_table().frame
    return Table(frame.assign(key=[f"p{at}" for at in range(len(frame))]).head(rows))


def second_edition(qtbot, panel, tmp_path):
    """The page when the small table was published, and some people are gone since then."""
    criteria = (CriterionChoice("distinct-diversity", {"l": 2}),)
    document = small_document(criteria=criteria, node=(1, 1))
    columns = (*document.columns, ColumnSpec("key", Role.IDENTIFYING))
    document = replace(document, columns=columns, record_key="key")
    panel.session.open_table("Open", SurveyedTable.of(in_batches(keyed_table())), document)
    save_clinic(panel.session, tmp_path)
    wait(qtbot, panel)
    page, out = page_of(panel), tmp_path / "out"
    page.tabs.setCurrentIndex(3)
    page.publish.folder.setText(str(out))
    click(page.publish.submit)
    settle(qtbot, panel.session)
    [earlier] = out.iterdir()
    assert page.publish.compare.isHidden()
    assert page.publish.follow.isHidden()
    document = panel.session.document
    source = replace(document.source, digest="1" * 64, rows=112)
    panel.session.attach_table(
        SurveyedTable.of(in_batches(keyed_table(112))), replace(document, source=source)
    )
    wait(qtbot, panel)
    click(page.publish.submit)
    settle(qtbot, panel.session)
    assert not page.publish.compare.isHidden(), messages(panel.messages)
    assert not page.publish.submit.isEnabled()
    return page, out, earlier


@pytest.mark.slow
def test_a_second_edition_is_published_with_counterfeits(qtbot, panel, answers, tmp_path):
    page, out, earlier = second_edition(qtbot, panel, tmp_path)
    click(page.publish.follow)
    settle(qtbot, panel.session)
    [made] = {*out.iterdir()} - {earlier}
    readme = " ".join((made / "README.md").read_text(encoding="utf-8").split())
    assert "8 of the 120 records are counterfeits that belong to nobody" in readme
    before, after = ((each / "data.csv").read_text("utf-8") for each in (earlier, made))
    assert sorted(before.splitlines()) == sorted(after.splitlines())
    assert page.publish.conflict.isHidden()


@pytest.mark.slow
def test_a_second_edition_follows_once_it_is_compared_with_the_first(
    qtbot, panel, answers, tmp_path
):
    page, out, earlier = second_edition(qtbot, panel, tmp_path)
    panel.session.chooser.chosen_folder = earlier
    click(page.publish.compare)
    assert earlier.name in page.publish.compare.text()
    click(page.publish.submit)
    settle(qtbot, panel.session)
    assert len(list(out.iterdir())) == 2, messages(panel.messages)
    assert page.publish.compare.isHidden()


def add_other(qtbot, panel, path):
    page = page_of(panel)
    panel.session.chooser.file = path
    dialog = page.others.open_dialog()
    click(dialog.choose)
    settle(qtbot, panel.session)
    return dialog


@pytest.mark.slow
def test_another_holders_table_is_added_and_counted(qtbot, panel, tmp_path):
    distinct = (CriterionChoice("distinct-diversity", {"l": 2}),)
    page = searched(qtbot, panel, criteria=distinct)
    dialog = add_other(qtbot, panel, write_other(tmp_path, weak=True))
    assert dialog.sensitive.value == "ward"
    click(dialog.submit)
    wait(qtbot, panel)
    assert [o.holder for o in panel.session.document.generalization.others] == ["registry"]
    [criterion] = page.finding.found.prepared.criteria
    assert criterion.title.startswith("non-centralized")
    assert "registry" in page.others.rows
    shown = page.others.show_classes("registry")
    assert shown.isVisible()
    click(page.others.rows["registry"].findChild(QToolButton))
    assert panel.session.document.generalization.others == ()


@pytest.mark.slow
def test_public_counts_are_heeded_and_left_out_again(qtbot, panel, tmp_path):
    distinct = (CriterionChoice("distinct-diversity", {"l": 2}),)
    page = searched(qtbot, panel, criteria=distinct)
    assert not page.others.counts.isEnabled()
    click(add_other(qtbot, panel, write_other(tmp_path, weak=True)).submit)
    wait(qtbot, panel)
    panel.session.chooser.file = write_counts(tmp_path)
    click(page.others.counts)
    settle(qtbot, panel.session)
    wait(qtbot, panel)
    [counts] = panel.session.document.generalization.public_counts
    assert [place for _, *place in counts.columns] == [["", "age"], ["registry", "group"]]
    [criterion] = page.finding.found.prepared.criteria
    assert criterion.known == ("census",)
    assert list(page.others.counts_rows) == ["census"]
    click(page.others.counts_rows["census"].findChild(QToolButton))
    assert panel.session.document.generalization.public_counts == ()
    panel.session.chooser.file = write_other(tmp_path)
    click(page.others.counts)
    settle(qtbot, panel.session)
    assert "registry have no column people" in page.others.problem.text()


@pytest.mark.slow
def test_a_bundle_is_added_with_what_it_states_of_itself(qtbot, panel, tmp_path):
    searched(qtbot, panel)
    package = tmp_path / "registry bundle"
    package.mkdir()
    write_other(package)
    facts = {"sensitive": "ward", "levels": {"sex": {"level": 0, "highest": 1}}}
    described = {
        "resources": [{"name": "data", "path": "registry.csv", "format": "csv"}],
        "sfumato": {"generalized": facts},
    }
    (package / "datapackage.json").write_text(json.dumps(described), encoding="utf-8")
    dialog = page_of(panel).others.open_dialog()
    panel.session.chooser.chosen_folder = package
    click(dialog.package)
    settle(qtbot, panel.session)
    click(dialog.submit)
    [other] = panel.session.document.generalization.others
    assert (other.holder, other.quasi_identifiers) == ("registry bundle", ("sex",))
    assert other.path == str(package / "registry.csv")


@pytest.mark.slow
def test_values_that_are_spelled_differently_are_mapped(qtbot, panel, tmp_path):
    searched(qtbot, panel)
    dialog = add_other(qtbot, panel, write_other(tmp_path, spelled=True))
    assert not dialog.submit.isEnabled()
    assert set(map(str, dialog.meanings.fields)) == {"HEART", "LUNGS", "BONES", "dermatology"}
    assert dialog.meanings.fields["HEART"].value == 0
    choose(dialog.meanings.fields["dermatology"], 2)
    settle(qtbot, panel.session)
    assert dialog.submit.isEnabled()
    click(dialog.submit)
    [other] = panel.session.document.generalization.others
    assert dict(other.spelling)["dermatology"] == "skin"


@pytest.mark.slow
def test_tables_that_are_too_weak_already_name_the_cause(qtbot, panel, tmp_path):
    page = searched(qtbot, panel, criteria=(CriterionChoice("distinct-diversity", {"l": 3}),))
    click(add_other(qtbot, panel, write_other(tmp_path, weak=True)).submit)
    wait(qtbot, panel)
    assert "already" in page.sentence.text()
    assert "registry" in page.explanation.text()


@pytest.mark.slow
def test_the_largest_belief_beside_another_table_is_asked_and_promised(qtbot, panel, tmp_path):
    page = searched(qtbot, panel)
    click(add_other(qtbot, panel, write_other(tmp_path)).submit)
    wait(qtbot, panel)
    [line] = page.requirements.criteria
    choose(line.kind, "belief")
    wait(qtbot, panel)
    [line] = page.requirements.criteria
    line.fields["x"].spin.setValue(30)
    wait(qtbot, panel)
    [criterion] = page.finding.found.prepared.criteria
    assert criterion.promise.startswith("Nobody's value becomes likelier than 30 %")
    assert criterion.shared == (("registry", "sex", "sex"),)
    assert "combinations of levels are safe" in page.sentence.text()
    words = " ".join(each.text() for each in page.others.rows["registry"].findChildren(QLabel))
    assert "aligned with yours: “sex”" in words
    assert not page.others.unaligned.isVisible()


def test_the_guarantee_card_says_what_is_asked(qtbot, session):
    card = GuaranteeCard(session)
    qtbot.addWidget(card)
    open_small(session, criteria=(CriterionChoice("k-anonymity", {"k": 10}),))
    card.refresh()
    assert "at least 9 others" in card.text()
    assert "Nothing is promised" not in card.text()
