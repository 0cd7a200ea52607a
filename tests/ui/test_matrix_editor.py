"""Any matrix in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.policy import PANEL
from tests.ui.clinic import DISEASES, clinic_document, disease, open_clinic, wait_for_jobs
from tests.ui.hands import on_screen

LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 1200)


@pytest.fixture
def editor(panel):
    settings = mechanism_called("matrix").default_settings((disease(),))
    entry = PolicyEntry(("disease",), "matrix", settings)
    recipients = (Recipient("Clinic A", {"disease": {"trust_factor": 1.0}}),)
    open_clinic(panel.session, clinic_document(policy=(entry,), recipients=recipients))
    return panel.page.settings


def entries(editor):
    return np.array(editor.session.document.policy[0].settings["entries"])


@pytest.mark.slow
def test_a_chance_half_typed_is_dropped_when_another_table_is_opened(qtbot, panel, editor):
    grid = editor.matrix.grid
    index = editor.matrix.entries.index(1, 1)
    grid.setFocus()
    grid.setCurrentIndex(index)
    grid.edit(index)
    qtbot.keyClicks(grid.findChild(QLineEdit), "1")
    open_clinic(panel.session, clinic_document())
    wait_for_jobs(qtbot, panel.session)
    assert panel.session.document == clinic_document()


def type_cell(qtbot, editor, released, original, text):
    grid = editor.matrix.grid
    index = editor.matrix.entries.index(released, original)
    grid.setFocus()
    grid.setCurrentIndex(index)
    grid.edit(index)
    field = grid.findChild(QLineEdit)
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    for _ in range(3):  # the grid closes its editor, then writes
        QCoreApplication.processEvents()


def paste(qtbot, editor, text, at=None):
    QGuiApplication.clipboard().setText(text)
    grid = editor.matrix.grid
    if at is not None:
        grid.setCurrentIndex(editor.matrix.entries.index(*at))
    qtbot.keyClick(grid, Qt.Key.Key_V, CONTROL)


def as_text(matrix, names=None):
    lines = ["\t".join(f"{entry:.6g}" for entry in row) for row in matrix]
    if names is not None:
        lines = [f"{name}\t{line}" for name, line in zip(names, lines, strict=True)]
        lines.insert(0, "\t".join(("", *names)))
    return "\n".join(lines)


def sums(editor):
    model = editor.matrix.sums
    return [[model.index(row, c).data() for c in range(4)] for row in (0, 1)]


def keep(share):
    return share * np.eye(4) + (1 - share) / 4


def tip(editor, released, original):
    return editor.matrix.entries.index(released, original).data(Qt.ItemDataRole.ToolTipRole)


# ----- reading


def test_a_labelled_matrix_replaces_that_in_force_in_the_domain_s_order(qtbot, editor):
    assert editor.matrix.entries.index(0, 0).data() == "0.625"
    assert sums(editor) == [["1"] * 4, [""] * 4]
    assert "is in force" in editor.problem.words
    order = [2, 0, 3, 1]
    matrix = np.array([[0.7, 0.1, 0, 0], [0.1, 0.6, 0, 0], [0.1, 0.2, 1, 0.5], [0.1, 0.1, 0, 0.5]])
    names = [DISEASES[place] for place in order]
    paste(qtbot, editor, as_text(matrix[np.ix_(order, order)], names))
    assert np.allclose(entries(editor), matrix)
    editor.session.undo()
    assert np.allclose(entries(editor), keep(0.5))
    assert editor.matrix.entries.index(0, 0).data() == "0.625"


def test_a_matrix_is_imported_from_a_file_or_pasted_with_originals_in_rows(
    qtbot, editor, answers, tmp_path
):
    answers.file = tmp_path / "matrix.csv"
    answers.file.write_text(as_text(keep(0.2), DISEASES).replace("\t", ","), encoding="utf-8")
    qtbot.mouseClick(editor.from_file, LEFT)
    assert np.allclose(entries(editor), keep(0.2))
    matrix = np.array([[0.7, 0.1, 0, 0], [0.1, 0.6, 0, 0], [0.1, 0.2, 1, 0.5], [0.1, 0.1, 0, 0.5]])
    paste(qtbot, editor, as_text(matrix.T))
    assert np.allclose(entries(editor), matrix)
    assert "the matrix was transposed" in editor.problem.words
    assert "is in force" in editor.problem.words


def test_what_is_no_matrix_is_refused_from_a_file_or_pasted_and_the_grid_stays(
    qtbot, editor, answers, tmp_path
):
    answers.file = tmp_path / "matrix.csv"
    for content, said in (
        (b"\xff\xfe\x00", "can't be read as text"),
        (b"1,0\n0,1\n", "does not fit the 4 values"),
        (b"", "There is no matrix"),
    ):
        answers.file.write_bytes(content)
        qtbot.mouseClick(editor.from_file, LEFT)
        assert said in editor.problem.words
        assert np.allclose(entries(editor), keep(0.5))
    paste(qtbot, editor, as_text(keep(0.2), ("asthma", "cancer", "flu", "plague")))
    assert "label of column 4" in editor.problem.words
    assert np.allclose(entries(editor), keep(0.5))


# ----- mending


def test_a_column_that_does_not_sum_to_one_stays_out_of_force_until_normalised(qtbot, editor):
    type_cell(qtbot, editor, 0, 0, "0,125")
    assert np.allclose(entries(editor), keep(0.5))
    assert sums(editor)[0][0] == "0.5"
    assert sums(editor)[1] == ["−0.5", "", "", ""]
    assert "asthma sum to 0.5, which is 0.5 too little" in editor.problem.words
    qtbot.mouseClick(editor.normalise, LEFT)
    assert np.allclose(entries(editor)[:, 0], 0.25)
    assert np.allclose(entries(editor)[:, 1], keep(0.5)[:, 1])
    editor.session.undo()
    assert np.allclose(entries(editor), keep(0.5))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_wrong_cell_is_marked_and_kept(qtbot, editor):
    wrong = editor.matrix.entries.index(1, 2)
    for typed, said in (
        ("abc", "is not a number"),
        ("-0.1", "is negative"),
        ("1.5", "is above 1"),
        ("", "not a num"),
    ):
        if typed:
            type_cell(qtbot, editor, 1, 2, typed)
        else:
            editor.matrix.entries.setData(wrong, "")
        assert said in tip(editor, 1, 2)
        assert wrong.data() == typed
        assert wrong.data(Qt.ItemDataRole.DecorationRole) is not None
        assert np.allclose(entries(editor), keep(0.5))
        editor.matrix.grid.grab()
        qtbot.mouseClick(editor.take_back, LEFT)
        assert wrong.data() == "0.125"


@pytest.mark.slow
def test_zeros_are_structural_and_survive_normalising(qtbot, editor):
    editor.matrix.grid.setCurrentIndex(editor.matrix.entries.index(3, 0))
    qtbot.keyClick(editor.matrix.grid, Qt.Key.Key_Delete)
    assert "never released as none" in tip(editor, 3, 0)
    qtbot.mouseClick(editor.normalise, LEFT)
    assert entries(editor)[3, 0] == 0
    assert np.isclose(entries(editor)[:, 0].sum(), 1)


def test_a_block_is_pasted_at_the_cursor(qtbot, editor):
    paste(qtbot, editor, "0.5\t0.5\n0.25\t0.25", at=(2, 2))
    assert np.allclose(entries(editor)[2:, 2:], [[0.5, 0.5], [0.25, 0.25]])
    assert np.allclose(entries(editor)[:, :2], keep(0.5)[:, :2])


def test_an_unfinished_matrix_survives_another_edit_and_is_transposed(qtbot, panel, editor):
    type_cell(qtbot, editor, 0, 1, "x")
    qtbot.keyClicks(panel.page.note, "contract")
    qtbot.keyClick(panel.page.note, Qt.Key.Key_Return)
    assert editor.matrix.entries.index(0, 1).data() == "x"
    qtbot.mouseClick(editor.transpose, LEFT)
    assert editor.matrix.entries.index(1, 0).data() == "x"


# ----- comparing


def compared(qtbot, editor, other):
    QGuiApplication.clipboard().setText(as_text(other))
    qtbot.mouseClick(editor.compare.paste, LEFT)
    wait_for_jobs(qtbot, editor.session)
    return editor.compare.verdict.words


@pytest.mark.slow
def test_a_garbling_is_recognised_in_either_direction_between_right_matrices(qtbot, editor):
    assert "this matrix can be made from the other" in compared(qtbot, editor, keep(0.8))
    assert "the other matrix can be made from this" in compared(qtbot, editor, keep(0.2))
    assert "they tell the same" in compared(qtbot, editor, keep(0.5))
    columns = np.array([[0.9, 0, 0, 0], [0, 0.9, 0, 0], [0.1, 0.1, 1, 0], [0, 0, 0, 1]])
    assert "transposed" in compared(qtbot, editor, columns.T)
    assert "transposed" not in compared(qtbot, editor, columns)
    assert "The other matrix is not right yet" in compared(qtbot, editor, 2 * keep(0.5))
    type_cell(qtbot, editor, 0, 0, "0.9")
    assert "This matrix is not right yet" in compared(qtbot, editor, keep(0.5))


@pytest.mark.slow
def test_entries_that_forbid_a_garbling_are_named(qtbot, editor):
    other = np.array(
        [[0.9, 0, 0, 0.1], [0.1, 0.4, 0.2, 0.3], [0, 0.3, 0.4, 0.3], [0, 0.3, 0.4, 0.3]]
    )
    said = compared(qtbot, editor, other)
    assert "neither can be made from the other" in said
    assert "negative chances" in said
    assert any(f"{name} →" in said for name in DISEASES)


@pytest.mark.slow
def test_recipients_are_stated_by_trust_factor_and_can_be_dragged(qtbot, panel, editor):
    qtbot.mouseClick(panel.page.editor.choices.cards[1], LEFT)
    statement = panel.session.document.recipient("Clinic A").statements["disease"]
    assert statement == {"trust_factor": 0.5}
    assert panel.page.editor.statement_at(0.2504, statement) == {"trust_factor": 0.25}


@pytest.mark.slow
def test_a_mechanism_without_settings_shows_none_and_the_grid_comes_back(panel, editor):
    before = panel.session.document
    uniform = PolicyEntry(("disease",), "uniform")
    recipients = (Recipient("Clinic A", {"disease": {"retention_probability": 0.5}}),)
    panel.session.edit("Other", clinic_document(policy=(uniform,), recipients=recipients))
    assert panel.page.settings is None
    assert not editor.isVisible()
    panel.session.undo()
    assert panel.session.document == before
    assert panel.page.settings is editor
    assert editor.isVisible()
