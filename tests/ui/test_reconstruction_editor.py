"""Reconstruction privacy in the Policy panel, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication, Qt

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.mechanisms.reconstruction.limits import default_limits
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.panels.policy import PANEL
from sfumato.ui.panels.preview import PANEL as PREVIEW
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.ui.clinic import DISEASES, wait_for_jobs
from tests.ui.hands import on_screen

LEFT = Qt.MouseButton.LeftButton
ROWS = 1200


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 1400)


def open_groups(session, level=0.5, public=("sex", "place"), **settings):
    places = np.arange(ROWS)
    frame = pd.DataFrame(
        {
            "name": [f"person {i}" for i in places],
            "sex": pd.Categorical(np.where(places % 2 == 0, "f", "m")),
            "place": pd.Categorical([f"place {i % 24 % (1 + i % 17)}" for i in places]),
            "visits": places % 5,
            "disease": pd.Categorical(np.array(DISEASES)[places * places % 7 % 4]),
        }
    )
    columns = (
        ColumnSpec("name", Role.IDENTIFYING, Kind.TEXT),
        ColumnSpec("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        ColumnSpec("place", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        ColumnSpec("visits", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("disease", Role.SENSITIVE, Kind.CATEGORICAL, Domain(DISEASES)),
    )
    stated = {
        **default_limits(),
        **settings,
        **({"public": list(public)} if public is not None else {}),
    }
    session.open_table(
        "Open",
        SurveyedTable.of(in_batches(Table(frame))),
        Document(
            title="Groups",
            columns=columns,
            policy=(PolicyEntry(("disease",), "reconstruction", stated),),
            recipients=(Recipient("Clinic A", {"disease": {"retention_probability": level}}),),
        ),
    )


@pytest.fixture
def editor(panel, qtbot):
    open_groups(panel.session)
    wait_for_jobs(qtbot, panel.session)
    return panel.page.settings


@pytest.mark.slow
def test_what_each_mode_costs_stands_where_it_is_chosen(qtbot, editor):
    assert "Exact test, drawn blindly (as it is set): " in editor.costs.text()
    assert "Every record simply perturbed: " in editor.costs.text()
    qtbot.mouseClick(editor.sampling.button_for("published"), LEFT)
    wait_for_jobs(qtbot, editor.session)
    assert "Exact test, drawn as published (as it is set): " in editor.costs.text()


def settings(editor):
    return editor.session.document.policy[0].settings


def type_number(qtbot, field, text):
    field.spin.setFocus()
    field.spin.selectAll()
    qtbot.keyClicks(field.spin, text)
    qtbot.keyClick(field.spin, Qt.Key.Key_Return)
    QCoreApplication.processEvents()


@pytest.mark.slow
def test_what_is_asked_stands_there_in_plain_words(editor):
    assert "off by more than 30" in editor.meaning.text()
    assert "one time in three" in editor.meaning.text()
    assert not editor.problem.words


@pytest.mark.slow
def test_the_table_s_groups_are_counted(editor):
    text = editor.figures.text()
    assert "records" in text
    assert "are resampled" in text
    assert "Draws by a group's size" in text
    assert "without resampling it would be" in text


@pytest.mark.slow
def test_largest_shares_are_measured_at_a_click_and_stated_or_left_at_another(qtbot, editor):
    qtbot.mouseClick(editor.shares.source.button_for("noisy"), LEFT)
    wait_for_jobs(qtbot, editor.session)
    assert settings(editor)["shares"] == "noisy"
    assert settings(editor)["measured_shares"]["counts"]
    assert "(ε0 = 0.1)" in editor.shares.words.text()
    assert "with largest shares measured (as it is set): " in editor.costs.text()
    qtbot.mouseClick(editor.shares.source.button_for("stated"), LEFT)
    type_number(qtbot, editor.share, "100")
    assert settings(editor)["largest_share"] == 1.0
    assert "measured_shares" not in settings(editor)
    qtbot.mouseClick(editor.shares.source.button_for("any"), LEFT)
    assert settings(editor)["shares"] == "any"


@pytest.mark.slow
def test_a_number_typed_is_in_force_and_can_be_undone(qtbot, editor):
    type_number(qtbot, editor.delta, "10")
    assert settings(editor)["delta"] == 0.1
    assert "one time in five" in editor.meaning.text()
    editor.session.undo()
    assert settings(editor)["delta"] == 0.17
    assert editor.delta.value == pytest.approx(17)


@pytest.mark.slow
def test_a_delta_out_of_range_is_kept_named_and_not_in_force(qtbot, editor):
    type_number(qtbot, editor.delta, "60")
    assert settings(editor)["delta"] == 0.17
    assert editor.delta.value == pytest.approx(60)
    assert "between 0 and 0.5" in editor.problem.words
    assert "stay in force" in editor.problem.words
    qtbot.mouseClick(editor.take_back, LEFT)
    assert editor.delta.value == pytest.approx(17)
    assert not editor.problem.words


@pytest.mark.slow
def test_a_retention_that_can_promise_nothing_is_named_with_what_f_allows(qtbot, editor):
    type_number(qtbot, editor.retention, "0.95")
    assert settings(editor)["retention_probability"] == 0.5
    assert "f = 1" in editor.problem.words


@pytest.mark.slow
def test_what_is_not_right_yet_survives_a_change_elsewhere(qtbot, editor):
    type_number(qtbot, editor.delta, "60")
    document = editor.session.document
    editor.session.edit("Title", replace(document, title="Other"))
    assert editor.delta.value == pytest.approx(60)
    assert editor.problem.words


@pytest.mark.slow
def test_a_published_test_says_what_it_lets_pass_and_what_is_true(qtbot, editor):
    qtbot.mouseClick(editor.rule.button_for("simplified"), LEFT)
    assert settings(editor)["rule"] == "simplified"
    wait_for_jobs(qtbot, editor.session)
    assert "promises nothing about the probability" in editor.about_rule.text()
    assert "The exact test lets" in editor.about_rule.text()
    assert "Nobody can prove" in editor.meaning.text()


@pytest.mark.slow
def test_drawing_as_published_says_what_it_gives_away(qtbot, editor):
    qtbot.mouseClick(editor.sampling.button_for("published"), LEFT)
    assert settings(editor)["sampling"] == "published"
    assert "shows it" in editor.about_sampling.text()
    wait_for_jobs(qtbot, editor.session)
    assert "Between" in editor.figures.text()


@pytest.mark.slow
def test_a_column_taken_out_makes_other_groups(qtbot, editor):
    before = editor.figures.text()
    editor.public.boxes["place"].click()
    assert settings(editor)["public"] == ["sex"]
    wait_for_jobs(qtbot, editor.session)
    assert editor.figures.text() != before
    qtbot.mouseClick(editor.public.everything, LEFT)
    assert "public" not in settings(editor)
    assert [box.isChecked() for box in editor.public.boxes.values()] == [True] * 3


@pytest.mark.slow
def test_no_public_column_is_refused_and_nothing_is_lost(qtbot, editor):
    for name in ("sex", "place"):
        editor.public.boxes[name].click()
    assert "no public column" in editor.problem.words
    assert settings(editor)["public"] == ["place"]
    qtbot.mouseClick(editor.take_back, LEFT)
    assert not editor.problem.words


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_level_above_the_top_is_refused_at_its_field(qtbot, panel):
    open_groups(panel.session, level=0.6)
    assert "above 0.5" in panel.page.editor.problem


@pytest.mark.slow
def test_a_dragged_rung_ends_at_the_top(panel, editor):
    assert panel.page.editor.statement_at(0.8, {}) == {"retention_probability": 0.5}
    assert panel.page.editor.statement_at(0.25, {}) == {"retention_probability": 0.25}


def test_the_preview_shows_the_release_and_honest_intervals(qtbot, session):
    open_groups(session)
    made = on_screen(qtbot, PREVIEW(session))
    wait_for_jobs(qtbot, session)
    preview = made._preview
    assert preview is not None
    width = np.asarray(preview.utility.high) - np.asarray(preview.utility.low)
    assert width.max() > 0.15, "copies widen the intervals"
    assert len(preview.sample.seen) == 1


@pytest.mark.slow
def test_the_mechanism_can_be_chosen_for_an_attribute(qtbot, panel):
    open_groups(panel.session)
    policy = (PolicyEntry(("disease",), "uniform"),)
    plain = replace(panel.session.document, policy=policy)
    panel.session.edit("Uniform", plain)
    panel.page.mechanism.set_value("reconstruction")
    panel.page.mechanism.chosen.emit("reconstruction")
    wait_for_jobs(qtbot, panel.session)
    entry = panel.session.document.policy[0]
    assert entry.mechanism == "reconstruction"
    assert panel.session.attribute("disease").groups.names == ("sex", "place", "visits")
    assert "alike" in panel.page.settings.public.words.text()


@pytest.mark.slow
def test_recipients_above_a_lowered_top_are_moved_and_told_of(qtbot, panel):
    open_groups(panel.session)
    document = panel.session.document
    low = Recipient("Ward", {"disease": {"retention_probability": 0.1}})
    high = Recipient("Clinic B", {"disease": {"retention_probability": 0.45}})
    everybody = (*document.recipients, low, high)
    panel.session.edit("Recipients", replace(document, recipients=everybody))
    wait_for_jobs(qtbot, panel.session)
    type_number(qtbot, panel.page.settings.retention, "0.3")

    def levels():
        return [
            recipient.statements["disease"]["retention_probability"]
            for recipient in panel.session.document.recipients
        ]

    assert settings(panel.page.settings)["retention_probability"] == 0.3
    assert levels() == [0.3, 0.1, 0.3]
    (message,) = panel.messages.messages
    assert "Clinic A and Clinic B were lowered to p = 0.3" in message.text
    assert "most trusted release" in message.remedy
    assert [row.trust for row in panel.page.recipients.model.rows] == [0.3, 0.1, 0.3]
    message.actions[0].run()
    assert levels() == [0.5, 0.1, 0.45]
    assert settings(panel.page.settings)["retention_probability"] == 0.5
    wait_for_jobs(qtbot, panel.session)


@pytest.mark.slow
def test_a_raised_top_moves_nobody(qtbot, panel):
    open_groups(panel.session)
    wait_for_jobs(qtbot, panel.session)
    type_number(qtbot, panel.page.settings.retention, "0.6")
    (recipient,) = panel.session.document.recipients
    assert recipient.statements["disease"] == {"retention_probability": 0.5}
    assert not panel.messages.messages
    wait_for_jobs(qtbot, panel.session)
