"""Adopting earlier releases through the widgets that a person uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton

from sfumato.engine.core.progress import Silent
from sfumato.formats.language import grouped
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.release.release import make_release
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.import_page import ReadingDialog
from sfumato.ui.panels.policy import PANEL
from tests.in_batches import in_batches
from tests.ui.clinic import (
    DISEASES,
    clinic_table,
    open_clinic,
    protected,
    save_clinic,
    wait_for_jobs,
)
from tests.ui.hands import choose, click, messages, on_screen, type_into

LEFT = Qt.MouseButton.LeftButton
TABLE = clinic_table(2_000)


def randomized(values: pd.Series, p: float, seed: int) -> pd.Series:
    rng = np.random.default_rng([9, seed])
    other = np.array(DISEASES)[rng.integers(0, 4, len(values))]
    return pd.Series(np.where(rng.random(len(values)) < p, values.astype(str), other))


def written(path: Path, shown: pd.Series, **columns: object) -> Path:
    frame = pd.DataFrame({"name": TABLE.frame["name"], "disease": shown, **columns})
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def upper(tmp_path):
    return written(tmp_path / "upper.csv", randomized(TABLE.frame["disease"], 0.5, 1))


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 1000, 900)
    open_clinic(session, protected(), TABLE)
    return made


@pytest.fixture
def ask(qtbot, panel, answers):
    """Opens the dialog, and lets a file be chosen and examined."""

    def run(path: Path):
        click(panel.page.adopted.adopt)
        dialog = panel.page.adopted.dialog
        answers.file = path
        click(dialog.form.choose)
        wait_for_jobs(qtbot, panel.session)
        wait_for_jobs(qtbot, panel.session)
        return dialog

    return run


def files(panel):
    return adopted_files(panel.session.document.policy[0].settings)


def segment(qtbot, segments, value):
    qtbot.mouseClick(segments.button_for(value), LEFT)


def tool(panel, digest: str, name: str) -> QToolButton:
    line = panel.page.adopted.lines[digest]
    return next(t for t in line.findChildren(QToolButton) if t.accessibleName() == name)


def test_a_release_is_adopted_with_an_estimated_level_and_undone(panel, ask, upper):
    dialog = ask(upper)
    assert any("with 95 % confidence" in text for text in dialog.findings.texts)
    assert dialog.findings.texts[0].startswith("It becomes a rung")
    type_into(dialog.form.holder, "Old Clinic")
    click(dialog.submit)
    [file] = files(panel)
    assert (file.holder, file.level, file.estimated, file.rung) == ("Old Clinic", 0.5, True, True)
    assert list(panel.page.adopted.lines) == [file.digest]
    assert panel.session.undo_text == "Adopt an earlier release of “disease”"
    panel.session.undo()
    assert files(panel) == ()
    assert panel.page.adopted.lines == {}


@pytest.mark.slow
def test_a_level_can_be_stated(qtbot, panel, ask, upper):
    dialog = ask(upper)
    segment(qtbot, dialog.form.how, True)
    dialog.form.level.spin.setFocus()
    type_into(dialog.form.level.spin, "0.8")
    QTest.keyClick(dialog.form.level.spin, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, panel.session)
    assert any(text.startswith("Level. ") for text in dialog.findings.texts)
    assert dialog.submit.text().replace("&", "") == "Adopt beside the ladder"
    type_into(dialog.form.level.spin, "0.5")
    QTest.keyClick(dialog.form.level.spin, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, panel.session)
    assert dialog.submit.text().replace("&", "") == "Adopt"
    type_into(dialog.form.level.spin, "1")
    QTest.keyClick(dialog.form.level.spin, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, panel.session)
    assert "not between 0 and 1" in messages(dialog.messages)[0]
    assert not dialog.submit.isEnabled()


@pytest.mark.slow
def test_independent_files_show_their_damage_and_stand_beside(panel, ask, upper, tmp_path):
    click(ask(upper).submit)
    other = written(tmp_path / "other.csv", randomized(TABLE.frame["disease"], 0.4, 2))
    dialog = ask(other)
    assert dialog.findings.texts[0].startswith("It does not fit the ladder")
    assert "show one and the same value" in dialog.findings.texts[1]
    assert dialog.submit.text().replace("&", "") == "Adopt beside the ladder"
    click(dialog.submit)
    assert {file.level: file.rung for file in files(panel)} == {0.5: True, 0.4: False}


@pytest.mark.slow
def test_adopted_rungs_stand_on_the_ladder_and_neither_the_mouse_nor_settings_move_them(
    qtbot, panel, ask, upper
):
    click(ask(upper).submit)
    ladder = panel.page.ladder
    assert "upper.csv: p = 0.5, adopted" in ladder.accessibleDescription()
    place = QPoint(58, round(ladder.y_of(0.5)))
    before = panel.session.document
    qtbot.mousePress(ladder, LEFT, pos=place)
    qtbot.mouseMove(ladder, QPoint(58, round(ladder.y_of(0.9))))
    qtbot.mouseRelease(ladder, LEFT)
    assert panel.session.document == before
    event = QHelpEvent(QEvent.Type.ToolTip, place, ladder.mapToGlobal(place))
    assert ladder.event(event)
    assert ladder._near(QPointF(place), ladder._places()).name == "upper.csv"
    adopted = files(panel)
    panel.page.settings_stated.emit(panel.session.document.policy[0].key, {})
    assert files(panel) == adopted


@pytest.mark.slow
def test_rows_in_another_order_are_matched_by_key(qtbot, panel, ask, upper, tmp_path):
    frame = pd.read_csv(upper).sample(frac=1, random_state=4).rename(columns={"name": "who"})
    frame.to_csv(tmp_path / "mixed.csv", index=False)
    dialog = ask(tmp_path / "mixed.csv")
    assert "is no perturbed release" in messages(dialog.messages)[0]
    assert not dialog.submit.isEnabled()
    segment(qtbot, dialog.form.match, "key")
    choose(dialog.form.table_key, "name")
    choose(dialog.form.file_key, "who")
    wait_for_jobs(qtbot, panel.session)
    assert messages(dialog.messages) == []
    click(dialog.submit)
    assert files(panel)[0].match.file_column == "who"


@pytest.mark.slow
def test_values_with_other_names_get_their_meanings(qtbot, panel, ask, upper):
    upper.write_text(upper.read_text().replace("flu", "grippe").replace("cancer", "tumour"))
    dialog = ask(upper)
    assert "values that the domain does not have" in messages(dialog.messages)[0]
    fields = dialog.meanings.fields
    assert set(fields) == {("disease", "grippe"), ("disease", "tumour")}
    choose(fields["disease", "grippe"], DISEASES.index("flu"))
    assert not dialog.submit.isEnabled()
    choose(fields["disease", "tumour"], DISEASES.index("cancer"))
    wait_for_jobs(qtbot, panel.session)
    assert messages(dialog.messages) == []
    click(dialog.submit)
    assert files(panel)[0].level == 0.5


def test_a_file_that_does_not_match_is_refused_and_another_can_be_chosen(
    qtbot, panel, ask, answers, upper, tmp_path
):
    short = tmp_path / "short.csv"
    pd.read_csv(upper).iloc[:100].to_csv(short, index=False)
    dialog = ask(short)
    assert "100 rows, and the table has 2,000" in messages(dialog.messages)[0]
    (tmp_path / "empty.csv").write_text("")
    answers.file = tmp_path / "empty.csv"
    click(dialog.form.choose)
    wait_for_jobs(qtbot, panel.session)
    assert len(messages(dialog.messages)) == 1
    assert not dialog.submit.isEnabled()
    answers.file = upper
    click(dialog.form.choose)
    wait_for_jobs(qtbot, panel.session)
    wait_for_jobs(qtbot, panel.session)
    click(dialog.submit)
    assert len(files(panel)) == 1


@pytest.mark.slow
def test_an_adopted_release_is_dropped_and_shown_where_it_is_now(
    qtbot, panel, ask, answers, upper, tmp_path
):
    click(ask(upper).submit)
    [file] = files(panel)
    answers.file = upper.rename(tmp_path / "moved.csv")
    click(tool(panel, file.digest, "Show where it is now…"))
    wait_for_jobs(qtbot, panel.session)
    assert files(panel)[0].file == str(answers.file)
    with qtbot.waitSignal(panel.session.message) as told:
        answers.file = written(tmp_path / "wrong.csv", TABLE.frame["disease"])
        click(tool(panel, file.digest, "Show where it is now…"))
    assert "not the file that was adopted" in told.args[0].text
    click(tool(panel, file.digest, "Stop adopting it"))
    assert files(panel) == ()
    panel.session.undo()
    assert len(files(panel)) == 1


@pytest.mark.slow
def test_after_a_release_nothing_is_adopted_or_dropped_any_more(qtbot, panel, ask, upper, tmp_path):
    click(ask(upper).submit)
    session = panel.session
    project = save_clinic(session, tmp_path)
    project.save_document(session.document)
    make_release(project, in_batches(TABLE), "Public", tmp_path / "out", "csv", Silent())
    lower = pd.Series(pd.read_csv(upper)["disease"])
    dialog = ask(written(tmp_path / "lower.csv", randomized(lower, 0.4, 5)))
    assert "was released from this project to Public" in messages(dialog.messages)[0]
    assert not dialog.submit.isEnabled()
    dialog.reject()
    with qtbot.waitSignal(session.message) as told:
        click(tool(panel, files(panel)[0].digest, "Stop adopting it"))
    assert "was released from this project" in told.args[0].text
    assert len(files(panel)) == 1


def test_a_mechanism_that_can_not_adopt_offers_nothing(panel):
    assert panel.page.adopted.isVisible()
    panel.page.mechanism_chosen.emit("matrix")
    assert not panel.page.adopted.isVisible()


@pytest.mark.slow
def test_the_audit_counts_adopted_holders_and_says_who_stands_beside(
    qtbot, panel, ask, upper, tmp_path
):
    dialog = ask(upper)
    type_into(dialog.form.holder, "Old Clinic")
    click(dialog.submit)
    click(ask(written(tmp_path / "other.csv", randomized(TABLE.frame["disease"], 0.4, 2))).submit)
    page = on_screen(qtbot, CoalitionPage(panel.session))
    wait_for_jobs(qtbot, panel.session)
    held = {holding.recipient: holding.adopted for holding in page.model.coalition}
    assert held == {"Clinic A": False, "Old Clinic": True, "Institute": False, "Public": False}
    assert "disease to other.csv" in page.explanation.text()


@pytest.mark.slow
def test_a_file_is_read_as_the_person_says(qtbot, panel, ask, upper):
    """Found out wrongly, its columns have other names; from the right line on it is examined."""
    text = upper.read_text().replace(",", ";")
    names = [f"name {place}" for place in range(text.splitlines()[0].count(";") + 1)]
    upper.write_text(";".join(names) + "\n" + text)
    dialog = ask(upper)
    assert not dialog.submit.isEnabled()
    click(dialog.form.reading)
    reading = dialog.findChild(ReadingDialog)
    wait_for_jobs(qtbot, panel.session)
    reading.page.form.skip_lines.spin.setValue(1)
    choose(reading.page.form.delimiter, ";")
    qtbot.waitUntil(reading.submit.isEnabled)
    click(reading.submit)
    wait_for_jobs(qtbot, panel.session)
    wait_for_jobs(qtbot, panel.session)
    assert dialog.form.columns["disease"].value == "disease"
    click(dialog.submit)
    assert [file.options["skip_lines"] for file in files(panel)] == [1]


@pytest.mark.slow
def test_a_file_that_can_not_be_read_as_it_seems_can_be_read_otherwise(
    qtbot, panel, ask, tmp_path, upper
):
    path = tmp_path / "wide.csv"
    lines = upper.read_text().splitlines()
    path.write_text("\n".join(["1,2,3,4", *lines]))
    dialog = ask(path)
    assert messages(dialog.messages)
    assert not dialog.submit.isEnabled()
    assert dialog.form.reading.isEnabled()
    click(dialog.form.reading)
    reading = dialog.findChild(ReadingDialog)
    wait_for_jobs(qtbot, panel.session)
    reading.page.form.skip_lines.spin.setValue(1)
    reading.page.form.header.setChecked(True)
    qtbot.waitUntil(reading.submit.isEnabled)
    click(reading.submit)
    wait_for_jobs(qtbot, panel.session)
    wait_for_jobs(qtbot, panel.session)
    assert messages(dialog.messages) == []
    assert dialog.submit.isEnabled()


@pytest.mark.slow
def test_a_file_with_a_part_of_the_records_says_how_many(qtbot, panel, ask, tmp_path, upper):
    path = tmp_path / "part.csv"
    pd.read_csv(upper).assign(name=TABLE.frame["name"]).iloc[:1500].to_csv(path, index=False)
    dialog = ask(path)
    segment(qtbot, dialog.form.match, "key")
    choose(dialog.form.table_key, "name")
    choose(dialog.form.file_key, "name")
    wait_for_jobs(qtbot, panel.session)
    assert any(
        words.startswith(f"The file has {grouped(1500)} of {grouped(2000)} records")
        for words in dialog.findings.texts
    )
    click(dialog.submit)
    (file,) = files(panel)
    assert file.part == (1_500, 2_000)
