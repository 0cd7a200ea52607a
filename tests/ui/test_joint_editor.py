"""Categories protected together in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.unperturbed.open_figures import protected_too
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.ui.panels.policy import PANEL
from tests.noise import NOISE
from tests.ui.clinic import open_clinic, wait_for_jobs
from tests.ui.hands import on_screen

LEFT = Qt.MouseButton.LeftButton
DISEASES, WARDS = ("asthma", "cancer", "flu", "none"), ("north", "south")
JOINT = mechanism_called("joint")


def table(rows: int = 400) -> Table:
    rng = np.random.default_rng(6)
    disease = rng.integers(0, 4, rows)
    ward = np.where(rng.random(rows) < 0.8, disease % 2, rng.integers(0, 2, rows))
    values = {"disease": np.array(DISEASES)[disease], "ward": np.array(WARDS)[ward]}
    return Table(pd.DataFrame({**values, "age": 20 + rng.integers(0, 60, rows)}))


def document(ward: Role = Role.SENSITIVE) -> Document:
    columns = (
        ColumnSpec("disease", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DISEASES)),
        ColumnSpec("ward", ward, Kind.CATEGORICAL, Domain(WARDS)),
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
    )
    levels = {"Clinic A": {"retention_probability": 0.4}, "Public": {"rho1": 0.1, "rho2": 0.25}}
    recipients = tuple(Recipient(name, {"disease": stated}) for name, stated in levels.items())
    policy = (PolicyEntry(("disease",), "uniform"),)
    return Document("Clinic", columns=columns, policy=policy, recipients=recipients)


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 1400)
    open_clinic(session, document(), table())
    wait_for_jobs(qtbot, session)
    made.choose("disease")
    return made


def click(qtbot, widget):
    widget.click()
    qtbot.wait(0)


def together(qtbot, panel):
    """Tick the other column; the entry covers both then."""
    click(qtbot, panel.page.together.boxes["ward"])
    return panel.page.settings


def entry(panel):
    return panel.session.document.policy[0]


def test_a_column_that_depends_is_named_and_joined_at_the_same_odds(qtbot, panel):
    assert "Cramér's V" in panel.page.together.advice.text()
    together(qtbot, panel)
    assert entry(panel).attributes == ("disease", "ward")
    assert entry(panel).mechanism == "joint"
    assert panel.page.mechanism.value == "joint"
    clinic, public = (r.statements["disease + ward"] for r in panel.session.document.recipients)
    # 1 + 4·0.4/0.6 for four values is what 8 combinations may cost.
    assert 1 + 8 * clinic["retention_probability"] / (
        1 - clinic["retention_probability"]
    ) == pytest.approx(1 + 4 * 0.4 / 0.6)
    assert public == {"rho1": 0.1, "rho2": 0.25}
    assert "8 combinations" in panel.page.settings.outcome.text()


@pytest.mark.slow
def test_a_column_that_leaves_is_protected_by_itself_again(qtbot, panel):
    together(qtbot, panel)
    click(qtbot, panel.page.together.boxes["ward"])
    entries = {e.attributes: e.mechanism for e in panel.session.document.policy}
    assert entries == {("disease",): "uniform", ("ward",): "uniform"}
    clinic = panel.session.document.recipients[0].statements
    odds = [1 + m * p / (1 - p) for m, p in ((4, _p(clinic, "disease")), (2, _p(clinic, "ward")))]
    assert odds == pytest.approx([1 + 4 * 0.4 / 0.6] * 2)


def _p(statements, key):
    return statements[key]["retention_probability"]


@pytest.mark.slow
def test_limits_are_added_shown_and_removed_and_levels_stay_within_them(qtbot, panel):
    editor = together(qtbot, panel)
    editor.kind.chosen.emit(True)
    assert entry(panel).settings["limits"] == []
    editor.values["disease"].setCurrentText("cancer")
    editor.own[0].set_value(0.05)
    editor.own[1].set_value(0.2)
    click(qtbot, editor.add)
    (limit,) = entry(panel).settings["limits"]
    assert limit == {"values": {"disease": "cancer"}, "rho1": 0.05, "rho2": 0.2}
    assert editor.stated.texts(range(1), 0) == ["cancer · any “ward”"]
    attributes = [panel.session.attribute(name).attribute for name in ("disease", "ward")]
    settings = entry(panel).settings
    for recipient in panel.session.document.recipients:
        level = JOINT.level(recipient.statements["disease + ward"], attributes, settings)
        facts = {f.title: f.value for f in JOINT.promise(level, attributes, settings).facts}
        assert facts["Combinations whose limit is exceeded"] == 0
    assert len(editor.combinations.texts(range(8), 2)) == 8
    editor.list.selectRow(0)
    click(qtbot, editor.remove)
    assert entry(panel).settings["limits"] == []
    editor.kind.chosen.emit(False)
    assert entry(panel).settings == {}
    assert "trust_factor" not in panel.session.document.recipients[0].statements["disease + ward"]


@pytest.mark.slow
def test_a_limit_without_a_value_or_that_can_not_be_met_says_so(qtbot, panel):
    editor = together(qtbot, panel)
    editor.kind.chosen.emit(True)
    click(qtbot, editor.add)
    assert "Choose a value first" in editor.problem.words
    before = entry(panel).settings
    editor.values["ward"].setCurrentText("north")
    editor.own[0].set_value(0.5)
    editor.own[1].set_value(0.2)
    click(qtbot, editor.add)
    assert "don't fit together" in editor.problem.words
    assert entry(panel).settings == before


def test_a_column_that_tells_an_attribute_is_protected_jointly_and_numbers_alone():
    known = MemorySurvey(table())
    changed = protected_too(document(Role.INSENSITIVE), known, "disease", ("age", "ward"), NOISE)
    assert changed.policy[0].attributes == ("disease", "ward")
    assert changed.policy[0].mechanism == "joint"
    assert changed.column("age").role is Role.SENSITIVE
    assert changed.entry_for("age").attributes == ("age",)
    assert all("age" in recipient.statements for recipient in changed.recipients)
