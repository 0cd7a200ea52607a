"""The About box: what this is, and the versions of everything in it."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication, QIcon
from PySide6.QtWidgets import QDialogButtonBox, QGridLayout, QLabel, QWidget

from sfumato import __version__
from sfumato.resources import resource_path
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import TextSize, font
from sfumato.ui.state.versions import versions, versions_text
from sfumato.ui.widgets.layout import label


class AboutDialog(Dialog):
    """Names the product, its version and what it is made with."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            QCoreApplication.translate("AboutDialog", "Sfumato {version}").format(
                version=__version__
            ),
            QCoreApplication.translate(
                "AboutDialog",
                "Releases one table about individuals at many trust levels, and shows what every"
                " coalition of recipients would learn.",
            ),
            parent,
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(2, 1)
        for line, (name, number) in enumerate(versions()):
            value = label(number)
            value.setFont(font(TextSize.BODY, tabular=True))
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(label(name, "muted"), line, 0)
            grid.addWidget(value, line, 1)
        mark = QLabel(self)
        mark.setPixmap(QIcon(str(resource_path("icons", "app.svg"))).pixmap(96, 96))
        grid.addWidget(mark, 0, 3, len(versions()), 1, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(grid)
        licence = label(
            self.tr("The font is Inter (SIL Open Font License); most icons are Lucide (ISC)."),
            "small",
            wrap=True,
        )
        self.body.addWidget(licence)
        copy = self.buttons.addButton(
            self.tr("Copy versions"), QDialogButtonBox.ButtonRole.ActionRole
        )
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(versions_text()))
        self.add_primary(self.tr("Close"))
