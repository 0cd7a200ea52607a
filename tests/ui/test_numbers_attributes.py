"""Sensitive columns of numbers: they may stay numbers, or be binned, and nothing is an error."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.engine.core.columns import MissingRule, Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import encode_column
from sfumato.project.document.edits import with_roles
from sfumato.ui.panels.attributes import PANEL
from sfumato.ui.panels.base import PanelState
from tests.noise import NOISE
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import choose, on_screen
from tests.ui.payroll import KEY, open_payroll, payroll_document, payroll_table, protected


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 800)
    open_payroll(session, payroll_document())
    wait_for_jobs(qtbot, session)
    made.choose("income")
    return made


def test_numbers_may_stay_numbers(panel):
    assert panel.state() is PanelState.DONE
    assert "protected by noise" in panel.detail.bins.consequence.text()
    assert panel.detail.problem.text() == ""
    assert not panel.detail.domain.isVisible()


def test_bins_make_a_category_of_them(qtbot, panel):
    panel.detail.bins.use.click()
    wait_for_jobs(qtbot, panel.session)
    assert panel.session.document.column("income").domain is not None
    assert "bin's label" in panel.detail.bins.consequence.text()
    panel.detail.bins.use.click()
    assert panel.session.document.column("income").domain is None
    assert "protected by noise" in panel.detail.bins.consequence.text()


def test_a_missing_number_stays_missing_or_stops_a_release(panel):
    names = [panel.detail.missing.itemText(place) for place in range(2)]
    assert names == ["stays missing in releases", "stops a release"]
    choose(panel.detail.missing, MissingRule.REFUSED)
    assert panel.session.document.column("income").missing is MissingRule.REFUSED


def test_only_sensitive_columns_speak_of_protection(panel):
    choose(panel.detail.role, Role.QUASI_IDENTIFIER)
    assert panel.detail.bins.consequence.text() == ""


def test_one_of_several_that_is_sensitive_no_more_leaves_the_others_protected(panel):
    document = protected(rounding={"age": 1.0, "income": 100.0})
    first = replace(document.recipients[0], statements={KEY: {"half_width": 5.0}})
    document = replace(document, recipients=(first, *document.recipients[1:]))
    open_payroll(panel.session, document)
    panel.choose("age")
    choose(panel.detail.role, Role.INSENSITIVE)
    left = panel.session.document
    (entry,) = left.policy
    assert entry.key == "income"
    assert entry.settings["rounding"] == {"income": 100.0}
    stated = [recipient.statements for recipient in left.recipients]
    assert stated[1:] == [{"income": {"sigma_squared": 1.0}}, {"income": {"sigma_squared": 4.0}}]
    gaussian = mechanism_called("gaussian")
    known = {name: panel.session.attribute(name).attribute for name in ("income",)}
    both = [encode_column(payroll_table(), document.column(n)).attribute for n in ("age", "income")]
    before = gaussian.level({"half_width": 5.0}, both, document.policy[0].settings)
    after = gaussian.level(stated[0]["income"], (known["income"],), entry.settings)
    assert after == pytest.approx(before, rel=1e-3)
    (message,) = panel.messages.messages
    assert message.text.startswith("“income” stays protected without “age”")
    panel.session.undo()
    assert panel.session.document == document


def test_where_nobody_knows_the_others_the_entry_waits_to_be_mended():
    document = protected()
    changed = with_roles(document, ["income"], Role.INSENSITIVE, {}, NOISE)
    assert changed.policy == document.policy
    assert changed.recipients == document.recipients
    both = with_roles(changed, ["age"], Role.INSENSITIVE, {}, NOISE)
    assert both.policy == ()
    assert both.recipients[0].statements == {}
