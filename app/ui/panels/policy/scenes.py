"""The states of the Policy panel."""

from __future__ import annotations

from dataclasses import replace

from app.engine.columns import Role
from app.ui.panels.policy.panel import PolicyPanel
from app.ui.scenes import Scene, Stage


def _panel(stage: Stage) -> PolicyPanel:
    panel = stage.panel("policy")
    assert isinstance(panel, PolicyPanel)
    return panel


def _unprotected(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    stage.session.edit("Clear", replace(document, policy=(), recipients=()))
    _panel(stage)


def _nobody(stage: Stage) -> None:
    stage.open_sample()
    stage.session.edit("Clear", replace(stage.session.document, recipients=()))
    _panel(stage)


def _filled(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage)
    stage.settle()


def _level(stage: Stage) -> None:
    _filled(stage)
    page = _panel(stage).page
    if page.editor is not None:
        _panel(stage).scroll_to(page.editor)
    stage.settle()


def _refused(stage: Stage) -> None:
    _filled(stage)
    panel = _panel(stage)
    recipient = stage.session.document.recipients[0].name
    key = stage.session.document.sensitive[0].name
    panel.state_level(recipient, key, {"rho1": 0.5, "rho2": 0.2})
    if panel.page.editor is not None:
        panel.scroll_to(panel.page.editor)
    stage.settle()


def _stale(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    name = document.sensitive[0].name
    column = replace(document.column(name), role=Role.INSENSITIVE)
    panel = _panel(stage)
    panel.choose(name)
    stage.session.edit("Change", document.with_column(column))


SCENES = (
    Scene("empty", _panel),
    Scene("unprotected", _unprotected),
    Scene("nobody", _nobody),
    Scene("filled", _filled),
    Scene("level", _level),
    Scene("error", _refused),
    Scene("stale", _stale),
)
