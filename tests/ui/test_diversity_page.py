"""The audit's page about other holders' tables, used as a person uses it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options, digest_of
from sfumato.project.document.generalization import CriterionChoice, OtherTableFile
from sfumato.ui.panels.audit.pages.diversity import DiversityPage
from sfumato.ui.panels.base import PanelState
from tests.ui.generalized_steps import WARDS, open_small, write_other
from tests.ui.hands import choose, click, on_screen, settle

DISTINCT = (CriterionChoice("distinct-diversity", {"l": 2}),)


def other(path, holder="Registry", public=("group", "sex")):
    return OtherTableFile(
        holder,
        str(path),
        digest_of(path, Silent()),
        detect_options(path).to_dict(),
        public,
        "ward",
    )


@pytest.fixture
def page(qtbot, session):
    return on_screen(qtbot, DiversityPage(session), 900, 700)


def filled(qtbot, page, *others, criteria=DISTINCT, **decided):
    open_small(page.session, criteria=criteria, others=others, **decided)
    settle(qtbot, page.session)
    return page


def test_without_another_table_the_page_says_where_to_add_one(qtbot, page):
    open_small(page.session, criteria=DISTINCT)
    assert page.pages.currentWidget() is page.empty
    assert page.state() is PanelState.EMPTY


def test_tables_that_keep_l_together_are_good(qtbot, page, tmp_path):
    filled(qtbot, page, other(write_other(tmp_path)))
    assert "fewer than" in page.sentence.text()
    assert page.found.standing.holds
    assert page.state() is PanelState.DONE
    assert not page.broken.isVisible()
    assert page.holders.tables[0].model().rowCount() == 2
    assert page.session.undo_text == "Open"


def test_a_table_that_breaks_l_is_named_with_its_combinations(qtbot, page, tmp_path):
    filled(qtbot, page, other(write_other(tmp_path, weak=True)))
    page.l.spin.setValue(3)
    settle(qtbot, page.session)
    assert page.state() is PanelState.ATTENTION
    assert "Registry" in page.explanation.text()
    assert "can't be kept any more" in page.explanation.text()
    assert page.breaches.tables[0].model().rowCount() == len(page.found.breaches) > 0


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_combination_shows_what_it_tells_about_a_person(qtbot, page, tmp_path):
    filled(qtbot, page, other(write_other(tmp_path, weak=True)))
    page.l.spin.setValue(3)
    settle(qtbot, page.session)
    page.breaches.tables[0].selectRow(1)
    breach = page.found.breaches[1]
    assert page.person.chosen == breach.classes
    data = page.person.shown.plots[0].figure.data
    assert (data["after"] > 0).sum() == 2
    assert data["after"].sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_the_page_says_how_likely_a_value_becomes_and_who_can_t_be_in_two_classes(
    qtbot, page, tmp_path
):
    filled(qtbot, page, other(write_other(tmp_path)), node=(0, 0))
    assert "somebody's value becomes" in page.explanation.text()
    assert "“sex” is taken to say the same of a person" in page.explanation.text()
    assert "remain possible" in page.person.said.text()  # what is shown first is somebody's
    theirs, ours = page.found.holders
    women = [at for at, label in enumerate(theirs.labels) if "f" in label]
    men = [at for at, label in enumerate(ours.labels) if "m" in label]
    page.person.choose((women[0], men[0]))
    assert "common columns differ" in page.person.said.text()
    assert not any(plot.isVisible() for plot in page.person.shown.plots)
    page.person.choose((women[0], next(at for at in range(ours.classes) if at not in men)))
    assert "remain possible" in page.person.said.text()


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("public", ["sex", "gender"])
def test_the_combination_shown_first_is_one_that_somebody_can_be_in(qtbot, page, tmp_path, public):
    path = write_other(tmp_path)
    frame = pd.read_csv(path)[::-1]  # its first class is not that of our first person
    frame["group"] = np.where(frame["ward"].isin(WARDS[::2]), "a", "b")
    frame.rename(columns={"sex": public}).to_csv(path, index=False)
    filled(qtbot, page, other(path, public=("group", public)), pinned=((0, 0),))
    choose(page.ours, (0, 0))
    settle(qtbot, page.session)
    assert len(page.person.chosen) == 2
    assert "remain possible" in page.person.said.text()
    page.l.spin.setValue(3)
    settle(qtbot, page.session)
    [row] = page.breaches.tables[0].selectionModel().selectedRows()
    assert row.row() > 0
    assert page.person.chosen == page.found.breaches[row.row()].classes
    assert "remain possible" in page.person.said.text()


def test_classes_that_nobody_can_be_in_are_shown_where_there_are_no_others(qtbot, page, tmp_path):
    paths = [tmp_path / "first" / "registry.csv", tmp_path / "second" / "registry.csv"]
    for path, wards in zip(paths, (WARDS[:2], WARDS[2:]), strict=True):
        path.parent.mkdir()
        frame = pd.read_csv(write_other(path.parent))
        frame[frame["ward"].isin(wards)].to_csv(path, index=False)
    others = [other(p, h, ("group",)) for p, h in zip(paths, ("Registry", "Fund"), strict=True)]
    filled(qtbot, page, *others, node=(0, 0))
    assert "Nobody can be in these classes" in page.person.said.text()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_known_correlation_counts_the_ways(qtbot, page, tmp_path):
    path = write_other(tmp_path, weak=True)
    path.write_text(path.read_text().replace("sex", "gender"))  # which is not aligned
    filled(qtbot, page, other(path, public=("group", "gender")))
    page.person.share.spin.setValue(10)
    click(page.person.count)
    settle(qtbot, page.session)
    assert "ways. Then the chances" in page.person.said.text()
    assert page.person.shown.tables[1].model().rowCount() > 0
    assert "correlated" in page.person.shown.plots[0].figure.data


@pytest.mark.slow
def test_a_correlation_that_does_not_fit_is_explained(qtbot, page, tmp_path):
    filled(qtbot, page, other(write_other(tmp_path, weak=True)), node=(0, 0))
    choose(page.ours, False)
    settle(qtbot, page.session)
    page.person.share.spin.setValue(100)
    click(page.person.count)
    settle(qtbot, page.session)
    assert page.person.ways_text.text()


def test_ours_can_be_left_out(qtbot, page, tmp_path):
    filled(qtbot, page, other(write_other(tmp_path)))
    choose(page.ours, False)
    settle(qtbot, page.session)
    assert [h.holder for h in page.found.holders] == ["Registry"]
    assert page.found.node is None


def test_a_pinned_node_is_judged_though_it_is_not_safe(qtbot, page, tmp_path):
    filled(qtbot, page, other(write_other(tmp_path, weak=True)), pinned=((0, 0),))
    choose(page.ours, (0, 0))
    page.l.spin.setValue(2)
    settle(qtbot, page.session)
    assert page.found.node == (0, 0)
    assert not page.found.standing.holds
    assert page.found.standing.holders[-1].is_cause


def test_a_table_that_is_gone_is_said(qtbot, page, tmp_path):
    path = write_other(tmp_path)
    table = other(path)
    path.unlink()
    filled(qtbot, page, table)
    assert "is not at" in page.sentence.text()
    assert page.state() is PanelState.ATTENTION
    assert not page.cards.isVisible()


@pytest.mark.slow
def test_a_hidden_page_waits(qtbot, page, tmp_path):
    page.hide()
    filled(qtbot, page, other(write_other(tmp_path)))
    assert page.found is None
    page.show()
    settle(qtbot, page.session)
    assert page.found is not None
