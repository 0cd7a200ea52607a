"""The board: who gets what, by mouse, by keys alone and read cell by cell."""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from time import thread_time

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QAccessible, QFontMetricsF
from PySide6.QtWidgets import QLabel, QPushButton

from sfumato.analysis.planning.board import Gauges
from sfumato.engine.core.columns import ColumnSpec, Kind, Leaves, Role
from sfumato.engine.generalization.hierarchies import Masking, Suppression
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Recipient, ViewRule
from sfumato.ui.look.theme import TextSize, font, scaled
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.policy.board.page import COLUMNS_AT_ONCE, DRAWER, EXAMPLES_JOB
from sfumato.ui.panels.policy.board.view import DRAGGED, NARROWEST, name_lines
from sfumato.ui.panels.policy.board.words import gauge_texts
from sfumato.ui.panels.policy.whole_plan import PlanDialog
from sfumato.ui.widgets.messages import Departure
from tests.ui.clinic import clinic_document, clinic_table, open_clinic, protected, wait_for_jobs
from tests.ui.hands import dialog_of, on_screen, type_into
from tests.ui.policy_steps import statement

LEFT = Qt.MouseButton.LeftButton
UNIQUE = 60
"""In a table of so many rows everybody has an age of their own."""
READ = Qt.ItemDataRole.AccessibleTextRole


@pytest.fixture
def panel(qtbot, session):
    session.store.setValue(DRAWER, 0)
    return on_screen(qtbot, PANEL(session), 1000, 800)


def opened(qtbot, panel, document=None, rows=400):
    document = protected() if document is None else document
    open_clinic(panel.session, document, clinic_table(rows))
    wait_for_jobs(qtbot, panel.session)
    return panel.board


def cell_at(board, name, recipient):
    index = board.model.index(*board.model.place_of(name, recipient))
    board.view.setCurrentIndex(index)
    return index


def cell(board, name, recipient):
    return board.model.cell(*board.model.place_of(name, recipient))


def drag(qtbot, board, index, steps):
    """Drag a cell by so many steps: to the left for more, to the right for less."""
    where = board.view.visualRect(index).center()
    viewport = board.view.viewport()
    qtbot.mousePress(viewport, LEFT, pos=where)
    for step in range(1, abs(steps) + 1):
        by = -scaled(DRAGGED) * step * (1 if steps > 0 else -1)
        qtbot.mouseMove(viewport, where + QPoint(by, 0))
    qtbot.mouseRelease(viewport, LEFT, pos=where)


def test_the_policy_begins_at_the_board(panel):
    assert not panel.drawer.is_open
    assert panel.board.view.accessibleName() == "Who gets what"


def test_each_cell_says_what_a_recipient_gets_in_one_sentence(qtbot, panel):
    board = opened(qtbot, panel)
    read = {
        (name, who): cell_at(board, name, who).data(READ)
        for name in ("name", "age", "disease", "ward")
        for who in ("Clinic A", "Public")
    }
    assert read["name", "Public"] == "Public, name: left out"
    assert read["age", "Public"] == "Public, age: exact, 20 stays 20"
    assert read["disease", "Clinic A"].startswith(
        "Clinic A, disease: randomised, the true value in"
    )
    assert " 70 of 100 records" in read["disease", "Clinic A"]
    assert read["ward", "Public"] == "Public, ward: exact, south stays south"


def test_labelled_codes_are_shown_with_their_labels(qtbot, panel):
    table = clinic_table()
    codes = table.frame["ward"].map({"north": 1, "south": 2}).astype(int)
    labelled = Table(
        table.frame.assign(ward=codes, age=31 + table.frame["age"] % 2),
        {"ward": {1: "north", 2: "south"}, "age": {31: "younger", 32: "older"}},
    )
    document = replace(protected(), hierarchies={"age": Masking((1,))})
    public = replace(document.recipients[2], view=ViewRule(levels={"age": 1}))
    document = replace(document, recipients=(*document.recipients[:2], public))
    open_clinic(panel.session, document, labelled)
    wait_for_jobs(qtbot, panel.session)
    board = panel.board
    told = {name: cell_at(board, name, "Public") for name in ("age", "ward")}
    assert told["ward"].data() == "2 (south)"
    assert told["ward"].siblingAtColumn(0).data() == "2 (south)"
    assert told["ward"].data(READ) == "Public, ward: exact, 2 (south) stays 2 (south)"
    assert told["age"].data(READ) == "Public, age: coarsened, 31 (younger) becomes 3*"
    [ward] = [
        line
        for line in board.model.lines
        if getattr(line, "example", None) is not None and line.spec.name == "ward"
    ]
    assert len(ward.example.bars) == 2


def test_recipients_stand_from_the_most_trusted_to_the_least(qtbot, panel):
    levels = {"Public": 0.1, "Institute": 0.3, "Clinic A": 0.6}
    board = opened(qtbot, panel, protected(levels))
    assert board.model.people == ("Clinic A", "Institute", "Public")


def test_dragging_a_cell_to_the_left_gives_more_and_is_one_step_of_undo(qtbot, panel):
    board = opened(qtbot, panel)
    before = panel.session.document
    index = cell_at(board, "disease", "Institute")
    drag(qtbot, board, index, 3)
    more = statement(panel, "Institute")["retention_probability"]
    assert more > 0.4
    drag(qtbot, board, index, -2)
    assert 0.3 < statement(panel, "Institute")["retention_probability"] < more
    panel.session.undo()
    assert statement(panel, "Institute")["retention_probability"] == more
    panel.session.undo()
    assert panel.session.document == before


def test_plus_and_minus_move_a_cell_by_keys(qtbot, panel):
    board = opened(qtbot, panel)
    cell_at(board, "disease", "Public")
    board.view.setFocus()
    qtbot.keyClick(board.view, Qt.Key.Key_Plus)
    assert statement(panel, "Public")["retention_probability"] > 0.1
    for _ in range(2):
        qtbot.keyClick(board.view, Qt.Key.Key_Minus)
    assert statement(panel, "Public")["retention_probability"] < 0.1


def test_a_quasi_identifier_without_a_hierarchy_gets_one_by_a_click(qtbot, panel):
    board = opened(qtbot, panel)
    cell_at(board, "age", "Public")
    qtbot.keyClick(board.view, Qt.Key.Key_Minus)
    [message] = panel.messages.messages
    assert "“age” has no hierarchy yet" in message.text
    message.actions[0].run()
    wait_for_jobs(qtbot, panel.session)
    cell_at(board, "age", "Public")
    qtbot.keyClick(board.view, Qt.Key.Key_Minus)
    public = cell(board, "age", "Public")
    assert public.leaves is Leaves.COARSENED
    assert panel.session.document.recipient("Public").view.levels == {"age": 1}
    assert cell(board, "age", "Clinic A").leaves is Leaves.EXACT
    said = cell_at(board, "age", "Public").data(READ)
    assert said.startswith("Public, age: coarsened, 20 becomes ")


def test_what_nobody_gets_can_not_be_moved_and_says_where_it_is_decided(qtbot, panel):
    board = opened(qtbot, panel)
    before = panel.session.document
    for name, told in (("name", "is identifying"), ("ward", "is the same for everybody")):
        cell_at(board, name, "Public")
        qtbot.keyClick(board.view, Qt.Key.Key_Plus)
        assert told in panel.messages.messages[-1].text
    assert panel.session.document == before


def sees_current(board):
    """Return whether the board's current cell is in sight, all of it."""
    where = board.view.visualRect(board.view.currentIndex())
    return board.view.isVisible() and board.view.viewport().rect().contains(where)


def test_enter_opens_the_drawer_below_the_board_and_escape_closes_it(qtbot, panel):
    board = opened(qtbot, panel)
    index = cell_at(board, "disease", "Institute")
    board.view.setFocus()
    qtbot.keyClick(board.view, Qt.Key.Key_Return)
    assert panel.page.isVisible()
    assert sees_current(board)
    recipients = panel.page.recipients.table
    assert recipients.currentIndex().row() == 1
    assert recipients.hasFocus()
    level = statement(panel, "Institute")
    qtbot.mouseClick(board.view.viewport(), LEFT, pos=board.view.visualRect(index).center())
    qtbot.keyClick(board.view, Qt.Key.Key_Right)
    assert recipients.currentIndex().row() == 2, "the drawer follows from cell to cell"
    qtbot.keyClick(board.view, Qt.Key.Key_Left)
    qtbot.keyClick(recipients, Qt.Key.Key_Escape)
    assert not panel.page.isVisible()
    assert board.view.hasFocus()
    assert board.view.currentIndex() == index
    assert statement(panel, "Institute") == level


def test_a_quasi_identifier_has_its_levels_where_nothing_is_sensitive(qtbot, panel):
    document = clinic_document(recipients=(Recipient("Clinic A"), Recipient("Public")))
    insensitive = replace(document.column("disease"), role=Role.INSENSITIVE, domain=None)
    board = opened(qtbot, panel, document.with_column(insensitive))
    cell_at(board, "age", "Public")
    board.view.setFocus()
    qtbot.keyClick(board.view, Qt.Key.Key_Return)
    assert panel.views.isVisible()
    assert not panel.nothing.isVisible()
    assert not panel.page.isVisible()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(752, 630), (1000, 800)])
def test_the_drawer_keeps_its_height_and_the_current_row_in_sight(qtbot, panel, size):
    board = opened(qtbot, panel)
    panel.resize(*size)
    for name in ("ward", "age"):
        cell_at(board, name, "Public")
        panel.drawer.turn(True)
        QCoreApplication.processEvents()
        assert sees_current(board)
        assert panel.content.height() >= 240
        assert panel.board.settings.text() == "Close settings"
        qtbot.mouseClick(panel.board.settings, LEFT)
        assert not panel.drawer.is_open
    panel.drawer.turn(True)
    before = panel.drawer.sizes()
    panel.board.view.setFocus()
    control = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    qtbot.keyClick(panel.board.view, Qt.Key.Key_Down, control)
    lower = panel.drawer.sizes()
    assert lower[1] < before[1]
    qtbot.keyClick(panel.board.view, Qt.Key.Key_Up, control)
    assert panel.drawer.sizes()[1] > lower[1]
    panel.drawer.moveSplitter(before[0] + 12, 1)
    drawn = panel.drawer.sizes()
    assert drawn != before
    panel.drawer.turn(False)
    panel.drawer.turn(True)
    QCoreApplication.processEvents()
    assert panel.drawer.sizes() == drawn


@pytest.mark.slow
def test_more_rows_are_in_sight_beside_the_settings_than_one(qtbot, panel):
    panel.resize(704, 560)  # what a window of 1100 x 700 leaves
    document = protected()
    for name in ("name", "ward"):
        column = replace(document.column(name), role=Role.QUASI_IDENTIFIER)
        document = document.with_column(column)
    board = opened(qtbot, panel, document)
    view, board_alone = board.view, board.view.horizontalHeader().height()
    cell_at(board, "name", "Public")
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Return)
    QCoreApplication.processEvents()
    assert panel.drawer.is_open
    high = view.viewport().height()
    rows = [view.visualRect(board.model.index(row, 1)) for row in range(len(board.model.lines))]
    whole = [rect for rect in rows if rect.top() >= 0 and rect.bottom() <= high and rect.height()]
    assert len([rect for rect in whole if rect.height() >= scaled(40)]) >= 2
    assert view.horizontalHeader().height() < board_alone
    assert board.add.isVisible()
    assert not board.search.isVisible()
    told = board.model.headerData(3, Qt.Orientation.Horizontal, READ)
    assert "found" in told
    assert "worth" in told
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.horizontalHeader().height() == board_alone
    assert board.add.isVisible()
    type_into(board.search, "ward")
    cell_at(board, "ward", "Public")
    qtbot.mouseClick(board.settings, Qt.MouseButton.LeftButton)
    assert panel.drawer.is_open
    assert board.search.isVisible()
    assert not board.add.isVisible()


def quasi(panel, *names):
    """Return the protected clinic's document with more quasi-identifiers, in the table's order."""
    document = protected()
    for name in names:
        document = document.with_column(
            replace(document.column(name), role=Role.QUASI_IDENTIFIER, domain=None)
        )
    return document


def names_in_order(board):
    rows = range(board.model.rowCount())
    return [name for row in rows if (name := board.model.ranked(row))]


def test_alt_and_the_arrows_put_columns_in_the_order_of_their_importance(qtbot, panel, announced):
    board = opened(qtbot, panel, quasi(panel, "ward", "name"))
    natural = names_in_order(board)
    assert len(natural) == 3
    last = natural[-1]
    index = cell_at(board, last, "Institute")
    board.view.setFocus()
    qtbot.keyClick(board.view, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert names_in_order(board) == [natural[0], last, natural[1]]
    assert panel.session.document.importance == (natural[0], last, natural[1])
    assert board.view.currentIndex().row() == index.row() - 1
    assert board.view.currentIndex().column() == index.column()
    assert f"“{last}” is number 2 of 3 by importance" in [each[0] for each in announced]
    qtbot.keyClick(board.view, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert panel.session.document.importance is None, "the table's order needs no statement"
    qtbot.keyClick(board.view, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
    assert names_in_order(board) == natural, "it stays among the quasi-identifiers"


def test_a_name_is_dragged_to_its_importance_and_one_undo_takes_it_back(qtbot, panel):
    board = opened(qtbot, panel, quasi(panel, "ward", "name"))
    before, natural = panel.session.document, names_in_order(board)
    heads = board.view.verticalHeader()

    def middle(name):
        row = board.model.place_of(name)[0]
        return QPoint(40, heads.sectionViewportPosition(row) + heads.sectionSize(row) // 2)

    start, end = middle(natural[0]), middle(natural[2])
    qtbot.mousePress(heads.viewport(), LEFT, pos=start)
    for place in (start + QPoint(0, 30), end, end + QPoint(0, 60)):
        qtbot.mouseMove(heads.viewport(), place)
    qtbot.mouseRelease(heads.viewport(), LEFT, pos=end)
    assert names_in_order(board) == [natural[1], natural[2], natural[0]]
    panel.session.undo()
    assert panel.session.document == before
    assert names_in_order(board) == natural


def test_the_gauges_count_who_can_be_found_what_is_guessed_and_what_it_is_worth(qtbot, panel):
    board = opened(qtbot, panel, rows=UNIQUE)
    found, guessed, worth = board.model.gauges(1)
    assert found.value == str(UNIQUE)
    assert found.look == "danger"
    assert guessed.value.endswith("%")
    assert " to " in worth.value or worth.value.isdigit()
    head = board.model.headerData(1, Qt.Orientation.Horizontal, READ)
    assert head.startswith(f"Clinic A: found {found.value}; guessed ")


def test_no_gauge_is_green_before_the_check_has_found_nothing():
    gauges = Gauges("Clinic A", 0, 400)
    assert [each.look for each in gauge_texts(gauges, None)] == ["muted"] * 3


@pytest.mark.slow
def test_a_column_that_shows_an_asterisk_in_every_row_is_worth_nothing(qtbot, panel):
    document = replace(protected(), hierarchies={"age": Suppression()})
    first, *others = document.recipients
    board = opened(qtbot, panel, document)
    assert not board.model.gauges(1)[2].value.startswith("0 to ")
    view = ViewRule(k=2, levels={"age": 1})
    document = replace(document, recipients=(replace(first, view=view), *others))
    worth = opened(qtbot, panel, document).model.gauges(1)[2]
    assert worth.value.startswith("0 to ")
    assert "“age” shows * everywhere: nothing of it is left." in worth.why
    assert worth.look == "danger"


def test_the_gauges_are_grey_until_they_are_those_of_the_present_settings(qtbot, panel):
    board = opened(qtbot, panel)
    assert not board.model.stale
    cell_at(board, "disease", "Public")
    before = board.model.gauges(3)
    qtbot.keyClick(board.view, Qt.Key.Key_Minus)
    assert board.model.stale
    assert board.model.gauges(3)[1].value == before[1].value
    wait_for_jobs(qtbot, panel.session)
    assert not board.model.stale


def test_what_the_check_finds_grave_is_red_with_its_sentence(qtbot, panel):
    board = opened(qtbot, panel, rows=UNIQUE)
    panel.session.steps.check_policy()
    wait_for_jobs(qtbot, panel.session)
    red = [one for row in range(board.model.rowCount()) if (one := board.model.cell(row, 1))]
    told = [one.problem for one in red if one.problem]
    standing = [one.sentence for each in panel.session.steps.found for one in each.standing]
    assert told
    assert set(told) <= set(standing)


def test_a_column_is_found_by_its_name_and_a_role_is_folded_away(qtbot, panel):
    board = opened(qtbot, panel)
    everything = board.model.rowCount()
    type_into(board.search, "dis")
    assert board.model.place_of("disease")[0] >= 0
    assert board.model.place_of("ward")[0] < 0
    type_into(board.search, "")
    assert board.model.rowCount() == everything
    board.view.setCurrentIndex(board.model.index(0, 1))
    assert board.view.currentIndex().data(READ) == "Quasi-identifiers (1), unfolded"
    qtbot.keyClick(board.view, Qt.Key.Key_Space)
    assert board.model.rowCount() == everything - 1
    assert board.view.currentIndex().data(READ) == "Quasi-identifiers (1), folded"
    qtbot.mouseClick(
        board.view.viewport(), LEFT, pos=board.view.visualRect(board.model.index(0, 1)).center()
    )
    assert board.model.rowCount() == everything


@pytest.mark.slow
@pytest.mark.turns(1)
def test_make_this_safe_fills_the_board_and_is_undone_at_once(qtbot, panel):
    board = opened(qtbot, panel, clinic_document())
    before = panel.session.document
    assert board.model.people == ()
    qtbot.mouseClick(panel.plan.button, LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert board.model.people[-1] == "Public file"
    assert all(one.found == 0 for one in panel.session.weighing.gauges())
    panel.session.undo()
    assert panel.session.document == before


@pytest.mark.slow
def test_what_a_plan_changed_stays_at_hand_until_it_is_dismissed(qtbot, panel):
    opened(qtbot, panel, clinic_document())
    qtbot.mouseClick(panel.plan.button, LEFT)
    wait_for_jobs(qtbot, panel.session)
    (told,) = panel.messages.messages
    assert not panel.messages.findChildren(Departure), "nothing lets it go after a while"
    panel.hide()
    panel.show()
    QCoreApplication.processEvents()
    assert panel.messages.messages == (told,)
    (see,) = (
        b for b in panel.messages.findChildren(QPushButton) if b.text() == "See what changes…"
    )
    qtbot.mouseClick(see, LEFT)
    dialog_of(panel.window(), PlanDialog).reject()
    assert not panel.messages.messages


@pytest.mark.slow
def test_a_plan_shows_each_recipients_gauges_before_and_after(qtbot, panel):
    opened(qtbot, panel, rows=UNIQUE)
    qtbot.mouseClick(panel.plan.button, LEFT)
    wait_for_jobs(qtbot, panel.session)
    panel.messages.messages[-1].actions[0].run()
    dialog = dialog_of(panel.window(), PlanDialog)
    told = [each.accessibleName() for each in dialog.findChildren(QLabel)]
    for name in ("Clinic A", "Institute", "Public"):
        assert f"{name}, before: found {UNIQUE}" in told
        assert f"{name}, after: found 0" in told
        assert any(one.startswith(f"{name}, after: worth ") for one in told)
    dialog.reject()


@pytest.mark.slow
def test_a_plan_shows_the_guess_that_the_card_shows_as_well(qtbot, panel):
    table = clinic_table(400)
    wards = table.frame["disease"].str[:1]  # an unperturbed column that tells the sensitive one
    table = Table(table.frame.assign(ward=wards))
    open_clinic(panel.session, protected({"Clinic A": 0.1, "Institute": 0.05}), table)
    wait_for_jobs(qtbot, panel.session)
    board = panel.board
    qtbot.mouseClick(panel.plan.button, LEFT)
    wait_for_jobs(qtbot, panel.session)
    panel.messages.messages[-1].actions[0].run()
    dialog = dialog_of(panel.window(), PlanDialog)
    told = [each.accessibleName() for each in dialog.findChildren(QLabel)]
    for place, name in enumerate(board.model.people, 1):
        guess = board.model.gauges(place)[1]
        assert f"{name}, after: guessed {guess.value}" in told
    assert any("→" in one for one in told)
    dialog.reject()


def test_rows_that_are_suppressed_are_told_in_the_cell(qtbot, panel):
    document = protected()
    first, *others = document.recipients
    view = ViewRule(k=5, suppression=0.9)
    document = replace(document, recipients=(replace(first, view=view), *others))
    board = opened(qtbot, panel, document)
    hidden = board.model.hidden(cell(board, "age", "Clinic A"))
    if hidden.rows:
        said = cell_at(board, "age", "Clinic A").data(READ)
        assert f"suppressed in {hidden.rows} rows" in said


def test_a_column_that_is_mostly_suppressed_shows_no_example_of_what_hardly_leaves(qtbot, panel):
    board = opened(qtbot, panel)
    exact = cell(board, "age", "Clinic A")
    shown = replace(board.model._gauges["Clinic A"], hidden={"age": 9}, of=10)
    board.model._gauges["Clinic A"] = shown
    index = cell_at(board, "age", "Clinic A")
    assert index.data() == "*"
    assert board.model.word(index) == "* in 9 of 10 rows"
    assert "suppressed in 9 of 10 rows, else exact" in index.data(READ)
    assert cell(board, "age", "Clinic A").trust == pytest.approx(0.1 * exact.trust)


@pytest.mark.slow
def test_a_column_whose_every_cell_is_suppressed_is_left_out_and_not_exact(qtbot, panel):
    document = replace(protected(), hierarchies={"age": Suppression()})
    first, *others = document.recipients
    view = ViewRule(k=5, suppression=1.0, cells=True)
    document = replace(document, recipients=(replace(first, view=view), *others))
    board = opened(qtbot, panel, document, UNIQUE)
    assert board.model.hidden(cell(board, "age", "Clinic A")).rows == UNIQUE
    index = cell_at(board, "age", "Clinic A")
    assert index.data(READ) == "Clinic A, age: left out"
    assert (index.data(), board.model.word(index)) == ("–", "left out")


def test_no_role_is_missing_on_the_board():
    from sfumato.ui.panels.policy.board.words import GROUPS, ROLES  # noqa: PLC0415

    assert set(GROUPS) == set(ROLES) == set(Role)


def test_an_edit_reaches_its_cell_within_a_tenth_of_a_second(qtbot, panel):
    board = opened(qtbot, panel)
    index = cell_at(board, "disease", "Public")
    taken = []
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Minus) * 3:
        before, began = index.data(), thread_time()
        qtbot.keyClick(board.view, key)
        board.view.viewport().repaint()
        taken.append(thread_time() - began)
        assert index.data() != before
    assert median(taken) < 0.1


def test_a_screen_reader_reads_heads_and_cells(qtbot, panel, told):
    board = opened(qtbot, panel)
    table = QAccessible.queryAccessibleInterface(board.view)
    children = [table.child(place) for place in range(table.childCount())]
    read = [one.text(QAccessible.Text.Name) for one in children if one is not None]
    assert "Clinic A, disease: randomised, the true value in 70 of 100 records" in read
    assert "age: quasi-identifier" in read
    assert any(one.startswith("Clinic A: found 0; guessed ") for one in read)


def wide_document(panel, columns=60, people=10):
    """Return a made-up table and its document: many columns, many recipients."""
    table = clinic_table()
    frame = table.frame.copy()
    more = [f"question_{place + 1}" for place in range(columns - frame.shape[1])]
    for place, name in enumerate(more):
        frame[name] = (np.arange(len(frame)) + place) % 5
    document = protected({f"Institute {place + 1}": 0.9 - place / 20 for place in range(people)})
    specs = tuple(ColumnSpec(name, Role.INSENSITIVE, Kind.NUMERIC) for name in more)
    return Table(frame), replace(document, columns=(*document.columns, *specs))


@pytest.mark.slow
@pytest.mark.parametrize("size", [(752, 630), (1018, 698)])
def test_sixty_columns_for_ten_recipients_stay_readable(qtbot, panel, size):
    """The sizes are the panel's in a window of 1100 × 700 and of 1366 × 768."""
    table, document = wide_document(panel)
    panel.resize(*size)
    open_clinic(panel.session, document, table)
    wait_for_jobs(qtbot, panel.session)
    board = panel.board
    view, heads, names = board.view, board.view.horizontalHeader(), board.view.verticalHeader()
    board.view.setCurrentIndex(board.model.index(board.model.rowCount() - 1, 10))
    assert sees_current(board)
    assert heads.isVisible()
    assert names.isVisible()
    assert all(heads.sectionSize(section) >= scaled(NARROWEST) for section in range(1, 11))
    assert names.logicalIndexAt(names.height() - 20) >= board.model.rowCount() - 2
    type_into(board.search, "question_3")
    assert board.model.rowCount() == 1 + 11
    type_into(board.search, "")
    for role in Role:
        board.model.fold(role)
    assert board.model.rowCount() == 4, "a line for each role that there is"
    QCoreApplication.processEvents()
    assert view.verticalScrollBar().maximum() == 0


def test_examples_of_many_columns_are_found_beside_the_window(qtbot, panel):
    names = [f"c{number:02}" for number in range(COLUMNS_AT_ONCE + 5)]
    columns = tuple(ColumnSpec(n, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for n in names)
    table = Table(pd.DataFrame({name: np.arange(60) % 4 for name in names}))
    open_clinic(panel.session, Document(columns=columns, recipients=(Recipient("Clinic"),)), table)
    assert EXAMPLES_JOB in {job.key for job in panel.session.runner.jobs}
    wait_for_jobs(qtbot, panel.session)
    assert cell(panel.board, names[-1], "Clinic").before is not None


def test_the_button_beside_the_heads_says_all_its_words_where_columns_are_narrow(qtbot, panel):
    panel.resize(752, 630)
    board = opened(qtbot, panel)
    for words in ("Add recipient", "Empfänger hinzufügen"):
        board.add.say(words)
        panel.resize(panel.width() + 1, panel.height())
        QCoreApplication.processEvents()
        assert board.add.text() == words


@pytest.mark.parametrize("name", ["Public file", "Vertrauenswürdiger Partner"])
def test_a_head_shows_a_recipient_s_whole_name_in_the_narrowest_column(name):
    width = scaled(NARROWEST) - scaled(14)
    lines = name_lines(name, width)
    assert " ".join(lines) == name
    assert len(lines) <= 2
    metrics = QFontMetricsF(font(strong=True))
    assert max(map(metrics.horizontalAdvance, lines)) <= width


def test_a_gauge_fits_into_the_narrowest_column_beside_its_name():
    name, value, _, _ = gauge_texts(Gauges("Clinic A", 0, 10_000, ("disease", 0.28, 0.69)), None)[1]
    small, strong = font(TextSize.SMALL), font(TextSize.SMALL, strong=True, tabular=True)
    wide = [
        QFontMetricsF(face).horizontalAdvance(t) for face, t in ((small, name), (strong, value))
    ]
    assert sum(wide) < scaled(NARROWEST) - scaled(13 + 5 + 6 + 14), "sign, gaps and margins"
