"""The versions, and what is said when Sfumato itself fails."""

from __future__ import annotations

import platform

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QFontDatabase, QGuiApplication, QIcon
from PySide6.QtWidgets import QGridLayout, QLabel, QPlainTextEdit, QWidget

from sfumato import __version__
from sfumato.jobs import BugReport
from sfumato.report.versions import Component, made_of
from sfumato.resources import resource_path
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, TextSize, font, scaled
from sfumato.ui.widgets.layout import Badge, fill, label


def versions() -> tuple[Component, ...]:
    """Return what is told of this Sfumato and of what it runs on, Sfumato first."""
    sfumato, python, *libraries = made_of()
    qt = Component("Qt", qVersion() or "?", "LGPL-3.0")
    system = Component(platform.system(), platform.release(), "")
    return (sfumato, python, qt, *libraries, system)


def versions_text() -> str:
    """Return the versions, one a line."""
    return "\n".join(f"{part.name} {part.version}" for part in versions())


class AboutDialog(Dialog):
    """Names the product, its version and what it is made with."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Sfumato {version}").format(version=__version__),
            self.tr(
                "Releases one table about individuals at many trust levels, and shows what every"
                " coalition of recipients would learn.",
            ),
            parent,
        )
        self.setMinimumWidth(scaled(620))
        fill(self.body, self._privacy(), Space.INSIDE)
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(3, 1)
        for line, part in enumerate(versions()):
            number = label(part.version)
            number.setFont(font(TextSize.BODY, tabular=True))
            number.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(label(part.name, "muted"), line, 0)
            grid.addWidget(number, line, 1)
            grid.addWidget(label(part.licence, "muted"), line, 2)
        mark = QLabel(self)
        mark.setPixmap(QIcon(str(resource_path("icons", "app.svg"))).pixmap(96, 96))
        mark.setAccessibleName(self.tr("Sfumato's mark"))
        grid.addWidget(mark, 0, 4, len(versions()), 1, Qt.AlignmentFlag.AlignTop)
        self.body.addLayout(grid)
        words = self.tr(
            "On the right is each part's licence. The font is Inter (SIL Open Font License);"
            " most icons are Lucide (ISC)."
        )
        licence = label(words, "small", wrap=True)
        self.body.addWidget(licence)
        self.add_button(
            self.tr("Copy versions"), lambda: QGuiApplication.clipboard().setText(versions_text())
        )
        self.add_primary(self.tr("Close"))

    def _privacy(self) -> Badge:
        """Return what is promised about networks."""
        words = self.tr(
            "Sfumato connects to no network, unless you open a database: it looks for no"
            " updates and reports nothing to anybody."
        )
        return Badge("shield", "muted", words, look="", wrap=True)


class BugDialog(Dialog):
    """Shows a bug report.

    Parameters
    ----------
    report
        What failed and where.
    """

    def __init__(self, report: BugReport, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Something in Sfumato failed"),
            self.tr(
                "Your work is safe, and nothing was changed by this: {title}. Please send the"
                " details below to the makers; they hold no value of your table.",
            ).format(title=report.title),
            parent,
        )
        self.setMinimumSize(scaled(640), scaled(420))
        self.details = QPlainTextEdit(f"{report.text}\n\n{versions_text()}", self)
        self.details.setReadOnly(True)
        self.details.setAccessibleName(self.tr("Details"))
        self.details.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.details.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.body.addWidget(self.details)
        self.copy_button = self.add_button(
            self.tr("Copy details"),
            lambda: QGuiApplication.clipboard().setText(self.details.toPlainText()),
        )
        self.add_primary(self.tr("Close"))
