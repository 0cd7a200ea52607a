"""Every button and field of a dialog, and every line of a menu, has a letter of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from sfumato.analysis.answers import Answer
from sfumato.analysis.planning.plan import PlanStep, SafePlan
from sfumato.engine.core.wording import Sentence
from sfumato.formats.reading import detect_options
from sfumato.jobs import BugReport
from sfumato.project.errors import NotSealed
from sfumato.ui.dialogs.about import AboutDialog, BugDialog
from sfumato.ui.dialogs.base import (
    ChoiceDialog,
    Dialog,
    NewPassphraseDialog,
    OpenPassphraseDialog,
    UnsealedDialog,
)
from sfumato.ui.dialogs.databases import DatabaseDialog
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.hierarchy.keeping import HierarchyFilesDialog
from sfumato.ui.panels.import_page import MissingTextsDialog, ReadingDialog
from sfumato.ui.panels.policy.adoption import AdoptDialog
from sfumato.ui.panels.policy.generalized.other_tables import OtherDialog
from sfumato.ui.panels.policy.whole_plan import PlanDialog
from sfumato.ui.panels.releases.approval import (
    ApproveDialog,
    ApproverDialog,
    RemoveApproverDialog,
)
from sfumato.ui.panels.releases.verification_view import WithdrawDialog
from sfumato.ui.shell.next_edition import NextEditionDialog
from sfumato.ui.state.recovering import RecoverDialog, SheetDialog
from sfumato.ui.widgets.keyboard import letter_of, reached_by_letter, with_letters
from tests.in_batches import in_batches
from tests.ui.clinic import open_clinic, protected, wait_for_jobs


def test_wishes_are_heard_first_and_no_letter_is_given_twice():
    wanted = ["&Save", "&Cancel", "C&lose", "&R&&D"]
    assert with_letters(["Save", "&Cancel", "&Close", "R&&D"]) == wanted
    assert with_letters(["Save", "…"], taken="s") == ["S&ave", "…"]
    assert with_letters(["A", "A"]) == ["&A", "A"]


def encoded(session):
    column = session.attribute("disease")
    assert column is not None
    return column


def table_in(folder):
    path = folder / "ward.csv"
    path.write_text("a;b\n1;2\n", encoding="utf-8")
    return path


MAKERS = {
    OpenPassphraseDialog: lambda window, _: OpenPassphraseDialog("clinic", window),
    NewPassphraseDialog: lambda window, _: NewPassphraseDialog("clinic", window),
    RecoverDialog: lambda window, _: RecoverDialog("clinic", window),
    SheetDialog: lambda window, _: SheetDialog("clinic", window),
    ApproveDialog: lambda window, _: ApproveDialog(["Clinic A"], ["Ada", "Grace"], window),
    ApproverDialog: lambda window, _: ApproverDialog(window),
    RemoveApproverDialog: lambda window, _: RemoveApproverDialog(["Ada"], window),
    WithdrawDialog: lambda window, _: WithdrawDialog(
        "Clinic A", "2026-11-20T12:00:00+00:00", window
    ),
    UnsealedDialog: lambda window, _: UnsealedDialog(
        "clinic", NotSealed(Path("clinic.sfumato"), ()), window
    ),
    ChoiceDialog: lambda window, _: ChoiceDialog(
        "Keep?", "", (("save", "Save…"), ("discard", "Discard")), window
    ),
    DatabaseDialog: lambda window, _: DatabaseDialog(
        window.session.runner, window.session.chooser, None, window
    ),
    MissingTextsDialog: lambda window, _: MissingTextsDialog("income", ("-9",), window),
    NextEditionDialog: lambda window, _: NextEditionDialog(
        "b.csv", Answer(("One is new.",)), window
    ),
    AboutDialog: lambda window, _: AboutDialog(window),
    BugDialog: lambda window, _: BugDialog(BugReport.of(ValueError("x"), "Testing"), window),
    ReadingDialog: lambda window, folder: ReadingDialog(
        window.session, table_in(folder), detect_options(table_in(folder)), (), window
    ),
    HierarchyDialog: lambda window, _: HierarchyDialog(window.session, "age", window),
    HierarchyFilesDialog: lambda window, _: HierarchyFilesDialog(window.session, window),
    OtherDialog: lambda window, _: OtherDialog(
        window.session, "disease", encoded(window.session).attribute.domain, window
    ),
    PlanDialog: lambda window, _: PlanDialog(
        SafePlan(
            window.session.document,
            (PlanStep(Sentence("Left out: {columns}.", columns="mood"), left_out=("mood",)),),
            (),
            (),
            (),
        ),
        window.session.undo,
        lambda _columns: None,
        window,
    ),
    AdoptDialog: lambda window, _: AdoptDialog(
        window.session,
        window.session.document.policy[0],
        [encoded(window.session)],
        in_batches(window.session.table),
        window,
    ),
}


def kinds_of(kind):
    below = [each for one in kind.__subclasses__() for each in kinds_of(one)]
    return [each for each in below if not each.__subclasses__()] or [kind]


def test_every_dialog_is_walked_through():
    names = {kind for kind in kinds_of(Dialog) if kind.__module__.startswith("sfumato.")}
    # Another dialog is made of it, so that it is no end of its family.
    assert {*names, NewPassphraseDialog} == set(MAKERS)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.__name__)
def test_a_dialog_is_reached_by_letters_and_enter_presses_what_has_the_focus(
    window, qtbot, tmp_path, kind
):
    open_clinic(window.session, protected())
    dialog = MAKERS[kind](window, tmp_path)
    dialog.show()
    wait_for_jobs(qtbot, window.session)
    QCoreApplication.processEvents()
    letters = [letter_of(part.text()) for part in reached_by_letter(dialog)]
    assert letters
    assert all(letters), [part.text() for part in reached_by_letter(dialog)]
    assert max(Counter(letters).values()) == 1, letters
    buttons = dialog.buttons.buttons()
    leave = next(each for each in buttons if each.text().replace("&", "") in ("Cancel", "Close"))
    leave.setFocus()
    QTest.keyClick(leave, Qt.Key.Key_Return)
    assert not dialog.isVisible()
    assert dialog.result() == Dialog.DialogCode.Rejected or kind in (
        AboutDialog,
        BugDialog,
        PlanDialog,
    )


def lines_of(menu):
    return [line for line in menu.actions() if line.isVisible() and not line.isSeparator()]


def test_every_line_of_every_menu_has_a_letter_and_no_key_is_given_twice(window):
    open_clinic(window.session, protected())
    window.menus.fill_recent()
    top = lines_of(window.menuBar())
    menus = [line.menu() for line in top]
    menus += [menu for menu in window.findChildren(QMenu) if menu not in menus and menu.title()]
    assert len(menus) > len(top)
    for lines in (top, *(opened(menu) for menu in menus)):
        letters = [letter_of(line.text()) for line in lines if line.isEnabled()]
        assert all(letters), [line.text() for line in lines]
        assert not letters or max(Counter(letters).values()) == 1, letters
    keys = Counter(
        key.toString() for action in window.menus.actions.values() for key in action.shortcuts()
    )
    assert max(keys.values()) == 1, keys


def opened(menu):
    menu.aboutToShow.emit()
    return lines_of(menu)


@pytest.mark.slow
def test_the_letters_of_panels_are_not_those_of_the_menus(window):
    open_clinic(window.session, protected())
    taken = {letter_of(line.text()) for line in lines_of(window.menuBar())}
    for name in window.panels:
        window.show_panel(name)
        letters = [letter_of(part.text()) for part in reached_by_letter(window.current)]
        letters = [letter for letter in letters if letter]
        assert not taken & set(letters), name
        assert not letters or max(Counter(letters).values()) == 1, (name, letters)
