"""The help pages, the versions, and what is said when Sfumato itself fails."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, QSize, Qt, QUrl, qVersion
from PySide6.QtGui import (
    QBrush,
    QColor,
    QDesktopServices,
    QFont,
    QFontDatabase,
    QGuiApplication,
    QIcon,
    QShowEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFrameFormat,
    QTextTable,
)
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QTextBrowser,
    QWidget,
)

from sfumato import __version__
from sfumato.formats.language import page_path
from sfumato.jobs import BugReport
from sfumato.plots.style import PlotStyle
from sfumato.report.versions import Part, made_of
from sfumato.resources import resource_path
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, TextSize, Theme, current_theme, font, scaled, themes
from sfumato.ui.widgets.layout import Badge, fill, label, row
from sfumato.ui.widgets.paint_queue import delayed

HEADING_STEPS: Final = (2, 1, 0)
"""How much larger than the text the headings of the first three levels are, in Qt's steps: with
text of 13 pixels they have 20, 16 and 13."""

_LINE_HEIGHT: Final = 140.0
_AFTER_PARAGRAPH: Final = 12
_AFTER_ITEM: Final = 4
_BEFORE_HEADING: Final = 24
_AFTER_HEADING: Final = 8
_CELL: Final = 8


def set_prose(document: QTextDocument, markdown: str, style: PlotStyle) -> None:
    """Fill a document with Markdown in the window's look.

    Parameters
    ----------
    document
        What is filled; what was in it is gone.
    markdown
        The text.
    style
        The theme's colours.
    """
    document.setDefaultStyleSheet(
        f"a {{ color: {style.accent}; }} code {{ color: {style.accent}; }}"
    )
    document.setMarkdown(markdown)
    block = document.begin()
    while block.isValid():
        _space(block)
        block = block.next()
    for frame in document.rootFrame().childFrames():
        if isinstance(frame, QTextTable):
            _rule(frame, style)


def _space(block: QTextBlock) -> None:
    """Give a block its margins, and a heading its size."""
    given = block.blockFormat()
    level = given.headingLevel()
    in_table = QTextCursor(block).currentTable() is not None
    wanted = QTextBlockFormat()
    wanted.setLineHeight(_LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
    if level:
        wanted.setTopMargin(_BEFORE_HEADING if level > 1 else 0)
        wanted.setBottomMargin(_AFTER_HEADING)
    elif not in_table:
        last = block.textList() is None or block.next().textList() is not block.textList()
        wanted.setBottomMargin(_AFTER_PARAGRAPH if last else _AFTER_ITEM)
    cursor = QTextCursor(block)
    cursor.mergeBlockFormat(wanted)
    if level:
        cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
        cursor.mergeCharFormat(_heading(level))


def _heading(level: int) -> QTextCharFormat:
    letters = QTextCharFormat()
    letters.setProperty(
        QTextCharFormat.Property.FontSizeAdjustment.value,
        HEADING_STEPS[min(level, len(HEADING_STEPS)) - 1],
    )
    letters.setFontWeight(QFont.Weight.DemiBold)
    return letters


def _rule(table: QTextTable, style: PlotStyle) -> None:
    """Draw a table with thin rules and room in its cells."""
    look = table.format()
    look.setBorder(1)
    look.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    look.setBorderBrush(QBrush(QColor(style.line)))
    look.setBorderCollapse(True)
    look.setCellPadding(_CELL)
    look.setCellSpacing(0)
    look.setBottomMargin(_AFTER_PARAGRAPH)
    table.setFormat(look)


def help_pages() -> tuple[Path, ...]:
    """Return the pages in the window's language: the index, then in the order it leads to them."""
    try:
        names = [path.name for path in resource_path("help").glob("*.md")]
        index = page_path("help", "index.md").read_text(encoding="utf-8")
    except LookupError:
        return ()

    def place(name: str) -> tuple[bool, int, str]:
        found = index.find(f"({name})")
        return (name != "index.md", found if found >= 0 else len(index), name)

    return tuple(page_path("help", name) for name in sorted(names, key=place))


def _title_of(page: Path) -> str:
    """Return a page's first heading, or its name."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return page.stem


class HelpDialog(QDialog):
    """Lists the help pages and shows one; stays open beside the window."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Help – Sfumato"))
        self.resize(scaled(920), scaled(680))
        self.pages = help_pages()
        self.list = QListWidget(self)
        self.list.setFixedWidth(scaled(240))
        self.list.setAccessibleName(self.tr("Pages"))
        for page in self.pages:
            item = QListWidgetItem(_title_of(page), self.list)
            item.setSizeHint(QSize(0, Space.FIELD))
        self.text = QTextBrowser(self)
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        self.list.currentRowChanged.connect(self._show_row)
        self._shown_in: Theme | None = None
        self._soon = delayed(self, self._follow_theme)
        # Not at once: the page is written anew once Qt has told every widget of its new colours.
        themes().changed.connect(self._soon.start)
        self.setLayout(row(self.list, (self.text, 1), spacing=16, margins=(16, 16, 16, 16)))
        if self.pages:
            self.list.setCurrentRow(0)

    def show_page(self, name: str) -> bool:
        """Show the page of that name (without ``.md``); return whether there is one."""
        for line, page in enumerate(self.pages):
            if page.stem == name:
                self.list.setCurrentRow(line)
                return True
        return False

    def _show_row(self, line: int) -> None:
        if not 0 <= line < len(self.pages):
            return
        self._shown_in = current_theme()
        page = self.pages[line]
        document = self.text.document()
        self.text.setSearchPaths([str(page.parent), str(resource_path("help"))])
        set_prose(document, page.read_text(encoding="utf-8"), self._shown_in.style)
        document.setDocumentMargin(24)
        self.text.setAccessibleName(_title_of(page))
        self.text.moveCursor(QTextCursor.MoveOperation.Start)

    def _follow(self, url: QUrl) -> None:
        if url.isRelative():
            self.show_page(Path(url.path()).stem)
        else:
            QDesktopServices.openUrl(url)

    def _follow_theme(self) -> None:
        """Show the page in the new theme's colours, read as far as it was."""
        if self.isVisible() and self._shown_in is not current_theme():
            place = self.text.verticalScrollBar()
            before = place.value()
            self._show_row(self.list.currentRow())
            place.setValue(before)

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with a theme that changed meanwhile."""
        super().showEvent(event)
        self._follow_theme()


def versions() -> tuple[Part, ...]:
    """Return what is told of this Sfumato and of what it runs on, Sfumato first."""
    sfumato, python, *libraries = made_of()
    qt = Part("Qt", qVersion() or "?", "LGPL-3.0")
    system = Part(platform.system(), platform.release(), "")
    return (sfumato, python, qt, *libraries, system)


def versions_text() -> str:
    """Return the versions, one a line."""
    return "\n".join(f"{part.name} {part.version}" for part in versions())


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
            QCoreApplication.translate("BugDialog", "Something in Sfumato failed"),
            QCoreApplication.translate(
                "BugDialog",
                "Your work is safe: nothing was changed by “{title}”. Please send the details"
                " below to the makers; they hold no value of your table.",
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
