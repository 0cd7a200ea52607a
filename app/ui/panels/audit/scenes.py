"""The states of the Audit panel."""

from __future__ import annotations

from app.ui.panels.audit.pages.coalition import CoalitionPage
from app.ui.panels.audit.panel import AuditPanel
from app.ui.scenes import Scene, Stage


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


SCENES = (
    Scene("empty", _panel),
    Scene("planned", _planned),
    Scene("filled", _released),
    Scene("nobody", _nobody),
)
