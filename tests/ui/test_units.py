"""Saying which rows belong together, in the window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import check_policy
from sfumato.project.document.model import Document, PolicyEntry, Unit
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.policy.panel import PolicyPanel
from sfumato.ui.panels.releases.readiness_card import ReadinessCard
from sfumato.ui.shell.guarantee_card import GuaranteeCard
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project.test_pooled_rows import a_document
from tests.proposed import proposed_columns
from tests.samples.make_households import households
from tests.ui.hands import choose, click, explain_first, on_screen


@pytest.fixture
def panel(session, qtbot):
    session.open_table("Open", SurveyedTable.of(in_batches(Table(households(120)))), a_document())
    made = on_screen(qtbot, AttributesPanel(session))
    qtbot.waitUntil(made.unit.protect.isVisible)
    return made


def protected(panel, qtbot):
    panel.unit.protect.click()
    qtbot.waitUntil(lambda: panel.session.document.unit is not None)
    return panel.session.document


@pytest.mark.slow
@pytest.mark.turns(1)
def test_one_click_protects_by_the_household_that_was_found(panel, qtbot):
    assert "Rows with the same “household”" in panel.unit.note.text()
    assert panel.unit.protect.text() == "Protect by “household”"
    qtbot.waitUntil(lambda: "Protected by “household”, " in panel.unit.note.text())
    assert "Without it: " in panel.unit.note.text()  # what pooling restores
    document = protected(panel, qtbot)
    largest = int(households(120)["household"].value_counts().max())
    assert document.unit.columns == ("household",)
    assert document.unit.constant == ("water",)
    assert 1 <= document.unit.most_rows < largest
    assert f"At most {document.unit.most_rows} row" in panel.unit.note.text()
    assert "Protected by “household”, " in panel.unit.note.text()
    assert document.column("household").role is Role.IDENTIFYING
    assert panel.unit.field.value == "household"
    assert not panel.unit.protect.isVisible()
    assert "Drawn once for all of them: “water”" in panel.unit.note.text()
    panel.session.undo()
    assert panel.session.document == a_document()
    assert panel.unit.protect.isVisible()


def test_person_and_household_of_a_survey_are_proposed_before_anything_is_sensitive(session, qtbot):
    frame = households(120)[["household"]].assign(person=range(5001, 5001 + len(households(120))))
    table = Table(frame.assign(region="north"))
    session.open_table(
        "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
    )
    panel = on_screen(qtbot, AttributesPanel(session))
    key, unit, before = panel.record_key, panel.unit, session.document
    qtbot.waitUntil(lambda: key.accept.isVisible() and unit.protect.isVisible())
    assert (before.record_key, before.unit) == (None, None)
    assert "“person” looks like a number for each record" in key.note.text()
    assert "“household” looks like a number" in unit.note.text()
    click(key.accept)
    assert session.document.record_key == "person"
    assert not key.accept.isVisible()
    unit.protect.click()
    qtbot.waitUntil(lambda: session.document.unit is not None)
    assert session.document.unit.columns == ("household",)
    session.undo()
    session.undo()
    assert session.document == before
    assert key.accept.isVisible()


@pytest.mark.slow
def test_what_becomes_sensitive_later_is_drawn_once_where_it_is_the_same_in_all_rows(panel, qtbot):
    protected(panel, qtbot)
    panel.choose("water")
    choose(panel.detail.role, Role.INSENSITIVE)
    assert [spec.name for spec in panel.session.document.sensitive] == ["illness"]
    panel.session.edit("Forget", panel.session.document.with_unit(Unit(("household",), 5)))
    choose(panel.detail.role, Role.SENSITIVE)
    assert "water" in panel.session.document.unit.constant
    assert "Drawn once for all of them: “water”" in panel.unit.note.text()


@pytest.mark.slow
def test_the_bound_is_chosen_beside_the_unit(panel, qtbot):
    protected(panel, qtbot)
    panel.unit.most_rows.spin.setValue(2)
    qtbot.waitUntil(lambda: panel.session.document.unit.most_rows == 2)
    assert "No “household” has more than" not in panel.unit.note.text()
    panel.unit.most_rows.spin.setValue(500)
    qtbot.waitUntil(lambda: "No “household” has more than" in panel.unit.note.text())
    assert panel.session.document.unit.most_rows == 500


def test_a_column_that_brings_no_rows_together_is_refused_in_words(panel, qtbot):
    panel.unit.field.setCurrentIndex(panel.unit.field.findText("person"))
    panel.unit.field.activated.emit(panel.unit.field.currentIndex())
    qtbot.waitUntil(lambda: bool(panel.messages.messages))
    assert "No two rows share “person”" in panel.messages.messages[0].text
    assert panel.session.document.unit is None
    assert panel.unit.field.value == ""


@pytest.mark.slow
def test_rows_stand_alone_again_when_nobody_else_is_chosen(panel, qtbot):
    protected(panel, qtbot)
    panel.unit.field.setCurrentIndex(0)
    panel.unit.field.activated.emit(0)
    assert panel.session.document.unit is None


@pytest.mark.slow
def test_the_guarantee_speaks_of_the_household(panel, qtbot):
    card = on_screen(qtbot, GuaranteeCard(panel.session))
    protected(panel, qtbot)
    explain_first(qtbot, card)
    qtbot.waitUntil(lambda: "All rows with the same household" in card.text())
    assert "At most 1 row with the same household leaves" in card.text()


@pytest.mark.slow
def test_a_claim_that_the_table_breaks_is_shown_with_the_attribute(session, qtbot):
    frame = households(60)
    row = frame.index[frame["household"].duplicated()][0]
    frame.loc[row, "water"] = "truck" if frame.loc[row, "water"] != "truck" else "well"
    document = a_document()
    session.open_table("Open", SurveyedTable.of(in_batches(Table(households(60)))), document)
    panel = on_screen(qtbot, AttributesPanel(session))
    qtbot.waitUntil(panel.unit.protect.isVisible)
    stated = protected(panel, qtbot)
    session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), replace(stated))
    error = session.attribute_error("water")
    assert "water is stated to be the same" in str(error)


def test_a_row_without_a_household_is_named_where_the_column_is_chosen(session, qtbot):
    frame = households(60)
    frame.loc[4, "household"] = None
    session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), a_document())
    panel = on_screen(qtbot, AttributesPanel(session))
    panel.unit.field.setCurrentIndex(panel.unit.field.findText("household"))
    panel.unit.field.activated.emit(panel.unit.field.currentIndex())
    qtbot.waitUntil(lambda: bool(panel.messages.messages))
    assert "missing in 1 row, first in row 5" in panel.messages.messages[0].text
    assert session.document == a_document()


@pytest.mark.slow
def test_the_check_before_a_release_counts_households(panel, qtbot):
    document = protected(panel, qtbot)
    every = replace(document.unit, most_rows=20)
    panel.session.edit("All rows", document.with_unit(every))
    card = on_screen(qtbot, ReadinessCard(panel.session))
    qtbot.waitUntil(lambda: bool(card.found))
    frame = households(120)
    sizes = frame.groupby(["region", "sex"])["household"].nunique()
    told = [one.sentence for each in card.found for one in each.findings]
    assert any(f"the smallest class has records of {sizes.min()} units" in text for text in told)


@pytest.mark.slow
def test_what_is_recommended_for_numbers_of_a_household_can_be_released(session, qtbot):
    columns = [
        replace(spec, role=Role.SENSITIVE) if spec.name == "rent" else spec
        for spec in a_document(Role.IDENTIFYING).columns
    ]
    document = replace(a_document(Role.IDENTIFYING), columns=tuple(columns))
    session.open_table(
        "Open",
        SurveyedTable.of(in_batches(Table(households(300)))),
        document.with_unit(Unit(("household",), 9)),
    )
    panel = on_screen(qtbot, PolicyPanel(session))
    panel.choose("rent")
    qtbot.waitUntil(panel.unprotected.isVisible)
    click(panel.unprotected.protect)
    qtbot.waitUntil(panel.page.isVisible)
    assert not panel.page.refused.isVisible()
    assert panel.page.settings.measured.source.button_for("noisy").isChecked()
    settings = session.document.entry_for("rent").settings
    assert settings["measured_unit"] == {"columns": ["household"], "rows": 1}
    check_policy(session.document)


@pytest.mark.slow
def test_protecting_by_household_measures_again_what_was_measured_of_rows(session, qtbot):
    frame = households(300)
    columns = [
        replace(spec, role=Role.SENSITIVE) if spec.name == "rent" else spec
        for spec in a_document().columns
    ]
    document = replace(a_document(), columns=tuple(columns))
    measured = mechanism_called("gaussian").first_settings(
        MemorySurvey(Table(frame)).attributes([document.column("rent")]), NOISE
    )
    entry = PolicyEntry(("rent",), "gaussian", dict(measured))
    document = replace(document, policy=(*document.policy, entry))
    session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), document)
    panel = on_screen(qtbot, AttributesPanel(session))
    choose(panel.unit.field, "household")
    qtbot.waitUntil(lambda: session.document.unit is not None)
    settings = session.document.entry_for("rent").settings
    assert settings["measured_unit"]["columns"] == ["household"]
    assert settings["covariance"] != measured["covariance"]
    check_policy(session.document)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_counts_single_rows_is_refused_where_it_is_chosen(session, qtbot):
    columns = [
        replace(spec, role=Role.SENSITIVE) if spec.name == "rent" else spec
        for spec in a_document(Role.IDENTIFYING).columns
    ]
    settings = {"covariance": [[150.0**2]], "measured": "noisy", "measured_epsilon": 0.5}
    rent = PolicyEntry(("rent",), "gaussian", settings)
    document = replace(a_document(Role.IDENTIFYING), columns=tuple(columns))
    document = replace(document, policy=(*document.policy, rent))
    session.open_table(
        "Open",
        SurveyedTable.of(in_batches(Table(households(300)))),
        document.with_unit(Unit(("household",), 9)),
    )
    panel = on_screen(qtbot, PolicyPanel(session))
    panel.choose("rent")
    qtbot.waitUntil(panel.page.refused.isVisible)
    assert "Measure these figures again in its settings" in panel.page.refused.words
    assert panel.state() is PanelState.ATTENTION
    click(panel.page.settings.measured.source.button_for("stated"))
    panel.page.settings.measured.fields["rent"].spin.setValue(150.0)
    qtbot.waitUntil(lambda: not panel.page.refused.isVisible())


@pytest.mark.slow
def test_a_level_of_a_unit_is_told_as_its_rows_are_released(session, qtbot):
    columns = [
        replace(spec, role=Role.SENSITIVE) if spec.name == "rent" else spec
        for spec in a_document(Role.IDENTIFYING).columns
    ]
    settings = {"covariance": [[150.0**2]], "measured": "stated"}
    document = replace(a_document(Role.IDENTIFYING), columns=tuple(columns))
    rent = PolicyEntry(("rent",), "gaussian", settings)
    recipient = document.recipients[0]
    statements = {**recipient.statements, "rent": {"sigma_squared": 0.25}}
    document = replace(
        document,
        policy=(*document.policy, rent),
        recipients=(replace(recipient, statements=statements),),
    )
    session.open_table(
        "Open",
        SurveyedTable.of(in_batches(Table(households(300)))),
        document.with_unit(Unit(("household",), 4)),
    )
    panel = on_screen(qtbot, PolicyPanel(session))
    panel.choose("illness")
    qtbot.waitUntil(panel.page.isVisible)
    odds = (7.0 / 1.0) ** 0.25  # of p = 0.6 among four values, shared by four rows
    shown = odds / (odds + 3)
    promise, person, recipient_learns = panel.page.editor.meaning.texts
    assert "This is said of one row. At most 4 rows with the same “household” leave" in promise
    assert f"{shown:.0%}"[:-1] in person.split("show their true value")[0]
    assert "A hunch of 10" in person  # of all rows: as the level's own term says
    panel.choose("rent")
    qtbot.waitUntil(lambda: "Noise" in panel.page.editor.meaning.texts[0])
    promise, person, _ = panel.page.editor.meaning.texts
    assert "standard deviation of 150" in promise  # √4 times the 75 that is stated
    assert "Noise moves “rent” by 150" in person
    assert recipient_learns
    moved = [card.sentence for card in panel.page.editor.choices.cards.values()]
    assert "±\u202f150" in moved[0]
    panel.session.edit("Alone", panel.session.document.with_unit(None))
    qtbot.waitUntil(lambda: "standard deviation of 75" in panel.page.editor.meaning.texts[0])
