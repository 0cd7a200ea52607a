"""The states of the page about a generalized table."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sfumato.engine.generalization.hierarchies.recipes import Taxonomy
from sfumato.project.document.generalization import CriterionChoice
from sfumato.ui.panels.policy.generalized.page import GENERALIZED, GeneralizedPage, Ways
from tests.screenshots.stage import Scene, Stage


def _page(stage: Stage) -> GeneralizedPage:
    panel = stage.panel("policy")
    ways = panel.findChild(Ways)
    assert isinstance(ways, Ways)
    ways.show_way(GENERALIZED)
    return ways.page


def _empty(stage: Stage) -> None:
    stage.open_sample()
    _page(stage)


def _searched(stage: Stage, *, tab: int = 0, view: str = "list", **decided: Any) -> GeneralizedPage:
    stage.generalize(**decided)
    page = _page(stage)
    page.finding.search()
    stage.settle()
    page.tabs.setCurrentIndex(tab)
    page.explore.view.button_for(view).click()
    stage.settle()
    return page


def _in_parts(stage: Stage, tab: int = 1) -> None:
    """What was found for a table that is too long for memory."""
    stage.generalize()
    decided = stage.session.document
    stage.open_long()
    source = stage.session.document.source
    stage.session.edit("Generalize", replace(decided, source=source))
    page = _page(stage)
    page.finding.search()
    stage.settle()
    page.tabs.setCurrentIndex(tab)
    stage.settle()


def _compared(stage: Stage) -> None:
    page = _searched(stage, tab=1)
    searched = page.finding.searched
    assert searched is not None
    for node in searched.result.minimal[1:4]:
        page.explore.select(node)
        page.node_card.pin.click()
    page.explore.view.button_for("compare").click()
    stage.settle()


def _adding(stage: Stage) -> None:
    page = _searched(stage, others=("sex",))
    path = stage.folder / "sex registry.csv"
    dialog = page.others.open_dialog()
    assert dialog is not None
    dialog.open_file(path)
    stage.settle()


def _none_safe(stage: Stage) -> None:
    stage.generalize(criteria=(CriterionChoice("k-anonymity", {"k": 6000}),))
    blunt = Taxonomy((("female", "woman"), ("male", "man")))
    stage.session.edit("Change", stage.session.document.with_hierarchy("sex", blunt))
    _page(stage).finding.search()
    stage.settle()


def _in_a_population(stage: Stage) -> None:
    page = _searched(stage, tab=2, suppression=0.02, sampling_fraction=0.1)
    page.beside.ensureWidgetVisible(page.beside.population)
    stage.settle()


_BESIDE = partial(_searched, others=("sex", "region"), sensitive="diagnosis")

SCENES = (
    Scene("generalized-empty", _empty),
    Scene("generalized", _searched),
    Scene("generalized-in-parts", _in_parts),
    Scene("generalized-beside-others", _BESIDE),
    Scene("generalized-other-table", _adding),
    Scene("generalized-impossible", partial(_searched, others=("occupation",))),
    Scene("generalized-none-safe", _none_safe),
    Scene("generalized-list", partial(_searched, tab=1, suppression=0.02)),
    Scene("generalized-lattice", partial(_searched, tab=1, view="picture", suppression=0.02)),
    Scene("generalized-heights", partial(_searched, tab=1, view="heights")),
    Scene("generalized-compared", _compared),
    Scene("generalized-before-after", partial(_searched, tab=2, suppression=0.02)),
    Scene("generalized-population", _in_a_population),
    Scene("generalized-promise", partial(_searched, tab=3)),
)
