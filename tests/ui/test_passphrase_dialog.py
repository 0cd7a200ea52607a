"""The passphrase dialogs, with the keyboard alone."""

from PySide6.QtCore import Qt

from app.ui.dialogs.passphrase import NewPassphraseDialog

WORDS = "violet harbour ladder nine"


def test_tab_leads_from_the_passphrase_to_its_repetition(qtbot):
    dialog = NewPassphraseDialog("clinic")
    qtbot.addWidget(dialog)
    dialog.show()
    qtbot.waitActive(dialog)
    dialog.first.setFocus()
    qtbot.keyClicks(dialog.first, WORDS)
    qtbot.keyClick(dialog.first, Qt.Key.Key_Tab)
    assert dialog.focusWidget() is dialog.second
    qtbot.keyClicks(dialog.second, WORDS)
    with qtbot.waitSignal(dialog.submitted):
        qtbot.keyClick(dialog.second, Qt.Key.Key_Return)
    assert dialog.passphrase == WORDS
