"""The report in the window, through the widgets a person uses."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor

from sfumato.report.material import Audience
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.panels.audit.pages.report import ReportPage
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def page(audit_panel):
    return audit_panel.show_page(ReportPage)


@pytest.fixture
def filled(qtbot, page, tmp_path):
    open_clinic(page.session, protected())
    save_clinic(page.session, tmp_path)
    wait_for_jobs(qtbot, page.session)
    qtbot.waitUntil(page.pdf.isEnabled)
    return page


def test_without_a_project_the_page_says_what_is_missing(page):
    open_clinic(page.session, protected())
    assert page.pages.currentWidget() is page.empty


def test_the_report_is_shown_as_it_will_be_written(filled):
    text = filled.view.toPlainText()
    assert "Disclosure report: Clinic" in text
    assert "Any group of recipients learns no more than Clinic A alone." in text
    assert "Internal." in text


@pytest.mark.slow
def test_the_outsiders_variant_asks_for_a_threshold(qtbot, filled):
    assert not filled.threshold.isVisible()
    qtbot.mouseClick(filled.audience.button_for(Audience.OUTSIDE), LEFT)
    qtbot.waitUntil(filled.pdf.isEnabled)
    assert filled.threshold.isVisible()
    assert "no count below 10" in filled.view.toPlainText()


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["pdf", "html"])
def test_the_report_is_saved_where_the_person_says(qtbot, filled, answers, tmp_path, ending):
    answers.saved = tmp_path / f"filed.{ending}"
    said = []
    filled.told.connect(said.append)
    qtbot.mouseClick(getattr(filled, ending), LEFT)
    qtbot.waitUntil(lambda: bool(said))
    assert answers.saved.stat().st_size > 1000
    assert str(answers.saved) in said[-1].text


@pytest.mark.slow
def test_a_folder_that_is_not_there_is_told(qtbot, filled, answers, tmp_path):
    answers.saved = tmp_path / "no" / "filed.html"
    said = []
    filled.told.connect(said.append)
    qtbot.mouseClick(filled.html, LEFT)
    qtbot.waitUntil(lambda: bool(said))
    assert "There is no folder" in said[-1].text
    assert filled.html.isEnabled()


@pytest.mark.slow
def test_a_report_tells_how_far_it_is_and_can_be_stopped_and_collected_again(
    qtbot, themed, page, tmp_path
):
    themes().set_appearance(Appearance.DARK)
    open_clinic(page.session, protected())
    save_clinic(page.session, tmp_path)
    qtbot.waitUntil(page.bar.isVisible)
    corner = QPoint(page.view.width() // 2, page.view.height() // 2)
    assert page.view.grab().toImage().pixelColor(corner) != QColor("white")
    qtbot.mouseClick(page.cancel, LEFT)
    assert page.doing.text() == "The report was not collected."
    assert not page.bar.isVisible()
    wait_for_jobs(qtbot, page.session)
    assert not page.pdf.isEnabled()
    qtbot.mouseClick(page.again, LEFT)
    seen = []
    page.bar.valueChanged.connect(seen.append)
    qtbot.waitUntil(page.pdf.isEnabled)
    assert seen == sorted(seen)
    assert seen[-1] >= 600
    assert not page.work_line.isVisible()
    margin = QPoint(4, page.view.height() // 2)
    assert page.view.grab().toImage().pixelColor(margin) == QColor("white")


@pytest.mark.slow
def test_saving_can_be_stopped_and_leaves_no_file(qtbot, filled, answers, tmp_path):
    answers.saved = tmp_path / "filed.pdf"
    qtbot.mouseClick(filled.pdf, LEFT)
    qtbot.waitUntil(filled.cancel.isVisible)
    qtbot.mouseClick(filled.cancel, LEFT)
    wait_for_jobs(qtbot, filled.session)
    assert filled.pdf.isEnabled()
    assert not answers.saved.exists()
