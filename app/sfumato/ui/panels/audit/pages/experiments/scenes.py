"""The states of the page about experiments."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.analysis.experiments import Figure
from sfumato.engine.core.errors import PolicyError
from sfumato.ui.panels.audit.pages.experiments.page import JOB, ExperimentsPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.scenes import Scene, Stage


def _page(stage: Stage) -> ExperimentsPage:
    stage.open_sample()
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    page = panel.show_page(ExperimentsPage)
    assert isinstance(page, ExperimentsPage)
    stage.settle()
    return page


def _run(figure: Figure, simulations: float = 2e6) -> Callable[[Stage], None]:
    def arrange(stage: Stage) -> None:
        page = _page(stage)
        page.settings.figure.set_value(figure)
        page.settings.figure.chosen.emit(figure)
        page.settings.simulations.set_value(simulations)
        page.settings.releases.set_value(300)
        page.settings.records.set_value(1000)
        page.run()
        stage.settle()

    return arrange


def _working(stage: Stage) -> None:
    page = _page(stage)
    page.run()
    page.session.runner.cancel(JOB)
    job = stage.hold("Running an experiment", 0.42, "Simulating releases", key=JOB)
    page.run_button.setEnabled(False)
    page.pages.setCurrentWidget(page.working)
    page._show_progress(job)


def _error(stage: Stage) -> None:
    page = _page(stage)
    page.settings.simulations.set_value(2e6)
    page._fail(
        PolicyError(
            "The simulation needs a domain of 2 to {largest} values; this one has {size}.",
            "Choose another column, or group its values.",
            largest=64,
            size=301,
        )
    )


SCENES = (
    Scene("experiments-empty", _page),
    Scene("experiments-working", _working),
    Scene("experiments-fig5", _run(Figure.COLLUSION)),
    Scene("experiments-fig7", _run(Figure.GROWTH)),
    Scene("experiments-fig8", _run(Figure.COST)),
    Scene("experiments-error", _error),
)
