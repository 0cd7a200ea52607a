"""The states of the Releases panel."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QDeadlineTimer

from sfumato.project.approval import add_approver, approve
from sfumato.project.document.adopted_files import BY_KEY, AdoptedFile, RowMatching
from sfumato.project.ledger import EntryKind
from sfumato.project.withdrawal import withdraw
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


def _worthless(stage: Stage) -> None:
    """A column that tells the least trusted recipient next to nothing, and what would help."""
    stage.open_sample()
    document = stage.session.document
    last = document.recipients[-1]
    little = {**last.statements, "ward": {"retention_probability": 0.03}}
    recipients = (*document.recipients[:-1], replace(last, statements=little))
    stage.session.edit("Keep less", replace(document, recipients=recipients))
    panel = _panel(stage)
    stage.settle()
    panel.work.bring_top(panel.readiness)
    stage.settle()


def _office(stage: Stage) -> None:
    """A second person approved one release of three, and an earlier one was withdrawn."""
    stage.open_sample()
    project = stage.create_project(released=True)
    withdraw(project, project.releases[0], "It was made from the extract of last year.")
    add_approver(project, "Grace Hopper", "nanoseconds of wire")
    document = replace(stage.session.document, needs_approval=True)
    stage.session.edit("Ask for approval", document)
    stage.session.save()
    approve(project, [document.recipients[0].name], "Grace Hopper", "nanoseconds of wire")
    stage.session.ledger_changed.emit()
    panel = _panel(stage)
    stage.settle()
    panel.work.bring_top(panel.form)
    stage.settle()


def _office_ledger(stage: Stage) -> None:
    _office(stage)
    panel = _panel(stage)
    panel.work.bring_top(panel.ledger)
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
        RowMatching(BY_KEY, "patient", "patient"),
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


def _counts(stage: Stage) -> None:
    """A table of counts put together by keys, its noise beside the truth."""
    stage.open_sample()
    stage.create_project()
    panel = _panel(stage)
    panel.what.button_for(True).click()
    free = panel.counts.lists.free
    for name, place in zip(free.names[:2], ("rows", "across"), strict=True):
        free.choose(name)
        free.asked.emit(name, place)
    stage.settle()
    deadline = QDeadlineTimer(20_000)
    while panel.counts.preview is None and not deadline.hasExpired():
        stage.settle()


def _counts_cost(stage: Stage) -> None:
    _counts(stage)
    page = _panel(stage).counts
    page.bring_top(page.losses)
    stage.settle()


SCENES = (
    Scene("counts", _counts),
    Scene("counts-cost", _counts_cost),
    Scene("approval", _office),
    Scene("withdrawn", _office_ledger),
    Scene("empty", _panel),
    Scene("ready", _ready),
    Scene("grave", _grave),
    Scene("worthless", _worthless),
    Scene("working", _working),
    Scene("filled", _filled),
    Scene("ledger", _everything),
    Scene("ledger-nothing", _narrowed),
    Scene("verified", _verified),
    Scene("error", _altered),
)
