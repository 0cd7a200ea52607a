"""The states of the Releases panel."""

from __future__ import annotations

from app.ui.panels.releases.panel import RELEASE_JOB, ReleasesPanel
from app.ui.scenes import Scene, Stage


def _panel(stage: Stage) -> ReleasesPanel:
    panel = stage.panel("releases")
    assert isinstance(panel, ReleasesPanel)
    panel.form.folder.setText("/home/ada/releases")
    return panel


def _ready(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage)


def _working(stage: Stage) -> None:
    stage.open_sample()
    stage.create_project()
    panel = _panel(stage)
    recipients = stage.session.document.recipients
    panel.form.show_job(
        stage.hold(f"Releasing to {recipients[0].name}", 0.4, "Writing data.csv", RELEASE_JOB)
    )


def _filled(stage: Stage) -> None:
    stage.open_sample()
    stage.create_project(released=True)
    _panel(stage)
    stage.settle()


def _verified(stage: Stage) -> None:
    _filled(stage)
    bundle = min((stage.folder / "bundles").iterdir())
    _panel(stage).verify(bundle)
    stage.settle()


def _altered(stage: Stage) -> None:
    _filled(stage)
    bundle = min((stage.folder / "bundles").iterdir())
    data = bundle / "data.csv"
    lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
    data.write_text("".join([lines[0], lines[2], lines[1], *lines[3:]]), encoding="utf-8")
    _panel(stage).verify(bundle)
    stage.settle()


SCENES = (
    Scene("empty", _panel),
    Scene("ready", _ready),
    Scene("working", _working),
    Scene("filled", _filled),
    Scene("verified", _verified),
    Scene("error", _altered),
)
