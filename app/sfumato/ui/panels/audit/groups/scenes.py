"""The states of the pages about small groups."""

from __future__ import annotations

from typing import TypeVar

from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.audit.pages.count_queries import CountQueriesPage
from sfumato.ui.panels.audit.pages.group_risk import GroupRiskPage
from sfumato.ui.panels.audit.pages.noisy_answers import NoisyAnswersPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.scenes import Scene, Stage

Page = TypeVar("Page", bound=AuditPage)


def _page(stage: Stage, kind: type[Page]) -> Page:
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    page = panel.show_page(kind)
    assert isinstance(page, kind)
    stage.settle()
    return page


def _risk_empty(stage: Stage) -> None:
    _page(stage, GroupRiskPage)


def _risk(stage: Stage) -> GroupRiskPage:
    stage.open_sample()
    page = _page(stage, GroupRiskPage)
    page.bar.knowledge.tick("admission_date", False)
    stage.settle()
    return page


def _risk_filled(stage: Stage) -> None:
    _risk(stage)


def _risk_groups(stage: Stage) -> None:
    page = _risk(stage)
    bar = page.sheet.verticalScrollBar()
    bar.setValue(bar.maximum())
    stage.settle()


def _risk_published(stage: Stage) -> None:
    page = _risk(stage)
    page.rule.button_for("simplified").click()
    stage.settle()


def _queries(stage: Stage) -> CountQueriesPage:
    stage.open_sample()
    page = _page(stage, CountQueriesPage)
    page.bar.knowledge.tick("admission_date", False)
    stage.settle()
    return page


def _queries_filled(stage: Stage) -> None:
    page = _queries(stage)
    field = page.form.conditions["sex"]
    field.set_value("female")
    field.chosen.emit("female")
    stage.settle()


def _queries_compared(stage: Stage) -> None:
    page = _queries(stage)
    page.compare.click()
    stage.settle()
    bar = page.sheet.verticalScrollBar()
    bar.setValue(bar.maximum())
    stage.settle()


def _queries_working(stage: Stage) -> None:
    page = _queries(stage)
    stage.hold("Counting released values", 0.4, "Releasing diagnosis", key=page.job)
    page.say(page.translated(page.working) + "…")
    page.clear_answer()


def _noisy(stage: Stage) -> NoisyAnswersPage:
    stage.open_sample()
    page = _page(stage, NoisyAnswersPage)
    page.bar.knowledge.tick("admission_date", False)
    stage.settle()
    return page


def _noisy_filled(stage: Stage) -> None:
    _noisy(stage)


def _noisy_none(stage: Stage) -> None:
    page = _noisy(stage)
    page.smallest.spin.setValue(100_000)
    stage.settle()


SCENES = (
    Scene("groups-empty", _risk_empty),
    Scene("groups-filled", _risk_filled),
    Scene("groups-chosen", _risk_groups),
    Scene("groups-published", _risk_published),
    Scene("queries-filled", _queries_filled),
    Scene("queries-compared", _queries_compared),
    Scene("queries-working", _queries_working),
    Scene("noisy-filled", _noisy_filled),
    Scene("noisy-none", _noisy_none),
)
