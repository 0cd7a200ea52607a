"""The states of the page that traces leaked files."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sfumato.ui.panels.audit.pages.leak.page import LeakPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.scenes import Scene, Stage


def _page(stage: Stage) -> LeakPage:
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    page = panel.show_page(LeakPage)
    assert isinstance(page, LeakPage)
    stage.settle()
    return page


def _released(stage: Stage) -> LeakPage:
    stage.open_sample()
    stage.create_project(released=True)
    return _page(stage)


def _part(stage: Stage, place: int, rows: int) -> pd.DataFrame:
    bundle = sorted((stage.folder / "bundles").iterdir())[place]
    return pd.read_csv(bundle / "data.csv").sample(rows, random_state=7)


def _traced(stage: Stage) -> None:
    page = _released(stage)
    found = stage.folder / "found.csv"
    _part(stage, 1, 200).to_csv(found, index=False)
    page.trace(found)
    stage.settle()


def _mixed(stage: Stage) -> None:
    page = _released(stage)
    found = stage.folder / "found.csv"
    pd.concat([_part(stage, 0, 300), _part(stage, 2, 150)]).to_csv(found, index=False)
    page.trace(found)
    stage.settle()


def _refused(stage: Stage) -> None:
    page = _released(stage)
    found = stage.folder / "found.csv"
    found.write_text("town,rain\nX,1\n", encoding="utf-8")
    page.trace(found)
    stage.settle()


def _equal(stage: Stage) -> None:
    page = _released(stage)
    document = stage.session.document
    first = document.recipients[0]
    same = tuple(replace(r, statements=first.statements) for r in document.recipients)
    stage.session.edit("Same level", replace(document, recipients=same))
    page.spacing.field.spin.setValue(0.0)
    stage.settle()


SCENES = (
    Scene("leak-empty", _page),
    Scene("leak-ready", _released),
    Scene("leak-filled", _traced),
    Scene("leak-mixed", _mixed),
    Scene("leak-equal", _equal),
    Scene("leak-error", _refused),
)
