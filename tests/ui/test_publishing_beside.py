"""Publishing a generalized table beside perturbed releases, from the reason to where it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from sfumato.cli import main
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode, Terminal
from sfumato.project.document.generalization import CriterionChoice
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.releases.ledger import LEVELS, RECIPIENT, STATE
from sfumato.ui.state.insights import SurveyedTable
from tests.cli.conftest import Screen
from tests.in_batches import in_batches
from tests.ui.clinic import save_clinic
from tests.ui.generalized_steps import small_document, small_table
from tests.ui.hands import click, messages, settle, type_into

TIP = Qt.ItemDataRole.ToolTipRole
REASON = "The clinic returned its copy"


def perturbed():
    """The small table: ward is perturbed for a clinic, and a generalized table is decided."""
    document = small_document(criteria=(CriterionChoice("k-anonymity", {"k": 10}),))
    return replace(
        document,
        policy=(PolicyEntry(("ward",), "uniform"),),
        recipients=(Recipient("Clinic A", {"ward": {"retention_probability": 0.6}}),),
    )


def release(qtbot, window):
    click(window.rail.step("releases"))
    panel = window.panels["releases"]
    settle(qtbot, window.session)
    panel.readiness.reason.setText("a test")
    click(panel.primary)
    settle(qtbot, window.session)
    return panel


def publish_page(qtbot, window):
    click(window.rail.step("policy"))
    panel = window.panels["policy"]
    click(panel.ways.segments.button_for("generalized"))
    page = panel.ways.page
    qtbot.waitUntil(lambda: not page.finding.working)
    settle(qtbot, window.session)
    page.tabs.setCurrentWidget(page.publish)
    return page.publish


def ledger_lines(tmp_path):
    output = Screen()
    secrets = {PASSPHRASE_VARIABLE: "correct horse"}
    terminal = Terminal(output, Screen(), Screen(), secrets)
    assert main(["ledger", str(tmp_path / "clinic.sfumato")], terminal) == ExitCode.OK
    return output.getvalue()


@pytest.mark.slow
def test_a_typed_reason_is_told_by_the_card_the_command_and_the_report(window, qtbot, tmp_path):
    session = window.session
    session.open_table("Open", SurveyedTable.of(in_batches(small_table())), perturbed())
    save_clinic(session, tmp_path)
    settle(qtbot, session)
    panel = release(qtbot, window)

    page = publish_page(qtbot, window)
    type_into(page.folder, str(tmp_path / "published"))
    click(page.submit)
    settle(qtbot, session)
    assert "perturbed for Clinic A" in messages(window.panels["policy"].messages)[0]
    assert not page.submit.isEnabled(), "a reason is missing"
    assert not (tmp_path / "published").exists() or not any((tmp_path / "published").iterdir())
    type_into(page.reason, REASON)
    click(page.submit)
    settle(qtbot, session)
    assert len(list((tmp_path / "published").iterdir())) == 1

    click(window.rail.step("releases"))
    model = panel.ledger.model
    told = [
        tuple(model.index(row, column).data() for column in (STATE, RECIPIENT, LEVELS))
        for row in range(model.rowCount())
    ]
    assert [line[0] for line in told] == ["Published", "Overridden", "Released", "Created"]
    assert told[1][2] == f"“{REASON}”"
    assert "ward was perturbed for Clinic A" in model.index(1, LEVELS).data(TIP)

    click(window.rail.step("audit"))
    report = window.panels["audit"].show_page(ReportPage)
    qtbot.waitUntil(report.pdf.isEnabled)
    assert REASON in report.view.toPlainText()

    session.set_project(None)  # the command is refused a project that is open in a window
    lines = ledger_lines(tmp_path).splitlines()
    assert [line for line in lines if "override" in line and REASON in line]
