"""The states of the Attributes panel."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QGuiApplication

from sfumato.engine.core.columns import Domain
from sfumato.engine.table.table import Table
from sfumato.ui.panels.attributes.detail import IdentifierShown
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.project.test_pooled_rows import a_document
from tests.samples.make_households import households
from tests.screenshots.stage import Scene, Stage


def _panel(stage: Stage) -> AttributesPanel:
    panel = stage.panel("attributes")
    assert isinstance(panel, AttributesPanel)
    return panel


def _proposed(stage: Stage) -> None:
    stage.open_sample(with_rules=False)
    _panel(stage)
    stage.settle()


def _filled(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage).choose(stage.called("diagnosis"))


def _bins(stage: Stage) -> None:
    _proposed(stage)
    panel = _panel(stage)
    panel.choose(stage.called("birth_year"))
    panel.detail.bins.use.click()
    stage.settle()


def _misfit(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    spec = document.column(stage.called("diagnosis"))
    assert spec.domain is not None
    narrower = Domain(spec.domain.values[2:], spec.domain.labels)
    stage.session.edit("Narrow", document.with_column(replace(spec, domain=narrower)))
    _panel(stage).choose(stage.called("diagnosis"))
    stage.settle()


def _ends(stage: Stage) -> None:
    _proposed(stage)
    panel = _panel(stage)
    panel.choose(stage.called("birth_year"))
    panel.detail.coding.propose.click()
    stage.settle()


def _pseudonym(stage: Stage) -> None:
    stage.open_sample()
    panel = _panel(stage)
    panel.choose("record_number")
    editor = panel.detail.pseudonyms
    editor.choice.set_value(IdentifierShown.SOME)
    editor.choice.chosen.emit(IdentifierShown.SOME)
    stage.settle()


def _without_hierarchy(stage: Stage) -> None:
    _proposed(stage)
    _panel(stage).choose("sex")


def _with_hierarchy(stage: Stage) -> None:
    _proposed(stage)
    _panel(stage).choose(stage.called("birth_year"))
    _panel(stage).detail.hierarchy.propose.click()
    stage.settle()


def _editor(stage: Stage, column: str = "birth_year") -> HierarchyDialog:
    _proposed(stage)
    panel = _panel(stage)
    panel.choose(stage.called(column))
    dialog = panel.detail.hierarchy.open_editor(stage.called(column))
    assert dialog is not None
    stage.settle()
    return dialog


def _table_with_problems(stage: Stage) -> None:
    """A table with a row too short, a repeated value, a torn class and values left out."""
    dialog = _editor(stage, "occupation")
    table = stage.session.table
    assert table is not None
    occupations = table.column(stage.called("occupation")).dropna()
    names = sorted(str(value) for value in occupations.unique())
    groups = ("Office", "Manual", "Care")
    rows = [f"{name};{groups[place % 3]};*" for place, name in enumerate(names[:-2])]
    rows.insert(2, rows[0])
    rows[3] = rows[3].rsplit(";", 1)[0]
    rows.append(f"{names[-2].upper()};Care;*")
    QGuiApplication.clipboard().setText("\n".join(rows))
    dialog.paste_button.click()
    stage.settle()


def _unit_found(stage: Stage) -> None:
    stage.session.open_table(
        "Open", SurveyedTable.of(in_batches(Table(households(300)))), a_document()
    )
    _panel(stage).choose("water")
    stage.settle()


def _unit(stage: Stage) -> None:
    _unit_found(stage)
    _panel(stage).unit.protect.click()
    stage.settle()


def _hierarchy_files(stage: Stage) -> None:
    """A folder of hierarchies: one to take, one that lacks values, one for no column."""
    _proposed(stage)
    panel = _panel(stage)
    panel.choose("sex")
    folder = stage.folder / "hierarchies"
    folder.mkdir()
    table = stage.session.table
    assert table is not None
    for name in ("sex", "occupation"):
        values = table.column(stage.called(name)).dropna().unique()
        kept = values if name == "sex" else values[:-2]
        text = "".join(f"{value};*\n" for value in kept)
        (folder / f"survey_{stage.called(name)}.csv").write_text(text, encoding="utf-8")
    (folder / "regions of a country with a long name.csv").write_text("north;*\nsouth;*\n")
    dialog = panel.detail.hierarchy.read_several()
    assert dialog is not None
    dialog.open_paths([folder])
    stage.settle()


SCENES = (
    Scene("empty", _panel),
    Scene("proposed", _proposed),
    Scene("filled", _filled),
    Scene("bins", _bins),
    Scene("ends", _ends),
    Scene("pseudonym", _pseudonym),
    Scene("hierarchy-empty", _without_hierarchy),
    Scene("hierarchy-kept", _with_hierarchy),
    Scene("hierarchy-editor", _editor),
    Scene("hierarchy-problems", _table_with_problems),
    Scene("hierarchy-files", _hierarchy_files),
    Scene("error", _misfit),
    Scene("unit-found", _unit_found),
    Scene("unit", _unit),
)
