"""The policy of attributes that stay numbers: noise, joining and splitting, levels, rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from sfumato.engine.core.columns import Binning, ColumnSpec, Kind, Role
from sfumato.engine.table.covariance import correlation
from sfumato.engine.table.table import Attribute, Table
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.policy.mechanisms.gaussian import GaussianSettingsEditor
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import click, on_screen
from tests.ui.payroll import (
    KEY,
    open_payroll,
    payroll_document,
    payroll_table,
    protected,
)
from tests.ui.policy_steps import editor_of, state_once_checked, statement

APART = (("age",), ("income",))


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 800)


@pytest.fixture
def filled(panel):
    open_payroll(panel.session, protected())
    return panel


@pytest.fixture
def apart(panel):
    open_payroll(panel.session, protected(APART))
    return panel


def tick(box):
    """Click a box that may be ticked, wherever it is laid out."""
    assert box.isEnabled()
    box.click()


def settings_of(panel) -> GaussianSettingsEditor:
    editor = panel.page.settings
    assert isinstance(editor, GaussianSettingsEditor)
    return editor


def keys(panel):
    return [entry.key for entry in panel.session.document.policy]


def test_numbers_are_offered_noise_and_nothing_about_bins(panel):
    open_payroll(panel.session, payroll_document())
    assert panel.unprotected.heading.text() == "“age” is not protected yet"
    assert "bins" not in panel.unprotected.text.text()
    click(panel.unprotected.cards[0])
    (entry,) = panel.session.document.policy
    assert entry.attributes == ("age",)
    assert len(entry.settings["covariance"]) == 1


def test_recipients_the_ladder_and_terms_are_those_of_every_policy(qtbot, filled):
    terms = editor_of(filled).terms
    assert terms.cards["sigma_squared"].text() == "σ² = 0.25"
    assert terms.cards["normalized_error"].text() == "error = 0.2"
    assert terms.cards["half_width"].text().startswith("±\u202f")
    meaning = editor_of(filled).meaning.texts
    assert "Noise moves “age” by" in meaning[1]
    assert "In this table" in meaning[1]
    assert "600" in meaning[2]
    rows = filled.page.recipients.model.rows
    assert [row.level for row in rows] == ["σ² = 0.25", "σ² = 1", "σ² = 4"]
    assert [round(row.trust, 2) for row in rows] == [0.8, 0.5, 0.2]
    assert [row.figure for row in rows] == ["20\u202f%", "50\u202f%", "80\u202f%"]
    head = filled.page.recipients.model.headerData
    assert head(2, Qt.Orientation.Horizontal) == "Unexplained"
    assert "variance" in head(2, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole)
    assert state_once_checked(qtbot, filled) is PanelState.DONE
    assert filled.page.ladder.isVisible()


@pytest.mark.slow
def test_of_several_attributes_it_is_said_whose_unit_the_width_is_in(filled):
    tile = editor_of(filled).terms.cards["half_width"]
    assert tile.sentence == "Uncertainty of “age” if normal"
    tick(filled.page.together.boxes["income"])
    assert editor_of(filled).terms.cards["half_width"].sentence == "Uncertainty if normal"


def test_ticking_an_attribute_protects_both_together_and_unticking_keeps_everybody_s_level(apart):
    assert not settings_of(apart).together.isVisible(), "one is not asked how noise hangs together"
    together = apart.page.together
    assert together.isVisible()
    assert "depends on “age”" in together.advice.text()
    assert not together.boxes["age"].isEnabled()
    tick(together.boxes["income"])
    assert keys(apart) == [KEY]
    settings = apart.session.document.policy[0].settings
    assert np.array(settings["covariance"]).shape == (2, 2)
    assert statement(apart, "Institute", KEY) == {"sigma_squared": 1.0}
    assert set(apart.session.document.recipients[0].statements) == {KEY}
    assert not together.advice.text()
    assert apart.list.currentItem().text() == KEY
    assert settings_of(apart).together.isVisible()
    tick(together.boxes["income"])
    assert keys(apart) == ["age", "income"]
    for name in ("age", "income"):
        assert statement(apart, "Public", name) == {"sigma_squared": 4.0}
    assert apart.list.currentItem().text() == "age"


@pytest.mark.slow
def test_joining_is_one_step_of_undo_and_the_entry_stays_in_sight(apart):
    before = apart.session.document
    apart.choose("income")
    tick(apart.page.together.boxes["age"])
    assert apart.session.undo_text == "Protect “age” + “income” together"
    apart.session.undo()
    assert apart.session.document == before
    assert apart.list.currentItem().text() in ("age", "income")
    apart.session.redo()
    assert keys(apart) == [KEY]


@pytest.mark.slow
def test_what_the_custodian_chose_survives_joining(panel):
    open_payroll(panel.session, protected(APART, noise="separate"))
    tick(panel.page.together.boxes["income"])
    settings = panel.session.document.policy[0].settings
    assert settings["noise"] == "separate"
    assert settings["measured"] == "noisy"


@pytest.mark.slow
def test_an_attribute_that_can_t_join_says_why(panel):
    table = payroll_table()
    flat = Table(table.frame.assign(hours=40.0))
    document = protected(APART)
    document = document.with_column(replace(document.column("hours"), role=Role.SENSITIVE))
    open_payroll(panel.session, document, flat)
    tick(panel.page.together.boxes["hours"])
    (message,) = panel.messages.messages
    assert "hours" in message.text
    assert keys(panel) == ["age", "income"]
    assert not panel.page.together.boxes["hours"].isChecked()


def test_categories_have_no_list_to_join(panel):
    document = payroll_document()
    sex = replace(document.column("sex"), role=Role.SENSITIVE)
    open_payroll(panel.session, document.with_column(sex))
    panel.choose("sex")
    click(panel.unprotected.cards[0])
    assert panel.page.isVisible()
    assert not panel.page.together.isVisible()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_level_is_stated_by_the_slider_a_preset_and_a_rung_of_the_ladder(filled):
    field = editor_of(filled).fields["sigma_squared"]
    field.slider.setValue(500)
    assert statement(filled, key=KEY)["sigma_squared"] == pytest.approx(1.0, rel=1e-3)
    field.slider.setValue(750)
    assert statement(filled, key=KEY)["sigma_squared"] == pytest.approx(10.0, rel=1e-3)
    cards = editor_of(filled).choices.cards
    assert "age ±\u202f" in cards[0].sentence
    click(cards[2])
    assert statement(filled, key=KEY) == {"normalized_error": 0.8}
    filled.page.ladder.chosen.emit("Public")
    filled.page.ladder.dragged.emit("Public", 0.1)
    assert statement(filled, "Public", KEY) == {"sigma_squared": 9.0}
    filled.page.ladder.dragged.emit("Public", 1.0)
    assert statement(filled, "Public", KEY)["sigma_squared"] > 0


@pytest.mark.slow
def test_a_width_is_stated_in_units_within_what_noise_can_do(filled):
    click(editor_of(filled).terms.cards["half_width"])
    field = editor_of(filled).fields["half_width"]
    field.slider.setValue(field.slider.maximum())
    assert 20 < field.value < 60
    field.spin.setValue(12.5)
    assert statement(filled, key=KEY) == {"half_width": 12.5}
    field.field.spin.setValue(1000.0)
    assert "No noise leaves anyone as unsure" in editor_of(filled).problem
    assert statement(filled, key=KEY) == {"half_width": 12.5}


@pytest.mark.slow
def test_noise_of_its_own_says_what_that_costs(filled):
    editor = settings_of(filled)
    assert "does not help" in editor.noise_words.text()
    click(editor.noise.button_for("separate"))
    assert filled.session.document.policy[0].settings["noise"] == "separate"
    assert "help to clear the noise" in editor.noise_words.text()


@pytest.mark.slow
def test_the_size_of_the_noise_can_be_stated_and_measured_again(qtbot, filled):
    choice = settings_of(filled).measured
    assert choice.source.value == "stated"
    click(choice.source.button_for("noisy"))
    wait_for_jobs(qtbot, filled.session)
    assert "multiplies anyone's odds" in choice.words.text()
    click(choice.source.button_for("stated"))
    assert "known without this table" in choice.words.text()
    choice.fields["age"].spin.setValue(12.0)
    wait_for_jobs(qtbot, filled.session)
    assert filled.session.document.policy[0].settings["measured"] == "noisy", "income's is missing"
    choice.fields["income"].spin.setValue(900.0)
    wait_for_jobs(qtbot, filled.session)
    settings = filled.session.document.policy[0].settings
    assert settings["measured"] == "stated"
    assert settings["covariance"][0] == [144.0, 0.0]
    assert "discloses nothing" in choice.words.text()
    click(choice.source.button_for("noisy"))
    wait_for_jobs(qtbot, filled.session)
    settings = filled.session.document.policy[0].settings
    assert settings["measured"] == "noisy"
    assert settings["measured_epsilon"] == choice.epsilon.value


@pytest.mark.slow
def test_an_old_project_s_exact_covariance_is_a_danger_with_one_step_to_measure_it_anew(
    qtbot, panel
):
    document = protected()
    (entry,) = document.policy
    kept = entry.settings["covariance"]
    old = {"noise": "proportional", "mean": [50.0, 60_000.0], "covariance": kept}
    open_payroll(panel.session, replace(document, policy=(replace(entry, settings=old),)))
    choice = settings_of(panel).measured
    assert "anyone who knows all other records can" in choice.words.text()
    assert choice.words.property("look") == "danger"
    click(choice.again)
    wait_for_jobs(qtbot, panel.session)
    settings = panel.session.document.policy[0].settings
    assert settings["measured"] == "noisy"
    assert "mean" not in settings
    assert choice.words.property("look") == "muted"


@pytest.mark.slow
def test_rounding_is_measured_before_it_is_in_force(qtbot, filled):
    editor = settings_of(filled)
    cell = editor.forms.cells["age", "rounding"]
    tick(cell.use)
    assert editor.problem.isVisible()
    assert "rounding" not in filled.session.document.policy[0].settings
    wait_for_jobs(qtbot, filled.session)
    text = editor.problem.words
    assert "Measured on 600 records" in text
    assert "By Bayes' rule, for somebody who knows how “age” is distributed" in text
    assert "Pooling never tells more than the most trusted release alone" in text
    click(editor.accept)
    assert filled.session.document.policy[0].settings["rounding"] == {"age": 1.0}
    assert not editor.problem.isVisible()
    tick(cell.use)
    assert "rounding" not in filled.session.document.policy[0].settings


@pytest.mark.slow
def test_rounding_can_be_discarded(qtbot, filled):
    editor = settings_of(filled)
    cell = editor.forms.cells["income", "lowest"]
    tick(cell.use)
    wait_for_jobs(qtbot, filled.session)
    click(editor.take_back)
    assert not cell.use.isChecked()
    assert filled.session.undo_text == "Open payroll"


@pytest.mark.slow
def test_bounds_that_exclude_each_other_are_refused_at_once(qtbot, filled):
    editor = settings_of(filled)
    tick(editor.forms.cells["age", "lowest"].use)
    wait_for_jobs(qtbot, filled.session)
    tick(editor.forms.cells["age", "highest"].use)
    editor.forms.cells["age", "highest"].field.spin.setValue(-5.0)
    assert "lowest number of column “age”" in editor.problem.words
    assert not editor.accept.isEnabled()
    assert filled.session.undo_text == "Open payroll"


@pytest.mark.slow
def test_another_entry_takes_the_draft_away(qtbot, apart):
    editor = settings_of(apart)
    tick(editor.forms.cells["age", "rounding"].use)
    apart.choose("income")
    wait_for_jobs(qtbot, apart.session)
    assert not editor.problem.isVisible()
    assert not editor.forms.cells["income", "rounding"].use.isChecked()


@pytest.mark.slow
def test_what_was_left_before_it_was_weighed_is_weighed_on_return(qtbot, panel):
    age, income = protected(APART).policy
    bounds = {"lowest": 0.0, "highest": 20_000.0, "bounds": "stated"}
    other = replace(income, mechanism="laplace", settings=bounds)
    open_payroll(panel.session, replace(protected(APART), policy=(age, other)))
    editor = settings_of(panel)
    tick(editor.forms.cells["age", "rounding"].use)
    panel.choose("income")
    wait_for_jobs(qtbot, panel.session)
    panel.choose("age")
    wait_for_jobs(qtbot, panel.session)
    assert settings_of(panel) is editor
    assert "Measured on 600 records" in editor.problem.words
    assert editor.accept.isEnabled()


@pytest.mark.slow
def test_too_few_records_to_measure_are_said_to_be_too_few(qtbot, panel):
    table = Table(payroll_table().frame.head(50))
    open_payroll(panel.session, protected(), table)
    editor = settings_of(panel)
    tick(editor.forms.cells["age", "rounding"].use)
    wait_for_jobs(qtbot, panel.session)
    assert "too few records" in editor.problem.words
    assert editor.accept.isEnabled()


def test_numbers_that_were_binned_since_lose_their_protection_knowingly(panel):
    document = protected(APART)
    binned = ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC, binning=Binning((0, 40, 90)))
    open_payroll(panel.session, document.with_column(binned))
    assert panel.content.currentWidget() is panel.misfit
    assert "does not suit" in panel.misfit.heading.text()
    click(panel.misfit.drop)
    assert keys(panel) == ["income"]
    assert panel.content.currentWidget() is panel.unprotected


@pytest.mark.slow
def test_infinite_numbers_are_named_and_nothing_is_lost(panel):
    frame = payroll_table().frame.copy()
    frame.loc[3, "income"] = np.inf
    open_payroll(panel.session, protected(), Table(frame))
    assert panel.state() is PanelState.ATTENTION
    assert "income" in panel.misfit.text.text()
    assert "row 4" in panel.misfit.text.text()
    assert panel.session.document.policy == protected().policy


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "settings",
    [{}, {"rounding": {"age": 0.333333333333}, "lowest": {"income": -1.23456789012}}],
)
def test_showing_a_policy_never_changes_it(qtbot, panel, settings):
    document = protected(**settings)
    odd = {"sigma_squared": 0.123456789012}
    first = replace(document.recipients[0], statements={KEY: odd})
    second = replace(document.recipients[1], statements={KEY: {"half_width": 12.3456789012}})
    document = replace(document, recipients=(first, second))
    open_payroll(panel.session, document)
    panel.activate()
    panel.page.recipients.table.chosen.emit("Institute")
    panel.grab()
    wait_for_jobs(qtbot, panel.session)
    assert panel.session.document == document
    assert panel.session.undo_text == "Open payroll"


@pytest.mark.slow
def test_the_list_is_ticked_by_the_keyboard_too(qtbot, apart):
    box = apart.page.together.boxes["income"]
    box.setFocus()
    qtbot.keyClick(box, Qt.Key.Key_Space)
    assert keys(apart) == [KEY]


def test_correlations_allow_for_missing_constant_and_huge_numbers():
    def attribute(values):
        return Attribute("a", Kind.NUMERIC, numbers=np.array(values, dtype=float))

    line = attribute([1.0, 2.0, np.nan, 4.0])
    assert correlation(line, attribute([1e300, 2e300, 5.0, 4e300])) == pytest.approx(1.0)
    assert correlation(line, attribute([3.0, 3.0, 3.0, 3.0])) == 0.0
    assert correlation(line, attribute([np.nan, np.nan, 1.0, 1.0])) == 0.0
