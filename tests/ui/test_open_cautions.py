"""What open columns tell, on the guarantee card: the smaller figure, and what helps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.coarsening.views import with_level, with_proposed_hierarchies, with_statement
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.shell.guarantee_lines import OpenCaution
from sfumato.ui.state.insights import SurveyedTable
from tests.engine.numbers import stated_settings
from tests.in_batches import in_batches
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import on_screen

LEFT = Qt.MouseButton.LeftButton
ROWS = 600


def books() -> Table:
    rng = np.random.default_rng(8)
    revenue = rng.lognormal(11.0, 0.8, ROWS).round()
    costs = (revenue * rng.uniform(0.5, 0.95, ROWS)).round()
    return Table(pd.DataFrame({"revenue": revenue, "costs": costs, "result": revenue - costs}))


def decided(level: float = 0.25) -> Document:
    columns = (
        ColumnSpec("revenue", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("costs", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("result", Role.SENSITIVE, Kind.NUMERIC),
    )
    attribute = encode_column(books(), columns[2]).attribute
    entry = PolicyEntry(("result",), "gaussian", stated_settings([attribute]))
    bank = Recipient("Bank", {"result": {"sigma_squared": level}})
    return Document("Books", columns=columns, policy=(entry,), recipients=(bank,))


@pytest.fixture
def card(qtbot, session):
    session.open_table("Open", SurveyedTable.of(in_batches(books())), decided())
    made = on_screen(qtbot, GuaranteeCard(session), 288, 900)
    made.explain("Bank")
    qtbot.waitUntil(lambda: bool(cautions(made)))
    return made


def cautions(card) -> list[OpenCaution]:
    return [each for each in card.findChildren(OpenCaution) if each.isVisible()]


def known(qtbot, session, level):
    """What is told beside the bank's release at a level, once it is known."""
    session.open_columns()
    wait_for_jobs(qtbot, session)
    return session.open_columns().beside("result", "Bank", level)


def roles(session):
    return {spec.name: spec.role for spec in session.document.columns}


def test_the_card_says_the_smaller_figure_and_why(card):
    said = card.text()
    assert "From revenue and costs, released unperturbed" in said
    assert "within ±\u202f0 without any release" in said
    assert "result = revenue − costs in every row" in said
    assert "can at best place" not in said


def test_columns_are_left_out_in_one_click(qtbot, session, card):
    qtbot.mouseClick(cautions(card)[0].drop, LEFT)
    assert roles(session)["revenue"] is roles(session)["costs"] is Role.IDENTIFYING
    qtbot.waitUntil(lambda: not cautions(card))
    session.undo()
    assert roles(session)["revenue"] is Role.INSENSITIVE


def test_columns_are_protected_together_in_one_click(qtbot, session, card):
    qtbot.mouseClick(cautions(card)[0].protect, LEFT)
    wait_for_jobs(qtbot, session)
    [entry] = session.document.policy
    assert set(entry.attributes) == {"revenue", "costs", "result"}
    assert roles(session)["costs"] is Role.SENSITIVE
    [bank] = session.document.recipients
    assert list(bank.statements) == [entry.key]


@pytest.mark.slow
def test_columns_are_made_coarser_in_one_click(qtbot, session, card):
    before = session.open_columns().beside("result", "Bank")[0]
    qtbot.mouseClick(cautions(card)[0].coarsen, LEFT)
    wait_for_jobs(qtbot, session)
    binning = session.document.column("revenue").binning
    assert binning is not None
    [after] = known(qtbot, session, 0.25)
    assert after.open > before.open
    assert after.exact == ""


@pytest.mark.slow
def test_the_card_says_at_once_that_a_recipient_sees_a_column_more_coarsely(qtbot, session, card):
    document = session.document
    quasi = replace(document.column("revenue"), role=Role.QUASI_IDENTIFIER)
    plain = replace(document.column("costs"), role=Role.IDENTIFYING)
    document = document.with_column(quasi).with_column(plain)
    session.edit("Decide", with_proposed_hierarchies(document, books())[0])
    wait_for_jobs(qtbot, session)
    assert "more coarsely" not in card.text()
    document = with_statement(session.document, "Bank", k=2)
    session.edit("Coarsen", with_level(document, "Bank", "revenue", 1)[0])
    qtbot.waitUntil(lambda: "Bank sees it more coarsely" in card.text())
    assert "somebody who knows revenue as the table has it" in card.text()


@pytest.mark.slow
def test_figures_of_another_level_are_not_on_screen(qtbot, session, card):
    first = session.open_columns().beside("result", "Bank", 0.25)
    assert first
    [bank] = session.document.recipients
    other = replace(bank, statements={"result": {"sigma_squared": 1.0}})
    session.edit("Trust less", replace(session.document, recipients=(other,)))
    assert session.open_columns().beside("result", "Bank", 1.0) == ()
    [figure] = known(qtbot, session, 1.0)
    assert figure.released > first[0].released
