"""The states of the Preview panel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from sfumato.ui.panels.preview.panel import JOB, PreviewPanel
from tests.screenshots.scenes.policy import (
    protect_by_distribution,
    protect_by_symbols,
    protect_chapters,
    protect_combinations,
)
from tests.screenshots.stage import Scene, Stage


def _panel(stage: Stage) -> PreviewPanel:
    panel = stage.panel("preview")
    assert isinstance(panel, PreviewPanel)
    return panel


def _filled(stage: Stage, page: int = 0) -> None:
    stage.open_sample()
    panel = _panel(stage)
    stage.settle()
    panel.tabs.setCurrentIndex(page)
    stage.settle()


def _working(stage: Stage) -> None:
    stage.open_sample()
    recipient = stage.session.document.recipients[0].name
    panel = _panel(stage)
    panel.show_waiting(recipient)
    stage.hold(f"Previewing {recipient}", 0.4, "Releasing", JOB)


def _error(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    first = document.recipients[0]
    unmet = {key: {"rho1": 0.5, "rho2": 0.2} for key in first.statements}
    wrong = replace(first, statements=unmet)
    recipients = (wrong, *document.recipients[1:])
    stage.session.edit("State", replace(document, recipients=recipients))
    _panel(stage)
    stage.settle()


def _numbers(stage: Stage, page: str, mechanism: str = "gaussian") -> None:
    stage.open_numbers(together=mechanism == "gaussian", mechanism_name=mechanism)
    panel = _panel(stage)
    stage.settle()
    panel.tabs.setCurrentWidget(getattr(panel, page))
    stage.settle()


def _regression(stage: Stage) -> None:
    _numbers(stage, "estimates")
    page = _panel(stage).estimates
    for box in list(page.beside.boxes.values())[:1]:
        box.click()
    stage.settle()
    page.ensureWidgetVisible(page.regression_note)
    stage.settle()


def _combinations(stage: Stage, page: int = 0) -> None:
    protect_combinations(stage)
    panel = _panel(stage)
    stage.settle()
    panel.tabs.setCurrentIndex(page)
    stage.settle()


def _first(stage: Stage, protect: Callable[[Stage], object], page: int) -> None:
    """Look at the first sensitive column, protected otherwise."""
    protect(stage)
    panel = _panel(stage)
    panel.attribute.setCurrentText(stage.session.document.sensitive[0].name)
    panel.attribute.activated.emit(panel.attribute.currentIndex())
    stage.settle()
    panel.tabs.setCurrentIndex(page)
    stage.settle()


SCENES = (
    Scene("empty", _panel),
    Scene("working", _working),
    Scene("filled", _filled),
    Scene("becomes", partial(_filled, page=1)),
    Scene("posterior", partial(_filled, page=2)),
    Scene("usefulness", partial(_filled, page=3)),
    Scene("error", _error),
    Scene("combinations", _combinations),
    Scene("combinations-usefulness", partial(_combinations, page=3)),
    Scene("chapters", partial(_first, protect=protect_chapters, page=0)),
    Scene("chapters-posterior", partial(_first, protect=protect_chapters, page=2)),
    Scene("chapters-usefulness", partial(_first, protect=protect_chapters, page=3)),
    Scene("symbols", partial(_first, protect=protect_by_symbols, page=0)),
    Scene("symbols-usefulness", partial(_first, protect=protect_by_symbols, page=3)),
    Scene("replacements", partial(_first, protect=protect_by_distribution, page=1)),
    Scene("replacements-usefulness", partial(_first, protect=protect_by_distribution, page=3)),
    Scene("numbers", partial(_numbers, page="numbers")),
    Scene("numbers-distribution", partial(_numbers, page="distribution")),
    Scene("numbers-dependence", partial(_numbers, page="scatter")),
    Scene("numbers-record", partial(_numbers, page="record")),
    Scene("numbers-usefulness", partial(_numbers, page="estimates")),
    Scene("numbers-regression", _regression),
    Scene("bounded-noise", partial(_numbers, page="distribution", mechanism="laplace")),
    Scene("bounded-noise-usefulness", partial(_numbers, page="estimates", mechanism="laplace")),
)
