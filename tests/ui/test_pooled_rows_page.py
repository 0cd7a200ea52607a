"""The audit's page about pooling rows that belong together, through its widgets."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure.pooled_rows import pooled_rows, repeated_units
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import PolicyEntry, Recipient, Unit
from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.project.test_pooled_rows import LEVELS, a_document
from tests.samples.make_households import households
from tests.ui.clinic import open_clinic, protected
from tests.ui.hands import choose, click, on_screen, settle, tab_of


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 800)


def page_of(panel):
    return next(page for page in panel.pages if page.translated_title() == "Pooled rows")


def opened(qtbot, panel, document, table=None):
    """Open households, and choose the page by its tab."""
    page = page_of(panel)
    panel.session.open_table(
        "Open", SurveyedTable.of(in_batches(table or Table(households(120)))), document
    )
    settle(qtbot, panel.session)
    click(tab_of(panel.questions, page))
    settle(qtbot, panel.session)
    return page


def with_rent(session, table):
    """The households' document with the rent under noise in place of the water."""
    document = a_document().with_column(ColumnSpec("rent", Role.SENSITIVE, Kind.NUMERIC))
    attribute = encode_column(table, document.column("rent")).attribute
    gaussian = mechanism_called("gaussian")
    settings = gaussian.first_settings([attribute], session.noise)
    stated = gaussian.default_statements(len(LEVELS))
    recipients = tuple(
        Recipient(name, {"rent": statement}) for name, statement in zip(LEVELS, stated, strict=True)
    )
    return replace(
        document, policy=(PolicyEntry(("rent",), "gaussian", settings),), recipients=recipients
    )


@pytest.mark.slow
def test_the_page_is_offered_only_where_rows_show_the_same_truth(qtbot, panel):
    open_clinic(panel.session, protected())
    settle(qtbot, panel.session)
    assert page_of(panel) not in panel.questions.offered
    page = opened(qtbot, panel, a_document())
    assert page in panel.questions.offered
    assert page.state() is PanelState.DONE


@pytest.mark.slow
def test_it_says_and_draws_what_each_recipient_restores(qtbot, panel):
    page = opened(qtbot, panel, a_document())
    choose(page.asked, "water, by household")
    assert "Institute's release draws each of them by itself" in page.sentence.text()
    assert "font-weight:600" in QLabel.text(page.sentence), "columns' names are set apart"
    figure = page.shown.plots[0].figure
    assert list(figure.data["recipient"]) == list(LEVELS)
    session = panel.session
    units = repeated_units(in_batches(session.table), Silent())
    found = {
        one.recipient: one.restored
        for one in pooled_rows(
            session.document, session.attributes(), units, (), ReleaseBasis.EITHER, Silent()
        )
        if (one.attribute, one.column) == ("water", "household")
    }
    assert list(figure.data["pooled"]) == [found[name].rows for name in LEVELS]
    assert list(figure.data["one_row"]) == [found[name].one_row for name in LEVELS]
    assert (figure.data["pooled"] > figure.data["one_row"]).all()
    assert "computed from the matrix" in page.explanation.text()


@pytest.mark.slow
def test_numbers_are_told_by_the_width_that_is_left(qtbot, panel):
    table = Table(households(120))
    page = opened(qtbot, panel, with_rent(panel.session, table), table)
    assert page.asked.value == "rent, by household"
    assert "Pooled, they tell a number within ±" in page.sentence.text()
    assert (
        page.shown.plots[0].figure.data["pooled"] < page.shown.plots[0].figure.data["one_row"]
    ).all()
    assert "within ±" in page.shown.plots[0].figure.headline


@pytest.mark.slow
def test_protecting_by_the_column_leaves_nothing_to_pool(qtbot, panel):
    page = opened(qtbot, panel, a_document())
    assert "drawn once for all of them" in page.remedy.text()
    asked = []
    panel.session.panel_requested.connect(asked.append)
    qtbot.mouseClick(page.go, Qt.MouseButton.LeftButton)
    assert asked == ["attributes"]
    unit = Unit(("household",), 9, ("water",))
    panel.session.edit("Protect", replace(panel.session.document, unit=unit))
    settle(qtbot, panel.session)
    assert page not in panel.questions.offered


def test_without_a_policy_the_page_leads_to_one(qtbot, panel):
    page = opened(qtbot, panel, replace(a_document(), policy=(), recipients=()))
    assert page.pages.currentWidget() is page.empty
    asked = []
    panel.session.panel_requested.connect(asked.append)
    button = page.empty.findChild(type(page.go))
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked == ["policy"]
