"""The states of the Attributes panel."""

from __future__ import annotations

from dataclasses import replace

from app.engine.columns import Domain
from app.ui.panels.attributes.panel import AttributesPanel
from app.ui.scenes import Scene, Stage


def _panel(stage: Stage) -> AttributesPanel:
    panel = stage.panel("attributes")
    assert isinstance(panel, AttributesPanel)
    return panel


def _proposed(stage: Stage) -> None:
    stage.open_sample(with_rules=False)
    _panel(stage)
    stage.settle()


def _filled(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage).choose("diagnosis")


def _bins(stage: Stage) -> None:
    _proposed(stage)
    panel = _panel(stage)
    panel.choose("birth_year")
    panel.detail.bins.use.click()
    stage.settle()


def _misfit(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    spec = document.column("diagnosis")
    assert spec.domain is not None
    narrower = Domain(spec.domain.values[2:], spec.domain.labels)
    stage.session.edit("Narrow", document.with_column(replace(spec, domain=narrower)))
    _panel(stage).choose("diagnosis")
    stage.settle()


SCENES = (
    Scene("empty", _panel),
    Scene("proposed", _proposed),
    Scene("filled", _filled),
    Scene("bins", _bins),
    Scene("error", _misfit),
)
