"""The states of the Audit panel."""

from __future__ import annotations

from sfumato.report.material import Audience
from sfumato.ui.panels.audit.groups.scenes import SCENES as GROUP_SCENES
from sfumato.ui.panels.audit.pages.coalition.page import CoalitionPage
from sfumato.ui.panels.audit.pages.coalition.scenes import SCENES as COALITION_SCENES
from sfumato.ui.panels.audit.pages.diversity.scenes import SCENES as DIVERSITY_SCENES
from sfumato.ui.panels.audit.pages.experiments.scenes import SCENES as EXPERIMENT_SCENES
from sfumato.ui.panels.audit.pages.leak.scenes import SCENES as LEAK_SCENES
from sfumato.ui.panels.audit.pages.numbers import NumbersPage
from sfumato.ui.panels.audit.pages.record import RecordPage
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.scenes import Scene, Stage


def _panel(stage: Stage) -> AuditPanel:
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    return panel


def _page(stage: Stage) -> CoalitionPage:
    pages = _panel(stage).pages
    return next(page for page in pages if isinstance(page, CoalitionPage))


def _planned(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage)
    stage.settle()


def _released(stage: Stage) -> None:
    stage.open_sample()
    stage.create_project(released=True)
    _panel(stage)
    stage.settle()


def _nobody(stage: Stage) -> None:
    _released(stage)
    _page(stage).model.tick_all(False)
    stage.settle()


def _record(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage).show_page(RecordPage)
    stage.settle()


def _report(stage: Stage) -> ReportPage:
    _released(stage)
    page = _panel(stage).show_page(ReportPage)
    assert isinstance(page, ReportPage)
    stage.settle()
    return page


def _outside(stage: Stage) -> None:
    page = _report(stage)
    page.audience.button_for(Audience.OUTSIDE).click()
    stage.settle()


def _numbers(stage: Stage) -> None:
    stage.open_numbers()
    _panel(stage).show_page(NumbersPage)
    stage.settle()


def _every_question(stage: Stage) -> None:
    """All tabs in sight, as with numbers and other holders' tables."""
    _released(stage)
    panel = _panel(stage)
    for page in panel.pages:
        panel.questions.offer(page, True)
    stage.settle()


SCENES = (
    Scene("empty", _panel),
    Scene("planned", _planned),
    Scene("filled", _released),
    Scene("nobody", _nobody),
    Scene("every-question", _every_question),
    *COALITION_SCENES,
    *EXPERIMENT_SCENES,
    Scene("numbers", _numbers),
    Scene("record-filled", _record),
    *LEAK_SCENES,
    Scene("report-filled", _report),
    Scene("report-outside", _outside),
    *GROUP_SCENES,
    *DIVERSITY_SCENES,
)
