"""The states of the page about other holders' tables."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sfumato.ui.panels.audit.pages.diversity.page import DiversityPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.scenes import Scene, Stage


def _page(stage: Stage) -> DiversityPage:
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    page = panel.show_page(DiversityPage)
    assert isinstance(page, DiversityPage)
    stage.settle()
    return page


def _filled(stage: Stage, *, needed: float = 3, down: bool = False) -> None:
    stage.generalize(others=("sex", "region"), sensitive="diagnosis")
    page = _page(stage)
    page.l.spin.setValue(needed)
    stage.settle()
    if down:
        page.person.of.set_value(2)
        page.person.share.spin.setValue(20)
        page.person.count.click()
        stage.settle()
        page.work.ensureWidgetVisible(page.person.ways)
    stage.settle()


def _gone(stage: Stage) -> None:
    stage.generalize(others=("sex",))
    Path(stage.folder / "sex registry.csv").unlink()
    _page(stage)


SCENES = (
    Scene("other-holders-empty", _page),
    Scene("other-holders", _filled),
    Scene("other-holders-person", partial(_filled, needed=8, down=True)),
    Scene("other-holders-broken", partial(_filled, needed=8)),
    Scene("other-holders-error", _gone),
)
