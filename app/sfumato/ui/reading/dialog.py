"""The dialog in which a person changes how a file is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QWidget

from sfumato.formats.options import ReadOptions
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.reading.import_page import ImportPage
from sfumato.ui.state.session import Session

WIDTH, HEIGHT = 920, 620


class ReadingDialog(Dialog):
    """Shows a file's options beside its first rows, which follow every change.

    Parameters
    ----------
    session
        Runs the previews.
    path
        The file.
    options
        How it is read so far.
    sheets
        The tables in it, where it can hold several.
    """

    def __init__(
        self,
        session: Session,
        path: Path,
        options: ReadOptions,
        sheets: Sequence[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(self.tr("Change how the file is read"), "", parent)
        self.page = ImportPage(session, self)
        self.body.addWidget(self.page, 1)
        self.add_cancel()
        self.submit = self.add_primary(self.tr("Read it like this"))
        self.submit.setEnabled(False)
        self.page.previewed.connect(self.submit.setEnabled)
        self.page.form.changed.connect(lambda _options: self.submit.setEnabled(False))
        self.resize(WIDTH, HEIGHT)
        self.page.show_file(path, options, tuple(sheets))

    @property
    def options(self) -> ReadOptions:
        """The options as they are chosen."""
        return self.page.options
