"""The page on which the published experiments are run, through its widgets."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.experiments import Figure
from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.audit.pages.experiments import page as experiments
from sfumato.ui.panels.audit.pages.experiments.page import ExperimentsPage
from sfumato.ui.panels.base import PanelState
from tests.ui.clinic import open_clinic, protected, wait_for_jobs
from tests.ui.hands import choose, click, messages, type_into

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    made = PANEL(session)
    qtbot.addWidget(made)
    made.resize(1000, 900)
    made.show()
    return made


@pytest.fixture
def page(qtbot, panel, session):
    open_clinic(session, protected())
    found = panel.show_page(ExperimentsPage)
    wait_for_jobs(qtbot, session)
    return found


def set_number(qtbot, field, text):
    type_into(field.spin, text)
    qtbot.keyClick(field.spin, Qt.Key.Key_Return)


def run(qtbot, page):
    click(page.run_button)
    wait_for_jobs(qtbot, page.session)


def test_at_first_it_says_what_there_is_to_run(page):
    assert page.pages.currentWidget() is page.empty
    assert page.state() is PanelState.EMPTY


def test_collusion_is_tested_on_a_column_and_one_run_gives_both_figures(qtbot, page):
    choose(page.settings.values, "disease")
    set_number(qtbot, page.settings.simulations, "20000")
    run(qtbot, page)
    assert page.pages.currentWidget() is page.result
    assert page.state() is PanelState.DONE
    text = page.found.text()
    assert text.startswith("20,000 simulations of Alice")
    assert "true values: disease" in text
    assert "The paper, with 10,000,000,000 simulations" in text
    assert "sampling noise alone" in page.plot.figure.headline
    assert page.table.model().rowCount() == 4
    qtbot.mouseClick(page.settings.figure.button_for(Figure.EQUIVALENCE), LEFT)
    assert page.pages.currentWidget() is page.result
    assert "Fig. 6" in page.found.text()


def test_growth_and_cost_have_sizes_of_their_own(qtbot, page):
    settings = page.settings
    qtbot.mouseClick(settings.figure.button_for(Figure.GROWTH), LEFT)
    assert settings.recipients.isVisible()
    assert not settings.simulations.isVisible()
    choose(settings.values, "disease")
    set_number(qtbot, settings.recipients, "8")
    run(qtbot, page)
    assert page.table.model().rowCount() == 8
    assert page.plot.figure.headline.startswith("With 8 recipients")
    qtbot.mouseClick(settings.figure.button_for(Figure.COST), LEFT)
    assert page.pages.currentWidget() is page.empty
    set_number(qtbot, settings.releases, "20")
    set_number(qtbot, settings.records, "50")
    run(qtbot, page)
    assert "20 releases of 50 records" in page.found.text()
    assert page.plot.figure.headline.startswith("After 20 releases")


def test_other_settings_are_another_question(qtbot, page):
    set_number(qtbot, page.settings.simulations, "5000")
    choose(page.settings.values, "disease")
    run(qtbot, page)
    set_number(qtbot, page.settings.simulations, "6000")
    assert page.pages.currentWidget() is page.empty
    set_number(qtbot, page.settings.simulations, "5000")
    assert page.pages.currentWidget() is page.result


def test_a_running_experiment_shows_its_progress_and_can_be_cancelled(qtbot, page, monkeypatch):
    reached = threading.Event()

    def endless(*arguments):
        while True:
            arguments[-1].report(0.4, "Simulating releases")
            reached.wait(0.01)

    monkeypatch.setattr(experiments, "run_experiment", endless)
    click(page.run_button)
    assert page.pages.currentWidget() is page.working
    assert page.state() is PanelState.IN_PROGRESS
    assert not page.run_button.isEnabled()
    qtbot.waitUntil(lambda: page.progress.value() == 400)
    assert "Simulating releases" in page.doing.text()
    click(page.cancel_button)
    wait_for_jobs(qtbot, page.session)
    assert page.pages.currentWidget() is page.empty
    assert page.run_button.isEnabled()


def test_a_column_with_too_many_values_is_refused_in_words(qtbot, panel, page, monkeypatch):
    monkeypatch.setattr("sfumato.engine.disclosure.experiments.priors.LARGEST_SIZE", 3)
    choose(page.settings.values, "disease")
    run(qtbot, page)
    [told] = messages(panel.messages)
    assert "2 to 3 values; this one has 4" in told
    assert page.pages.currentWidget() is page.empty


def test_what_was_found_on_a_column_is_forgotten_with_the_table(qtbot, page):
    set_number(qtbot, page.settings.simulations, "5000")
    choose(page.settings.values, "disease")
    run(qtbot, page)
    assert page.state() is PanelState.DONE
    page.session.undo()
    assert page.state() is PanelState.EMPTY
    assert page.settings.values.count() == 2


def test_made_up_values_need_no_table(qtbot, panel):
    page = panel.show_page(ExperimentsPage)
    qtbot.mouseClick(page.settings.figure.button_for(Figure.GROWTH), LEFT)
    set_number(qtbot, page.settings.recipients, "2")
    run(qtbot, page)
    assert "50 equally frequent values" in page.found.text()
