"""The states of the Releases panel."""

from __future__ import annotations

from dataclasses import replace

from sfumato.project.document.adopted_files import BY_KEY, AdoptedFile, Match
from sfumato.project.ledger import EntryKind
from sfumato.ui.panels.releases.panel import RELEASE_JOB, ReleasesPanel
from tests.screenshots.stage import Scene, Stage


def _panel(stage: Stage) -> ReleasesPanel:
    panel = stage.panel("releases")
    assert isinstance(panel, ReleasesPanel)
    panel.form.folder.setText("/home/ada/releases")
    return panel


def _ready(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage)


def _grave(stage: Stage) -> None:
    """What endangers people: unique records, true values, a view that keeps no k."""
    stage.open_sample()
    document = stage.session.document
    first, second, third = document.recipients
    true_values = {**first.statements, "ward": {"retention_probability": 1.0}}
    assert third.view is not None
    levels = {name: max(level - 1, 0) for name, level in third.view.levels.items()}
    recipients = (
        replace(first, view=None, statements=true_values),
        replace(second, view=None),
        replace(third, view=replace(third.view, levels=levels)),
    )
    stage.session.edit("Show more", replace(document, recipients=recipients))
    panel = _panel(stage)
    stage.settle()
    panel.work.bring_top(panel.readiness)
    stage.settle()


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


def _everything(stage: Stage) -> None:
    """A ledger with an adoption, an override, an edition and a broken seal beside the releases."""
    stage.open_sample()
    stage.create_project(released=True)
    project = stage.session.project
    assert project is not None
    entry, source = project.document.policy[0], project.document.source
    assert source is not None
    earlier = AdoptedFile(
        "/home/ada/earlier/ward-2024.csv",
        source.digest,
        {},
        {entry.attributes[0]: entry.attributes[0]},
        0.2,
        Match(BY_KEY, "patient", "patient"),
        holder="Cancer registry",
        part=(9_120, 10_000),
    )
    adoption = {
        "attribute": entry.key,
        "mechanism": entry.mechanism,
        "holder": earlier.holder,
        "release": earlier.to_dict(),
    }
    reason = {
        "reason": "The research institute returned its copy",
        "release_id": project.releases[-1].release_id,
        "overridden": {entry.key: f"{entry.key} was perturbed for another recipient before"},
    }
    edition = {"from": {"rows": 9_800}, "to": {"rows": source.rows, "path": source.path}}
    finding = {"part": "document", "what": "The recipients or their levels were changed."}
    unsealed = {"reason": "Restored from last week's copy", "findings": [finding]}
    with project.database.transaction() as connection:
        for kind, details in (
            (EntryKind.ADOPTED, adoption),
            (EntryKind.OVERRIDE, reason),
            (EntryKind.SOURCE_CHANGED, edition),
            (EntryKind.ACCEPTED_UNSEALED, unsealed),
        ):
            project.ledger.append(connection, kind, details)
    stage.session.ledger_changed.emit()
    _panel(stage).form.hide()
    stage.settle()


def _narrowed(stage: Stage) -> None:
    _everything(stage)
    _panel(stage).ledger.search.setText("nobody")


SCENES = (
    Scene("empty", _panel),
    Scene("ready", _ready),
    Scene("grave", _grave),
    Scene("working", _working),
    Scene("filled", _filled),
    Scene("ledger", _everything),
    Scene("ledger-nothing", _narrowed),
    Scene("verified", _verified),
    Scene("error", _altered),
)
