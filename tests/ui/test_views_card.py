"""The card of quasi-identifiers in the Policy panel, through what a person types and clicks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from sfumato.analysis.coarsening.views import with_levels, with_proposed_hierarchies, with_statement
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.generalization.hierarchies import Taxonomy
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit, ViewRule
from sfumato.ui.panels.policy import PANEL, views_picture
from sfumato.ui.panels.policy.views_card import LEVELS, SHARE, SMALLEST, SUPPRESSED, UNIQUE, K
from sfumato.ui.panels.policy.views_picture import node_of
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.tables import HEADING_MARGINS
from tests.cli.test_view_combinations import QUASI, survey
from tests.household import household_survey
from tests.in_batches import in_batches
from tests.proposed import proposed_columns
from tests.ui.clinic import LEVELS as LEVELS_OF
from tests.ui.clinic import open_clinic, protected, wait_for_jobs
from tests.ui.hands import at, on_screen

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    panel = on_screen(qtbot, PANEL(session), 1100, 1400)
    open_clinic(session, protected())
    wait_for_jobs(qtbot, session)
    return panel


@pytest.fixture
def card(panel):
    return panel.views


def shown(card):
    """Return what stands in each recipient's column."""
    model = card.model
    return [
        [model.index(row, column).data() for row in range(model.rowCount())]
        for column in range(1, model.columnCount())
    ]


def test_long_names_of_recipients_are_shown_whole_in_a_narrow_window(qtbot, session, panel):
    card, header = panel.views, panel.views.table.horizontalHeader()
    long = "University Medical Centre Registry of rare diseases"
    first, *others = session.document.recipients
    everyone = (replace(first, name=long), *others)
    session.edit("Rename", replace(session.document, recipients=everyone))
    wait_for_jobs(qtbot, session)
    high = []
    for width in (1100, 700):
        panel.resize(width, 1400)
        QApplication.processEvents()
        room = header.sectionSize(1) - HEADING_MARGINS
        wrap = Qt.TextFlag.TextWordWrap
        needed = header.fontMetrics().boundingRect(0, 0, room, 999, wrap, long).height()
        assert header.height() >= needed
        last = card.table.rowViewportPosition(card.model.rowCount() - 1)
        assert last < card.table.viewport().height()
        high.append(header.height())
    assert high[1] > high[0]


def type_in(qtbot, card, recipient, row, text):
    card.table.show_cell(row, recipient + 1)
    index = card.model.index(row, recipient + 1)
    card.table.edit(index)
    editor = card.table.findChild(QLineEdit)
    editor.selectAll()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Qt.Key.Key_Return)
    QApplication.processEvents()  # Qt writes what was typed a moment later
    wait_for_jobs(qtbot, card.session)


def views(card):
    return [each.view for each in card.session.document.recipients]


@pytest.mark.slow
def test_levels_are_proposed_found_and_counted(qtbot, card):
    quasi = card.model.names
    assert quasi
    assert not card.find_levels.isEnabled()
    assert [line.name for line in card.model.lines] == [
        each.name for each in card.session.document.recipients
    ]
    last = len(shown(card)) - 1
    type_in(qtbot, card, last, K, "4")
    assert views(card)[last] == ViewRule(4)
    assert "no hierarchy" in card.problem.text()
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    assert not card.propose.isVisible()
    assert set(card.session.document.hierarchies) >= set(quasi)
    type_in(qtbot, card, last, SHARE, "10 %")
    assert views(card)[last].suppression == 0.1
    qtbot.mouseClick(card.find_levels, LEFT)
    wait_for_jobs(qtbot, card.session)
    line = shown(card)[last]
    assert all(" of " in text for text in line[LEVELS:])
    smallest, unique = line[SMALLEST], line[UNIQUE]
    assert int(smallest) >= 4
    assert unique == "0"
    assert card.problem.text() == ""
    card.session.undo()
    assert views(card)[last] == ViewRule(4, 0.1)


@pytest.mark.slow
def test_single_cells_are_suppressed_by_an_importance_that_is_put_in_order(qtbot, card):
    session = card.session
    homes = [f"home {row * row % 7}" for row in range(len(session.table.frame))]
    columns = (*session.document.columns, ColumnSpec("home", Role.QUASI_IDENTIFIER))
    table = Table(session.table.frame.assign(home=homes))
    open_clinic(session, replace(session.document, columns=columns), table)
    wait_for_jobs(qtbot, session)
    assert not card.hides.isVisible()
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    type_in(qtbot, card, 0, K, "12")
    type_in(qtbot, card, 0, SHARE, "30 %")
    assert not card.importance.isVisible()
    qtbot.mouseClick(card.hides.button_for(True), LEFT)
    wait_for_jobs(qtbot, card.session)
    assert views(card)[0] == ViewRule(12, 0.3, cells=True)
    assert int(shown(card)[0][SMALLEST]) >= 12
    hidden = card.model.index(SUPPRESSED, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert "cells suppressed, in" in hidden
    names = card.model.names
    card.importance.list.setCurrentRow(1)
    qtbot.mouseClick(card.importance.up, LEFT)
    wait_for_jobs(qtbot, card.session)
    assert card.session.document.importance == (names[1], names[0])
    assert [card.importance.list.item(at).text() for at in (0, 1)] == [names[1], names[0]]
    card.session.undo()
    wait_for_jobs(qtbot, card.session)
    assert card.session.document.importance is None
    assert [card.importance.list.item(at).text() for at in (0, 1)] == [*names]
    qtbot.mouseClick(card.hides.button_for(False), LEFT)
    assert views(card)[0] == ViewRule(12, 0.3)


@pytest.mark.slow
def test_weights_that_single_people_out_are_counted_where_levels_are_chosen(qtbot, card):
    session = card.session
    frame = session.table.frame
    weighted = Table(frame.assign(weight=[10.0 + row for row in range(len(frame))]))
    columns = (*session.document.columns, ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC))
    open_clinic(session, replace(session.document, columns=columns), weighted)
    wait_for_jobs(qtbot, session)
    assert [line[UNIQUE] for line in shown(card)] == [str(len(frame))] * 3
    tip = card.model.index(UNIQUE, 1).data(Qt.ItemDataRole.ToolTipRole)
    assert "weight" in tip
    assert "Unique on the quasi-identifiers" in tip


@pytest.mark.slow
@pytest.mark.turns(1)
def test_without_a_k_today_s_unique_records_are_counted_and_one_is_proposed_by_trust(qtbot, card):
    counts = card.session.table.frame[["age", "ward"]].value_counts()
    assert [line[UNIQUE] for line in shown(card)] == [str((counts == 1).sum())] * 3
    assert [line[SMALLEST] for line in shown(card)] == [str(counts[counts > 0].min())] * 3
    assert views(card) == [None] * 3, "proposed is not stated"
    assert "Clinic A k = 5, Institute k = 5, Public k = 20" in card.proposed.text()
    type_in(qtbot, card, 1, K, "2")
    assert "Institute" not in card.proposed.text()
    qtbot.mouseClick(card.state_k, LEFT)
    wait_for_jobs(qtbot, card.session)
    assert [view.k for view in views(card)] == [2, 2, 20]
    assert not card.proposed.isVisible()
    card.session.undo()
    assert [view is None for view in views(card)] == [True, False, True]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_level_that_is_typed_moves_those_who_must_follow(qtbot, card):
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    type_in(qtbot, card, 0, K, "1")
    type_in(qtbot, card, 1, K, "2")
    type_in(qtbot, card, 0, LEVELS, "1")
    name = card.model.names[0]
    assert [view.levels.get(name) for view in views(card)[:2]] == [1, 1]
    assert card.session.document.recipients[1].name in card.followed.text()
    type_in(qtbot, card, 1, LEVELS, "0")
    assert [view.levels.get(name) for view in views(card)[:2]] == [0, 0]


@pytest.mark.slow
def test_a_file_that_would_not_keep_its_k_is_said_at_once(qtbot, card):
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    type_in(qtbot, card, 0, K, "8")
    assert "have to be suppressed" in card.problem.text()
    card.table.show_cell(K, 1)
    QTest.keyClick(card.table, Qt.Key.Key_Delete)
    wait_for_jobs(qtbot, card.session)
    assert views(card)[0] is None
    assert card.problem.text() == ""


@pytest.mark.slow
@pytest.mark.parametrize(("row", "text"), [(K, "many"), (K, "0"), (SHARE, "most"), (LEVELS, "-1")])
def test_what_is_no_k_share_or_level_changes_nothing(qtbot, card, row, text):
    before = card.session.document
    type_in(qtbot, card, 0, row, text)
    assert card.session.document is before
    assert card.problem.text()


@pytest.mark.slow
def test_hierarchies_are_proposed_for_a_whole_survey_at_once(qtbot, card):
    frame, session = survey(), card.session
    kinds = dict(zip(QUASI, (Kind.CATEGORICAL, Kind.NUMERIC, Kind.DATE, Kind.TEXT), strict=True))
    columns = [
        ColumnSpec(name, Role.QUASI_IDENTIFIER, kinds[name])
        if name in kinds
        else ColumnSpec(name, Role.IDENTIFYING)
        for name in frame.columns
    ]
    document = Document(
        columns=(*columns[:6], replace(columns[6], role=Role.SENSITIVE), *columns[7:]),
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(Recipient("Institute"), Recipient("Public")),
    )
    session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), document)
    wait_for_jobs(qtbot, session)
    type_in(qtbot, card, 1, K, "4")
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, session)
    assert set(session.document.hierarchies) == set(QUASI)
    qtbot.mouseClick(card.find_levels, LEFT)
    wait_for_jobs(qtbot, session)
    assert card.problem.text() == ""
    assert all(" of " in level for level in shown(card)[1][LEVELS:])
    before = session.document
    short = before.with_hierarchy("tenure", Taxonomy((("owner", "housed"),)))
    session.edit("Import", short)
    wait_for_jobs(qtbot, session)
    assert "“tenure” does not list 2 of its 3 values" in card.problem.text()
    session.undo()
    wait_for_jobs(qtbot, session)
    assert card.problem.text() == ""
    type_in(qtbot, card, 1, K, "401")
    assert "Public's k is 401, and the table has 400 records" in card.problem.text()


@pytest.mark.slow
def test_without_quasi_identifiers_or_recipients_there_is_no_card(card):
    session = card.session
    session.edit("Clear", replace(session.document, recipients=()))
    assert not card.isVisible()


@pytest.mark.slow
def test_with_a_unit_of_protection_the_card_counts_units(qtbot, card):
    table = card.session.table
    frame = table.frame.copy()
    frame["household"] = [f"h{row // 2}" for row in range(len(frame))]
    document = card.session.document
    spec = ColumnSpec("household", Role.IDENTIFYING)
    document = replace(document, columns=(*document.columns, spec))
    document = document.with_unit(Unit(("household",), 2))
    card.session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), document)
    wait_for_jobs(qtbot, card.session)
    last = len(shown(card)) - 1
    type_in(qtbot, card, last, K, "2")
    qtbot.mouseClick(card.propose, LEFT)
    wait_for_jobs(qtbot, card.session)
    qtbot.mouseClick(card.find_levels, LEFT)
    wait_for_jobs(qtbot, card.session)
    units = frame["household"].nunique()
    tip = card.model.index(SMALLEST, last + 1).data(Qt.ItemDataRole.ToolTipRole)
    assert f"of {units:,} units" in tip
    assert int(shown(card)[last][SMALLEST]) >= 2
    type_in(qtbot, card, last, K, str(units + 1))
    assert f"belong to {units} units" in card.problem.text()


# ----- the picture of the lattice


@pytest.fixture
def lattice(qtbot, card):
    """The lattice of age and ward, with all three recipients at its bottom."""
    session = card.session
    document = session.document
    ward = replace(document.column("ward"), role=Role.QUASI_IDENTIFIER)
    document, _ = with_proposed_hierarchies(document.with_column(ward), session.table)
    for name, k in zip(LEVELS_OF, (1, 2, 5), strict=True):
        document = with_statement(document, name, k, 0.1)
    session.edit("State", document)
    wait_for_jobs(qtbot, session)
    return card.picture.lattice


def nodes(card):
    return {name: node_of(card.session.document, name) for name in LEVELS_OF}


@pytest.mark.slow
def test_a_double_click_moves_a_recipient_and_those_who_must_follow(qtbot, card, lattice):
    card.picture.choose("Institute")
    wait_for_jobs(qtbot, card.session)
    qtbot.mouseDClick(lattice.viewport(), LEFT, pos=at(lattice, (2, 1)))
    wait_for_jobs(qtbot, card.session)
    assert nodes(card) == {"Clinic A": (0, 0), "Institute": (2, 1), "Public": (2, 1)}
    assert "Public followed" in card.followed.text()
    card.session.undo()
    assert set(nodes(card).values()) == {(0, 0)}


@pytest.mark.slow
def test_arrows_look_at_nodes_and_enter_moves_there(qtbot, card, lattice):
    card.picture.choose("Public")
    lattice.setFocus()
    QTest.keyClick(lattice, Qt.Key.Key_Up)
    wait_for_jobs(qtbot, card.session)
    looked = card.picture.node
    assert sum(looked) == 1
    assert nodes(card)["Public"] == (0, 0)
    QTest.keyClick(lattice, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, card.session)
    assert nodes(card) == {"Clinic A": (0, 0), "Institute": (0, 0), "Public": looked}


@pytest.mark.slow
def test_a_token_is_dragged_to_a_node(qtbot, card, lattice):
    card.picture.choose("Public")
    wait_for_jobs(qtbot, card.session)
    # Three tokens stand side by side on one node, the last on the right.
    held = at(lattice, (0, 0)) + QPoint(22, 0)
    qtbot.mousePress(lattice.viewport(), LEFT, pos=held)
    qtbot.mouseMove(lattice.viewport(), at(lattice, (1, 1)))
    qtbot.mouseRelease(lattice.viewport(), LEFT, pos=at(lattice, (1, 1)))
    wait_for_jobs(qtbot, card.session)
    assert nodes(card)["Public"] == (1, 1)
    assert nodes(card)["Institute"] == (0, 0)


@pytest.mark.slow
def test_what_a_node_comes_to_is_told_before_anybody_moves(qtbot, card, lattice):
    card.picture.choose("Public")
    before = card.session.document
    qtbot.mouseClick(lattice.viewport(), LEFT, pos=at(lattice, (2, 1)))
    wait_for_jobs(qtbot, card.session)
    told = card.picture.told.text()
    assert told.startswith("age 2, ward 1")
    assert card.session.document is before
    qtbot.mouseClick(card.picture.move_here, LEFT)
    wait_for_jobs(qtbot, card.session)
    column = shown(card)[2]
    assert f"Smallest class {column[SMALLEST]}, {column[UNIQUE]} unique" in told
    assert not card.picture.move_here.isVisible()


@pytest.mark.slow
def test_a_node_that_moves_others_says_whom(qtbot, card, lattice):
    card.picture.choose("Public")
    qtbot.mouseDClick(lattice.viewport(), LEFT, pos=at(lattice, (2, 1)))
    wait_for_jobs(qtbot, card.session)
    card.picture.choose("Clinic A")
    qtbot.mouseClick(lattice.viewport(), LEFT, pos=at(lattice, (1, 0)))
    wait_for_jobs(qtbot, card.session)
    assert "Institute would follow" in card.picture.told.text()


@pytest.mark.slow
def test_choosing_a_column_of_the_grid_chooses_the_recipient_to_move(card, lattice):
    card.table.show_cell(K, 2)
    assert card.picture.chosen == "Institute"
    assert lattice.accessibleDescription().startswith("Clinic A: 0,0")


@pytest.mark.slow
def test_a_search_may_end_once_nobody_looks_and_the_columns_are_others(qtbot, panel, lattice):
    session = panel.session
    document = session.document
    name = document.recipients[-1].name
    asked = tuple(
        replace(each, view=ViewRule(5)) if each.name == name else each
        for each in document.recipients
    )
    panel.views.picture.choose(name)
    wait_for_jobs(qtbot, session)
    session.edit("Ask for more", replace(document, recipients=asked))
    assert session.runner.jobs
    panel.hide()
    column = replace(document.column(panel.views.model.names[0]), role=Role.IDENTIFYING)
    session.edit("Leave a column out", session.document.with_column(column))
    wait_for_jobs(qtbot, session)
    panel.show()
    wait_for_jobs(qtbot, session)
    assert column.name not in panel.views.model.names
    assert column.name not in panel.views.picture.told.text()


@pytest.mark.slow
def test_a_lattice_too_large_to_draw_is_said(qtbot, card, lattice, monkeypatch):
    monkeypatch.setattr(views_picture, "MOST_DRAWN", 3)
    card.session.edit("State", with_statement(card.session.document, "Clinic A", 3))
    wait_for_jobs(qtbot, card.session)
    assert "too many to draw" in card.picture.told.text()
    assert not lattice.isVisible()


@pytest.mark.slow
def test_the_virtual_recipient_is_shown_where_trust_orders_differ(qtbot, card, lattice):
    assert not card.virtual.isVisible()
    assert not card.gets.isVisible()
    document = with_statement(card.session.document, "Clinic A", 50)
    card.session.edit("State", with_levels(document, "Clinic A", {"age": 2, "ward": 1})[0])
    wait_for_jobs(qtbot, card.session)
    assert "Clinic A's level of “disease”" in card.virtual.text()
    assert "Institute's view of the quasi-identifiers" in card.virtual.text()
    told = card.virtual.text() + card.gets.text()
    assert told.count("Clinic A") == told.count("Institute") == 1
    assert "disease: " in card.gets.text()
    together = shown(card)[3]
    assert card.model.headerData(4, Qt.Orientation.Horizontal) == "Together"
    assert together[LEVELS:] == shown(card)[1][LEVELS:]
    counts = card.session.table.frame[["age", "ward"]].value_counts()
    assert together[SMALLEST] == str(counts[counts > 0].min())
    assert not card.model.flags(card.model.index(K, 4)) & Qt.ItemFlag.ItemIsEditable


@pytest.fixture
def crowded(qtbot, panel):
    """The card of a survey in which all but few columns are quasi-identifiers."""
    session, table = panel.session, Table(household_survey(200))
    document = Document(title="survey", columns=proposed_columns(table))
    document = replace(document, recipients=(Recipient("Partner"), Recipient("Public")))
    document, _ = with_proposed_hierarchies(document, table)
    domain = Domain.of_column(table.column("religion"))
    spec = ColumnSpec("religion", Role.SENSITIVE, Kind.CATEGORICAL, domain)
    session.open_table("Open", SurveyedTable.of(in_batches(table)), document.with_column(spec))
    wait_for_jobs(qtbot, session)
    QTest.mouseClick(panel.unprotected.protect, LEFT)
    wait_for_jobs(qtbot, session)
    QTest.mouseClick(panel.views.state_k, LEFT)
    wait_for_jobs(qtbot, session)
    return panel.views


@pytest.mark.slow
def test_levels_of_many_columns_are_found_and_what_is_kept_and_left_is_told(qtbot, crowded):
    assert "too many to draw each" in crowded.picture.told.text()
    assert crowded.importance.isVisible()
    QTest.mouseClick(crowded.find_levels, LEFT)
    wait_for_jobs(qtbot, crowded.session)
    assert crowded.problem.text() == ""
    assert all(each.view.levels for each in crowded.session.document.recipients)
    assert crowded.kept.text().startswith("Kept: ")
    assert "What each further column costs" in crowded.kept.text()


@pytest.mark.slow
def test_the_lattice_is_searched_once_for_each_k_however_often_recipients_are_chosen(
    qtbot, crowded
):
    session, picture = crowded.session, crowded.picture
    document = session.document
    for spec in document.columns:
        kept = spec.role is not Role.QUASI_IDENTIFIER or spec.name in ("age", "sex", "region")
        if not kept:
            document = document.with_column(replace(spec, role=Role.INSENSITIVE))
    session.edit("Fewer", document)
    wait_for_jobs(qtbot, session)
    searches = []
    session.runner.job_started.connect(
        lambda job: searches.append(job.key) if job.key == views_picture.LATTICE_JOB else None
    )
    for name in ("Public", "Partner", "Public", "Partner"):
        picture.choose(name)
        wait_for_jobs(qtbot, session)
    assert len(searches) == 1
    assert picture.lattice.isVisible()
