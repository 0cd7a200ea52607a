"""The parts of the page about coalitions that lie further down."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from sfumato.ui.panels.audit.pages.coalition.page import CoalitionPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.scenes import Scene, Stage


def _page(stage: Stage) -> CoalitionPage:
    stage.open_sample()
    stage.create_project(released=True)
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    stage.settle()
    return next(page for page in panel.pages if isinstance(page, CoalitionPage))


def _scroll_to(stage: Stage, page: CoalitionPage, widget: QWidget) -> None:
    bar = page.scrolled.verticalScrollBar()
    for _ in range(3):  # what comes into sight is drawn, and may take more room
        inside = page.scrolled.widget()
        assert inside is not None
        place = widget.mapTo(inside, widget.rect().topLeft())
        bar.setValue(place.y())
        stage.settle()


def _records(stage: Stage) -> None:
    page = _page(stage)
    _scroll_to(stage, page, page.distribution)


def _files(stage: Stage) -> None:
    page = _page(stage)
    _scroll_to(stage, page, page.files)


def _what_if(stage: Stage) -> None:
    page = _page(stage)
    page.what_if.level.set_value(0.8)
    page.what_if.ask()
    _scroll_to(stage, page, page.what_if)


SCENES = (Scene("records", _records), Scene("files", _files), Scene("what-if", _what_if))
