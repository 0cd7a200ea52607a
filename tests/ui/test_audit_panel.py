"""The Audit panel, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from sfumato.analysis.answers import Answer
from sfumato.analysis.coalitions.holdings import called
from sfumato.analysis.coarsening.views import with_levels, with_proposed_hierarchies, with_statement
from sfumato.analysis.questions.question import Topic
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import ViewRule
from sfumato.project.release.release import make_release
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.audit.holders import EPSILON, LEVEL, NAME, ODDS, SINCE
from sfumato.ui.panels.audit.pages import all_pages
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.audit.pages.group_risk import GroupRiskPage
from sfumato.ui.panels.audit.pages.person import PersonPage
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.base import PanelState
from tests.in_batches import in_batches
from tests.ui.clinic import (
    clinic_document,
    clinic_table,
    open_clinic,
    protected,
    save_clinic,
    wait_for_jobs,
)
from tests.ui.hands import click, on_screen, tab_of
from tests.ui.payroll import open_payroll
from tests.ui.payroll import protected as protected_payroll

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 800)


@pytest.fixture
def page(panel):
    return panel.show_page(CoalitionPage)


@pytest.fixture
def filled(qtbot, page):
    open_clinic(page.session, protected())
    wait_for_jobs(qtbot, page.session)
    return page


def cells(page, column):
    return [page.model.index(row, column).data() for row in range(page.model.rowCount())]


def tick(qtbot, page, *names):
    page.model.tick_all(False)
    for row, name in enumerate(cells(page, NAME)):
        if name in names:
            index = page.model.index(row, NAME)
            page.model.setData(index, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    wait_for_jobs(qtbot, page.session)


def sentence(page):
    return page.sentence.text().replace("\u202f", " ")


def released(qtbot, page, tmp_path, *names):
    project = save_clinic(page.session, tmp_path)
    for name in names:
        make_release(
            project, in_batches(page.session.table), name, tmp_path / "out", "csv", Silent()
        )
    page.session.ledger_changed.emit()
    wait_for_jobs(qtbot, page.session)
    return project


def test_without_recipients_it_points_to_the_policy(qtbot, panel, page):
    assert panel.state() is PanelState.NONE
    assert page.pages.currentWidget() is page.empty
    open_clinic(panel.session, protected({}))
    assert page.pages.currentWidget() is page.empty
    open_clinic(panel.session, clinic_document())
    assert panel.state() is PanelState.NONE


def test_everybody_is_listed_with_what_they_would_hold(filled):
    assert cells(filled, NAME) == ["Clinic A", "Institute", "Public"]
    assert cells(filled, LEVEL) == ["p = 0.6", "p = 0.3", "p = 0.1"]
    assert cells(filled, ODDS) == ["7", "2.71", "1.44"]
    assert cells(filled, EPSILON) == ["1.95", "0.999", "0.368"]
    assert set(cells(filled, SINCE)) == {"planned"}


@pytest.mark.slow
def test_dates_are_left_to_the_tips_where_it_is_narrow(qtbot, filled):
    filled.table.setMinimumWidth(600)
    qtbot.waitUntil(lambda: not filled.table.isColumnHidden(SINCE))
    filled.table.setMinimumWidth(0)
    filled.table.resize(300, 200)
    assert filled.table.isColumnHidden(SINCE)
    tip = filled.model.index(0, NAME).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "Clinic A: planned"


def test_together_they_learn_no_more_than_the_most_trusted(qtbot, panel, filled):
    assert sentence(filled).startswith(
        "Clinic A, Institute and Public together learn no more about “disease” than Clinic A alone."
    )
    assert "The best guess is right for 7" in filled.explanation.text()
    assert filled.bars.figure.headline.startswith("Three recipients who pool independent")
    assert panel.state() is PanelState.NONE


@pytest.mark.slow
def test_another_coalition_has_another_best_member(qtbot, filled):
    tick(qtbot, filled, "Institute", "Public")
    assert sentence(filled).startswith("Institute and Public together learn no more")
    assert "than Institute alone" in sentence(filled)
    assert filled.bars.figure.headline.startswith("Two recipients")
    assert filled.ladder.figure.headline == (
        "Together, these 2 recipients learn what Institute learns alone"
    )


@pytest.mark.slow
def test_a_coalition_of_one_and_of_nobody(qtbot, filled):
    tick(qtbot, filled, "Public")
    assert sentence(filled) == "Public alone holds “disease”."
    tick(qtbot, filled)
    assert sentence(filled) == "Tick recipients to see what they learn together."
    assert filled.bars.figure is None


@pytest.mark.slow
def test_equal_levels_are_called_equal(qtbot, page):
    open_clinic(page.session, protected({"A": 0.5, "B": 0.5}))
    wait_for_jobs(qtbot, page.session)
    assert sentence(page).startswith("A and B hold the same values of “disease”")


@pytest.mark.slow
def test_whoever_holds_the_original_knows_it(qtbot, page):
    open_clinic(page.session, protected({"A": 1.0, "B": 0.5}))
    wait_for_jobs(qtbot, page.session)
    assert sentence(page) == "A holds the true “disease”."


@pytest.mark.slow
def test_a_recipient_without_a_sound_level_is_left_out(qtbot, filled):
    document = filled.session.document
    wrong = replace(document.recipients[0], statements={"disease": {"rho1": 0.5, "rho2": 0.1}})
    filled.session.edit("x", replace(document, recipients=(wrong, *document.recipients[1:])))
    wait_for_jobs(qtbot, filled.session)
    assert cells(filled, NAME) == ["Institute", "Public"]


@pytest.mark.slow
def test_ticks_outlive_a_change_of_the_policy(qtbot, filled):
    tick(qtbot, filled, "Public")
    document = filled.session.document
    filled.session.edit("x", replace(document, title="Another"))
    wait_for_jobs(qtbot, filled.session)
    assert [holding.recipient for holding in filled.model.coalition] == ["Public"]


@pytest.mark.slow
def test_what_was_released_counts_rather_than_what_is_planned(qtbot, filled, tmp_path):
    released(qtbot, filled, tmp_path, "Public", "Institute")
    assert filled.basis.isVisible()
    assert cells(filled, NAME) == ["Institute", "Public"]
    assert all(since.startswith("since 2") for since in cells(filled, SINCE))
    qtbot.mouseClick(filled.basis.button_for("planned"), LEFT)
    assert cells(filled, NAME) == ["Clinic A", "Institute", "Public"]
    assert set(cells(filled, SINCE)) == {"planned"}


@pytest.mark.slow
def test_the_best_of_several_releases_to_one_recipient_counts(qtbot, filled, tmp_path):
    project = released(qtbot, filled, tmp_path, "Public")
    document = filled.session.document
    last = replace(document.recipients[-1], statements={"disease": {"retention_probability": 0.05}})
    filled.session.edit("x", replace(document, recipients=(*document.recipients[:-1], last)))
    filled.session.save()
    make_release(
        project, in_batches(filled.session.table), "Public", tmp_path / "out", "csv", Silent()
    )
    filled.session.ledger_changed.emit()
    wait_for_jobs(qtbot, filled.session)
    assert cells(filled, LEVEL) == ["p = 0.1"]


@pytest.mark.slow
def test_the_ledger_s_seal_is_told(qtbot, panel, filled, tmp_path):
    project = released(qtbot, filled, tmp_path, "Public")
    assert filled.ledger.word.text() == "Ledger intact, 3 entries"
    with project.database.transaction() as connection:
        connection.execute("DROP TRIGGER ledger_is_never_changed")
        connection.execute("UPDATE ledger SET details = '{}' WHERE number = 2")
    filled.session.ledger_changed.emit()
    wait_for_jobs(qtbot, filled.session)
    assert filled.ledger.word.text() == "Ledger not as it was written"
    assert panel.state() is PanelState.ATTENTION
    assert "Entry 2" in panel.messages.messages[0].text


@pytest.mark.slow
def test_nothing_is_weighed_while_nobody_looks(qtbot, panel, filled):
    panel.hide()
    tick(qtbot, filled, "Public")
    assert filled.state() is PanelState.IN_PROGRESS
    panel.show()
    wait_for_jobs(qtbot, filled.session)
    assert filled.state() is PanelState.DONE


def test_pages_are_found_in_their_order(panel):
    assert all(issubclass(found, AuditPage) for found in all_pages())
    assert [found.order for found in all_pages()] == sorted(found.order for found in all_pages())
    assert tuple(type(page) for page in panel.pages) == all_pages()


def test_many_names_are_counted():
    assert called(["A"]) == "A"
    assert called(["A", "B", "C"]) == "A, B and C"
    assert called(["A", "B", "C", "D"]) == "These 4 recipients"


# ----- the panel as a whole


def tabs(panel):
    return [page.translated_title() for page in panel.questions.offered]


@pytest.mark.slow
def test_what_one_page_found_stays_found_while_another_is_looked_at(qtbot, panel, filled):
    assert filled.state() is PanelState.DONE
    click(panel.report)
    assert isinstance(panel.current, ReportPage)
    wait_for_jobs(qtbot, panel.session)
    assert filled.state() is PanelState.DONE


@pytest.mark.slow
def test_pages_with_nothing_to_ask_about_have_no_tab(qtbot, panel, page):
    assert "Numbers" not in tabs(panel)
    open_payroll(panel.session, protected_payroll())
    wait_for_jobs(qtbot, panel.session)
    assert "Numbers" in tabs(panel)
    click(tab_of(panel.questions, next(p for p in panel.pages if p.title == "Numbers")))
    assert panel.current.title == "Numbers"
    panel.session.undo()
    assert "Numbers" not in tabs(panel)
    assert panel.current.title in tabs(panel)


@pytest.mark.slow
def test_all_pages_of_a_question_are_in_sight_in_the_smallest_window(panel):
    """704 pixels are what the guarantee card leaves of 1100."""
    panel.resize(704 + 2 * Space.AROUND, 620)
    for page in panel.pages:
        panel.questions.offer(page, True)
    for page in panel.pages:
        panel.show_page(type(page))
        QApplication.processEvents()
        tab = tab_of(panel.questions, page)
        assert tab.isVisible()
        right = tab.mapTo(panel, tab.rect().bottomRight()).x()
        assert right <= panel.width() - Space.AROUND
        assert tab.fontMetrics().horizontalAdvance(tab.text()) <= tab.width()


@pytest.mark.slow
def test_the_arrow_keys_move_through_all_questions(panel, filled):
    offered = panel.questions.offered
    tab = tab_of(panel.questions, offered[0])
    tab.setFocus()
    seen = [panel.current]
    for _ in range(len(offered)):
        QTest.keyClick(QApplication.focusWidget() or tab, Qt.Key.Key_Right)
        seen.append(panel.current)
    assert seen == [*offered, offered[-1]]
    QTest.keyClick(tab_of(panel.questions, panel.current), Qt.Key.Key_Home)
    assert panel.current is offered[0]


@pytest.mark.slow
def test_the_tab_key_enters_the_questions_at_the_chosen_one(panel, filled):
    panel.show_page(GroupRiskPage)
    policies = {
        tab_of(panel.questions, page).focusPolicy() & Qt.FocusPolicy.TabFocus
        for page in panel.questions.offered
        if page is not panel.current
    }
    assert policies == {Qt.FocusPolicy.NoFocus}
    assert tab_of(panel.questions, panel.current).focusPolicy() & Qt.FocusPolicy.TabFocus


# ----- the questions


def answer(panel, question):
    card = panel.overview.cards[question]
    return f"{card.answer.text()} {card.rest.text()}".replace("\u202f", " ")


@pytest.fixture
def asked(qtbot, panel):
    open_clinic(panel.session, protected())
    wait_for_jobs(qtbot, panel.session)
    return panel


def test_it_opens_on_four_questions_with_answers_and_verdicts(asked):
    assert asked.current is None
    assert [card.heading.text() for card in asked.overview.cards.values()] == [
        "What do they learn together?",
        "Who can be found?",
        "What about small groups?",
        "Whose file is this?",
    ]
    together = answer(asked, "together")
    assert "learn no more about disease than Clinic A alone" in together
    assert "odds on a record's value more than 7-fold" in together
    assert "No record is unique" in answer(asked, "found")
    assert "can estimate the share of at least one value of disease" in answer(asked, "groups")
    assert "Nothing has been released yet" in answer(asked, "leak")
    assert asked.overview.cards["found"].badge.word.text() == "OK"
    assert asked.overview.cards["leak"].badge.isHidden()
    assert asked.state() is PanelState.NONE


@pytest.mark.slow
def test_what_other_columns_tell_counts_in_what_they_learn_together(qtbot, panel):
    frame = clinic_table(240).frame.copy()
    frame["ward"] = frame["disease"].astype(str).str[:2]
    open_clinic(panel.session, protected(), Table(frame))
    wait_for_jobs(qtbot, panel.session)
    panel.session.open_columns()
    wait_for_jobs(qtbot, panel.session)
    [figure] = panel.session.open_columns().for_recipient("Clinic A")
    assert figure.empties
    assert str(figure.sentence) in answer(panel, "together")
    assert panel.overview.cards["together"].badge.word.text() == "Danger"


@pytest.mark.slow
def test_groups_of_one_person_each_are_no_groups_and_nothing_is_called_protected(qtbot, panel):
    open_clinic(panel.session, protected(), clinic_table(60))
    wait_for_jobs(qtbot, panel.session)
    assert "60 of 60 records are unique" in answer(panel, "found")
    assert "No two people are alike" in answer(panel, "groups")
    assert panel.overview.cards["groups"].badge.isHidden()


@pytest.mark.slow
def test_a_release_that_can_be_traced_is_not_called_protected(qtbot, asked, filled, tmp_path):
    released(qtbot, filled, tmp_path, "Clinic A")
    asked.show_questions()
    asked.overview.refresh()
    wait_for_jobs(qtbot, asked.session)
    assert "1 release was made" in answer(asked, "leak")
    assert asked.overview.cards["leak"].badge.isHidden()


def test_a_view_that_hides_all_records_is_not_called_good(qtbot, panel):
    document, _ = with_proposed_hierarchies(protected(), clinic_table(60))
    for name in ("Clinic A", "Institute", "Public"):
        document = with_statement(document, name, 5)
    open_clinic(panel.session, document, clinic_table(60))
    wait_for_jobs(qtbot, panel.session)
    assert "have to be suppressed" in answer(panel, "found")
    assert "No record is unique" not in answer(panel, "found")
    assert panel.overview.cards["found"].badge.word.text() == "Danger"


def unsettled(how: str):
    """The clinic's policy with a recipient for whom something is missing."""
    document, _ = with_proposed_hierarchies(protected(), clinic_table())
    if how == "no level of trust":
        one = replace(document.recipient("Institute"), statements={})
    else:
        for name, k in (("Clinic A", 3), ("Institute", 5)):
            document = with_statement(document, name, k)
        document, _ = with_levels(document, "Clinic A", {"age": 2})
        one = replace(document.recipient("Institute"), view=ViewRule(5, 0.0, {"age": 0}))
    others = tuple(one if each.name == one.name else each for each in document.recipients)
    return replace(document, recipients=others)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("no level of trust", "Institute has no trust level for “disease”"),
        ("levels that break the chain", "Institute sees “age” at level 0"),
    ],
)
def test_one_recipient_whom_nothing_can_be_answered_for_keeps_no_other_from_an_answer(
    qtbot, panel, how, said
):
    open_clinic(panel.session, unsettled(how))
    wait_for_jobs(qtbot, panel.session)
    assert "learn no more about disease than Clinic A alone" in answer(panel, "together")
    assert "unique" in answer(panel, "found")
    assert "can estimate the share of at least one value of disease" in answer(panel, "groups")
    assert "Nothing has been released yet" in answer(panel, "leak")
    [told] = panel.overview.left_out.findChildren(QLabel, "left out")
    assert told.text().startswith("The answers leave Institute out: ")
    assert said in told.text()
    [way] = panel.overview.left_out.findChildren(QPushButton)
    with qtbot.waitSignal(panel.session.place_requested) as led:
        click(way)
    column = "disease" if how == "no level of trust" else "age"
    assert led.args == ["policy", column, "Institute"]


def test_whoever_is_unique_is_a_danger(qtbot, panel):
    open_clinic(panel.session, protected(), clinic_table(60))
    wait_for_jobs(qtbot, panel.session)
    assert "60 of 60 records are unique" in answer(panel, "found")
    assert panel.overview.cards["found"].badge.word.text() == "Danger"
    assert panel.state() is PanelState.ATTENTION


@pytest.mark.slow
def test_a_card_answers_in_a_sentence_and_tells_why_when_it_is_asked(asked):
    card = asked.overview.cards["together"]
    one, several = ("It is so.", "Since it is."), ("It is so.", "Since it is.", "And was.")
    card.show_answer(Answer(one, None))
    assert (card.answer.text(), card.rest.text()) == one
    assert card.rest.isVisible()
    assert not card.why.isVisible()
    card.show_answer(Answer(several, None))
    assert card.answer.text() == "It is so."
    assert not card.rest.isVisible()
    click(card.why)
    assert card.rest.isVisible()
    assert card.rest.text() == "Since it is.\n\nAnd was."
    assert card.why.accessibleName() == "Less What do they learn together?"
    click(card.why)
    assert not card.rest.isVisible()


@pytest.mark.slow
def test_behind_every_question_are_all_of_its_pages(asked):
    for page in asked.pages:
        asked.questions.offer(page, True)
    reached = []
    for name, card in asked.overview.cards.items():
        click(card.figures)
        assert {page.topic for page in asked.questions.offered} == {Topic[name.upper()]}
        reached += asked.questions.offered
        click(asked.questions.back)
        assert asked.current is None
    click(asked.report)
    assert {*reached, *asked.questions.offered} == set(asked.pages)


def test_the_buttons_of_the_questions_lead_to_the_person_and_the_file(asked):
    click(asked.overview.find_button)
    assert isinstance(asked.current, PersonPage)
    click(asked.questions.back)
    click(asked.overview.bring_button)
    assert asked.current.takes_files


def test_before_there_is_a_policy_the_questions_say_what_is_missing(panel):
    open_clinic(panel.session, clinic_document())
    assert "Answered once" in answer(panel, "together")
    assert panel.state() is PanelState.NONE


@pytest.mark.slow
def test_the_page_and_the_question_say_the_same_of_groups(qtbot, asked):
    page = asked.show_page(GroupRiskPage)
    wait_for_jobs(qtbot, asked.session)
    said = answer(asked, "groups")
    told = page.sentence.text().replace("“disease”", "disease")  # the card has another weight
    assert said.startswith(told.replace("\u202f", " "))
    assert "bounded as the guarantee says" in said
    assert "bounded as the guarantee says" in page.explanation.text()
