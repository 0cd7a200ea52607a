"""The states of the pages about small groups."""

from __future__ import annotations

from functools import partial

from sfumato.analysis.questions import question_called
from sfumato.ui.panels.audit.pages.answer import AnswerPage, page_of
from sfumato.ui.panels.audit.pages.count_queries import CountQueriesPage
from sfumato.ui.panels.audit.pages.group_risk import GroupRiskPage
from tests.screenshots.scenes.audit import audit_page
from tests.screenshots.stage import Scene, Stage


def _risk(stage: Stage) -> GroupRiskPage:
    stage.open_sample()
    page = audit_page(stage, GroupRiskPage)
    page.bar.knowledge._actions["admission_date"].setChecked(False)
    stage.settle()
    return page


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
    page = audit_page(stage, CountQueriesPage)
    page.bar.knowledge._actions["admission_date"].setChecked(False)
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


def _noisy(stage: Stage) -> AnswerPage:
    stage.open_sample()
    page = audit_page(stage, page_of(question_called("noisy-counts")))
    page.bar.knowledge._actions["admission_date"].setChecked(False)
    stage.settle()
    return page


def _noisy_none(stage: Stage) -> None:
    page = _noisy(stage)
    page.fields["larger-than"].spin.setValue(100_000)
    stage.settle()


SCENES = (
    Scene("groups-empty", partial(audit_page, kind=GroupRiskPage)),
    Scene("groups-filled", _risk),
    Scene("groups-chosen", _risk_groups),
    Scene("groups-published", _risk_published),
    Scene("queries-filled", _queries_filled),
    Scene("queries-compared", _queries_compared),
    Scene("queries-working", _queries_working),
    Scene("noisy-filled", _noisy),
    Scene("noisy-none", _noisy_none),
)
