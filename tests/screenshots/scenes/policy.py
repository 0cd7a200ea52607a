"""The states of the Policy panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies, with_statement
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Taxonomy
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.project.document.edits import with_entry
from sfumato.project.document.model import Document, ViewRule
from sfumato.ui.panels.policy.mechanisms.base import SettingsEditor
from sfumato.ui.panels.policy.mechanisms.distribution import (
    DistributionEditor,
    DistributionSettings,
)
from sfumato.ui.panels.policy.mechanisms.gaussian import (
    GaussianEditor,
    GaussianSettingsEditor,
)
from sfumato.ui.panels.policy.mechanisms.hadamard import HadamardEditor
from sfumato.ui.panels.policy.mechanisms.hierarchical import (
    HierarchicalEditor,
    HierarchicalSettings,
)
from sfumato.ui.panels.policy.mechanisms.joint import JointSettings
from sfumato.ui.panels.policy.mechanisms.laplace import LaplaceEditor
from sfumato.ui.panels.policy.mechanisms.matrix import MatrixEditor, MatrixSettings
from sfumato.ui.panels.policy.mechanisms.per_value.editor import FineGrainEditor, FineGrainSettings
from sfumato.ui.panels.policy.mechanisms.per_value.grid import HIGH, LOW
from sfumato.ui.panels.policy.mechanisms.reconstruction import (
    ReconstructionEditor,
    ReconstructionSettings,
)
from sfumato.ui.panels.policy.panel import PolicyPanel
from sfumato.ui.state.insights import SurveyedTable
from tests.household import household_survey
from tests.in_batches import in_batches
from tests.proposed import proposed_columns
from tests.screenshots.stage import Scene, Stage

SIX = ("age", "sex", "marital_status", "region", "household_size", "children")
"""The quasi-identifiers of a survey with many more columns."""


def _panel(stage: Stage) -> PolicyPanel:
    panel = stage.panel("policy")
    assert isinstance(panel, PolicyPanel)
    return panel


def _unprotected(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    stage.session.edit("Clear", replace(document, policy=(), recipients=()))
    _panel(stage)


def _planned(stage: Stage, *, full: bool = False) -> None:
    _unprotected(stage)
    panel = _panel(stage)
    panel.plan.propose()
    stage.settle()
    if full:
        [message] = panel.messages.messages
        message.actions[0].run()
        stage.settle()


def _nobody(stage: Stage) -> None:
    stage.open_sample()
    stage.session.edit("Clear", replace(stage.session.document, recipients=()))
    _panel(stage)


def _filled(stage: Stage) -> None:
    stage.open_sample()
    _panel(stage)
    stage.settle()


def _views(stage: Stage) -> None:
    _filled(stage)
    panel = _panel(stage)
    panel.scroll_to(panel.views)
    stage.settle()


def _many_views(stage: Stage) -> None:
    """Four recipients with long names, eight quasi-identifiers, and two orders of trust."""
    table = stage.open_sample()
    frame, session = table.frame.copy(), stage.session
    frame["municipality_of_residence"] = frame["region"].astype(str) + (
        "-" + (table.column(stage.called("birth_year")) % 4).astype(str)
    )
    frame["household_size"] = (table.column(stage.called("birth_year")) % 5 + 1).astype("int64")
    frame["citizenship"] = np.where(
        table.column(stage.called("birth_year")) % 9 == 0, "other", "own"
    )
    wide, document = Table(frame), session.document
    for name in frame.columns[len(table.frame.columns) :]:
        kind = Kind.NUMERIC if name == "household_size" else Kind.CATEGORICAL
        spec = ColumnSpec(name, Role.QUASI_IDENTIFIER, kind)
        document = replace(document, columns=(*document.columns, spec))
    document, _ = with_proposed_hierarchies(document, wide)
    first, second, third = document.recipients
    document = replace(
        document,
        recipients=(
            replace(first, name="Regional office of public health and the environment"),
            replace(second, name="University study group on length of stay"),
            replace(third, name="Insurer"),
            replace(third, name="Public file", view=ViewRule(20, 0.05)),
        ),
    )
    document = with_statement(document, document.recipients[0].name, 10, 0.02)
    session.open_table(
        "Open", SurveyedTable.of(in_batches(wide)), find_views(document, in_batches(wide), Silent())
    )
    stage.settle()
    panel = _panel(stage)
    stage.settle()
    panel.scroll_to(panel.views)
    stage.settle()


def open_survey(stage: Stage, quasi: Sequence[str] = SIX) -> None:
    """Open a survey of 34 columns, with three recipients and levels for some quasi-identifiers."""
    table = Table(household_survey())
    document = Document(title="survey", columns=proposed_columns(table))
    for spec in document.columns:
        if spec.role is Role.QUASI_IDENTIFIER and spec.name not in quasi:
            document = document.with_column(replace(spec, role=Role.INSENSITIVE))
    domain = Domain.of_column(table.column("religion"))
    asked = ColumnSpec("religion", Role.SENSITIVE, Kind.CATEGORICAL, domain)
    document = document.with_column(asked)
    stage.session.open_table("Open", SurveyedTable.of(in_batches(table)), document)
    stage.settle()
    panel = _panel(stage)
    stage.settle()
    panel.unprotected.protect.click()
    stage.settle()
    panel.page.recipients.add_typical.click()
    stage.settle()
    panel.views.propose.click()
    stage.settle()
    panel.views.state_k.click()
    stage.settle()
    panel.scroll_to(panel.views.picture)
    stage.settle()


def _lattice(stage: Stage, *, wide: bool = False) -> None:
    (_many_views if wide else _views)(stage)
    panel = _panel(stage)
    panel.scroll_to(panel.views.picture)
    picture = panel.views.picture
    picture.choose(stage.session.document.recipients[-2].name)
    stage.settle()
    assert picture.node is not None
    picture.look(tuple(min(level, 1) for level in picture.node))
    stage.settle()
    panel.scroll_to(picture)
    stage.settle()


def _level(stage: Stage) -> None:
    _filled(stage)
    page = _panel(stage).page
    if page.editor is not None:
        _panel(stage).scroll_to(page.editor)
    stage.settle()


def _refused(stage: Stage) -> None:
    _filled(stage)
    panel = _panel(stage)
    recipient = stage.session.document.recipients[0].name
    key = stage.session.document.sensitive[0].name
    panel.state_level(recipient, key, {"rho1": 0.5, "rho2": 0.2})
    if panel.page.editor is not None:
        panel.scroll_to(panel.page.editor)
    stage.settle()


def _stale(stage: Stage) -> None:
    stage.open_sample()
    document = stage.session.document
    name = document.sensitive[0].name
    column = replace(document.column(name), role=Role.INSENSITIVE)
    panel = _panel(stage)
    panel.choose(name)
    stage.session.edit("Change", document.with_column(column))


def _settings(stage: Stage, mechanism: str) -> SettingsEditor:
    """Protect the first attribute by one of the mechanisms that have settings."""
    stage.open_sample()
    panel = _panel(stage)
    stage.settle()
    attribute = stage.session.attribute(stage.session.document.sensitive[0].name)
    if attribute is not None:
        chosen = mechanism_called(mechanism)
        settings = chosen.first_settings((attribute.attribute,), stage.session.noise)
        document = with_entry(stage.session.document, attribute.attribute, mechanism, settings)
        stage.session.edit("Protect", document)
    panel.choose(stage.session.document.sensitive[0].name)
    stage.settle()
    editor = panel.page.settings
    assert editor is not None
    return editor


def _values(stage: Stage, view: str = "values") -> None:
    editor = _settings(stage, FineGrainEditor.mechanism)
    assert isinstance(editor, FineGrainSettings)
    editor.result.show_view(view)
    if view == "curve":
        editor.result.curve.compare()
    stage.settle()
    if view != "values":
        pictures = {"matrices": editor.result.matrices, "curve": editor.result.curve.plot}
        _panel(stage).scroll_to(pictures[view])
    stage.settle()


def _faulty_values(stage: Stage) -> None:
    editor = _settings(stage, FineGrainEditor.mechanism)
    assert isinstance(editor, FineGrainSettings)
    editor.model.written.emit({(0, LOW): "0.5", (0, HIGH): "0.2", (2, LOW): "many"})
    _panel(stage).scroll_to(editor.problem)
    stage.settle()


def protect_by_distribution(stage: Stage, *, values: bool = False) -> None:
    """Protect the sample's first sensitive column by a published distribution."""
    editor = _settings(stage, DistributionEditor.mechanism)
    stage.settle()
    if values:
        assert isinstance(editor, DistributionSettings)
        _panel(stage).scroll_to(editor.list)
        stage.settle()


def protect_chapters(stage: Stage) -> HierarchicalSettings:
    """Protect the sample's first sensitive column by chapters of two hierarchy levels."""
    editor = _settings(stage, HierarchicalEditor.mechanism)
    assert isinstance(editor, HierarchicalSettings)
    name = stage.session.document.sensitive[0].name
    domain = stage.session.document.column(name).domain
    assert domain is not None
    rows = tuple(
        (str(value), "Acute" if at % 3 else "Chronic", "Ill", "*")
        for at, value in enumerate(domain.values)
    )
    stage.session.edit("Change", stage.session.document.with_hierarchy(name, Taxonomy(rows)))
    stage.settle()
    editor.level.chosen.emit(1)
    stage.settle()
    return editor


def _chapters(stage: Stage, *, typed: bool = False) -> None:
    editor = protect_chapters(stage)
    if typed:
        editor.value_sheet.write(editor.values.index(1, 1), "Of its own")
        stage.settle()
        _panel(stage).scroll_to(editor.value_sheet)
    stage.settle()


def protect_by_symbols(stage: Stage, *, level: bool = False) -> None:
    """Protect the sample's first sensitive column by symbols, which are for counting."""
    _settings(stage, HadamardEditor.mechanism)
    if level:
        panel = _panel(stage)
        panel.scroll_to(panel.page.editor.meaning)
    stage.settle()


def _chances(stage: Stage, *, faulty: bool = False) -> None:
    editor = _settings(stage, MatrixEditor.mechanism)
    assert isinstance(editor, MatrixSettings)
    if faulty:
        editor.matrix.entries.written.emit({(0, 0): "0.3", (1, 1): "many", (2, 3): "0"})
    stage.settle()


def _small_groups(stage: Stage, *, asked: float = 17.0, test: str = "exact") -> None:
    editor = _settings(stage, ReconstructionEditor.mechanism)
    assert isinstance(editor, ReconstructionSettings)
    editor.public.chosen.emit(("sex", stage.called("birth_year"), "region"))
    editor.rule.chosen.emit(test)
    editor.delta.value_changed.emit(asked)
    stage.settle()
    if test != "exact":
        _panel(stage).scroll_to(editor.figures)
    stage.settle()


def _numbers(
    stage: Stage, *, together: bool = True, mechanism: str = GaussianEditor.mechanism
) -> PolicyPanel:
    stage.open_numbers(together=together, mechanism_name=mechanism)
    panel = _panel(stage)
    stage.settle()
    return panel


def _numbers_level(stage: Stage) -> None:
    panel = _numbers(stage)
    if panel.page.editor is not None:
        panel.scroll_to(panel.page.editor)
    stage.settle()


def _bounds(stage: Stage, *, level: bool = False) -> None:
    panel = _numbers(stage, together=False, mechanism=LaplaceEditor.mechanism)
    if level and panel.page.editor is not None:
        panel.scroll_to(panel.page.editor)
    stage.settle()


def _rounding(stage: Stage) -> None:
    panel = _numbers(stage)
    settings = panel.page.settings
    assert isinstance(settings, GaussianSettingsEditor)
    for part in ("rounding", "lowest"):
        settings.forms.cells["length_of_stay", part].use.click()
    stage.settle()
    panel.scroll_to(settings.problem)
    stage.settle()


def protect_combinations(stage: Stage, *, limits: bool = False) -> None:
    """Protect two columns of the sample as one, alike or with limits of their own."""
    stage.open_sample()
    panel, session = _panel(stage), stage.session
    document = session.document
    other = next(c.name for c in document.columns if c.name == "region")
    column = session.table.column(other)
    spec = ColumnSpec(other, Role.SENSITIVE, Kind.CATEGORICAL, Domain.of_column(column))
    session.edit("Protect too", document.with_column(spec))
    stage.settle()
    first = session.document.policy[0].attributes[0]
    panel.choose(first)
    stage.settle()
    panel.page.together.boxes[other].click()
    stage.settle()
    settings = panel.page.settings
    assert isinstance(settings, JointSettings)
    if limits:
        settings.kind.chosen.emit(True)
        for name, field in settings.values.items():
            field.setCurrentIndex(2)
            if name == first:
                settings.add.click()
        settings.add.click()
        panel.scroll_to(settings)
    stage.settle()


SCENES = (
    Scene("empty", _panel),
    Scene("unprotected", _unprotected),
    Scene("nobody", _nobody),
    Scene("planned", _planned),
    Scene("planned-in-full", partial(_planned, full=True)),
    Scene("filled", _filled),
    Scene("views", _views),
    Scene("views-many", _many_views),
    Scene("views-lattice", _lattice),
    Scene("views-lattice-large", partial(_lattice, wide=True)),
    Scene("survey", open_survey),
    Scene("level", _level),
    Scene("error", _refused),
    Scene("stale", _stale),
    Scene("limits", _values),
    Scene("limits-error", _faulty_values),
    Scene("limits-beside-uniform", partial(_values, view="matrices")),
    Scene("limits-over-theta", partial(_values, view="curve")),
    Scene("replacements", protect_by_distribution),
    Scene("replacements-values", partial(protect_by_distribution, values=True)),
    Scene("combinations", protect_combinations),
    Scene("combinations-limits", partial(protect_combinations, limits=True)),
    Scene("chapters", _chapters),
    Scene("chapters-typed", partial(_chapters, typed=True)),
    Scene("symbols", protect_by_symbols),
    Scene("symbols-level", partial(protect_by_symbols, level=True)),
    Scene("chances", _chances),
    Scene("chances-error", partial(_chances, faulty=True)),
    Scene("small-groups", _small_groups),
    Scene("small-groups-published-test", partial(_small_groups, test="simplified")),
    Scene("small-groups-error", partial(_small_groups, asked=60.0)),
    Scene("numbers", _numbers),
    Scene("numbers-apart", partial(_numbers, together=False)),
    Scene("numbers-level", _numbers_level),
    Scene("numbers-rounding", _rounding),
    Scene("bounds", _bounds),
    Scene("bounds-level", partial(_bounds, level=True)),
)
