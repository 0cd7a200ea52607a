"""The help: its pages, each with its answer first and the rest one click further, and a search."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import QEvent, QObject, QRegularExpression, QSize, Qt, QUrl
from PySide6.QtGui import (
    QBrush,
    QColor,
    QDesktopServices,
    QFont,
    QImage,
    QKeyEvent,
    QKeySequence,
    QPixmap,
    QShortcut,
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
    QListWidget,
    QListWidgetItem,
    QTextBrowser,
    QTextEdit,
    QWidget,
)

from sfumato.formats.language import grouped
from sfumato.plots.style import PlotStyle
from sfumato.report.help_pages import HelpHit, HelpPage, anchor_of, help_pages, read_page, searched
from sfumato.resources import resource_path
from sfumato.ui.look.theme import Space, Theme, current_theme, scaled, themes
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import button, column, label, row, say
from sfumato.ui.widgets.messages import announce
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
_IMAGE: Final = QTextDocument.ResourceType.ImageResource.value
_PICTURE: Final = 640
"""Pictures are drawn no wider; pixels at scale 1."""
_PICTURES: Final[dict[tuple[str, ...], QImage | QPixmap]] = {}
"""Pictures by their name and where they are looked for; there are few."""


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
        _fit_picture(document, block)
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


def _fit_picture(document: QTextDocument, block: QTextBlock) -> None:
    """Give a picture the width of the text, and its line no more height than it has."""
    parts = block.begin()
    while not parts.atEnd():
        part = parts.fragment()
        if part.charFormat().isImageFormat():
            look = part.charFormat().toImageFormat()
            drawn = _picture(document, look.name())
            if isinstance(drawn, QImage | QPixmap) and drawn.width() > scaled(_PICTURE):
                look.setWidth(scaled(_PICTURE))
            cursor = QTextCursor(document)
            cursor.setPosition(part.position())
            cursor.setPosition(part.position() + part.length(), QTextCursor.MoveMode.KeepAnchor)
            cursor.setCharFormat(look)
            single = QTextBlockFormat()
            single.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
            cursor.mergeBlockFormat(single)
            return
        parts += 1


def _picture(document: QTextDocument, name: str) -> object:
    """Return a picture, decoded once: a page is written again with each letter of a search."""
    browser = document.parent()
    places = browser.searchPaths() if isinstance(browser, QTextBrowser) else []
    known = _PICTURES.get((name, *places))
    if known is None:
        known = document.resource(_IMAGE, QUrl(name))
        if isinstance(known, QImage | QPixmap):
            _PICTURES[(name, *places)] = known
    else:
        document.addResource(_IMAGE, QUrl(name), known)
    return known


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


SHORT: Final = 260
"""A page of no more words is shown whole."""
MOST_HITS: Final = 30
LIGHT, DARK = "-light.png", "-dark.png"
"""How a picture's file ends in each look; pages name the light one."""
_FOLD: Final = "fold"
_OPEN, _CLOSED = "▾ ", "▸ "
_SECTION: Final = 2
"""The level of a section's heading."""
_MARGIN: Final = 24
_LINES_OF_A_HIT: Final = 4
_TYPED_MILLISECONDS: Final = 120
"""So long after the last letter of a search its first answer is shown."""
_ASKED_LETTERS: Final = 2
"""Shorter words are not marked in the text: they stand inside too many others."""


class HelpDialog(QDialog):
    """Lists the help's pages and shows one; stays open beside the window.

    Of a page its answer is in sight, and the headings of what is one click further.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Help – Sfumato"))
        self.resize(scaled(1040), scaled(680))
        self.pages = tuple(map(read_page, help_pages()))
        self.hits: tuple[HelpHit, ...] = ()
        self._page: HelpPage | None = None
        self._opened: set[str] = set()
        self._build()
        self._shown_in: Theme | None = None
        self._soon = delayed(self, self._follow_theme)
        # Not at once: the page is written anew once Qt has told every widget of its new colours.
        themes().changed.connect(self._soon.start)
        for keys in (QKeySequence(QKeySequence.StandardKey.Find), QKeySequence("Ctrl+K")):
            QShortcut(keys, self).activated.connect(self._go_to_search)
        self._list_pages()
        if self.pages:
            self.list.setCurrentRow(0)

    def _build(self) -> None:
        self.search = text_field(self.tr("Search the help"), self.tr("Search (Ctrl+F)"))
        self.search.setClearButtonEnabled(True)
        self._typed = delayed(self, self._show_first, _TYPED_MILLISECONDS)
        self.search.textChanged.connect(self._search)
        self.search.installEventFilter(self)
        self.told = label("", "muted", wrap=True)
        say(self.told, "")
        self.list = QListWidget(self)
        self.list.setWordWrap(True)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.currentRowChanged.connect(self._show_row)
        self.text = QTextBrowser(self)
        self.text.setOpenLinks(False)
        self.text.anchorClicked.connect(self._follow)
        self.unfold = button(self.tr("Show the whole page"), self._turn_all, "quiet")
        left = QWidget(self)
        left.setFixedWidth(scaled(264))
        left.setLayout(column(self.search, self.told, (self.list, 1), spacing=Space.INSIDE))
        right = column((self.text, 1), row(self.unfold, None), spacing=Space.INSIDE)
        whole = row(left, spacing=16, margins=(16, 16, 16, 16))
        whole.addLayout(right, 1)
        self.setLayout(whole)

    # ----- the list: all pages, or what a search found

    def _list_pages(self) -> None:
        self._fill(self.tr("Pages"), [(page.title, "") for page in self.pages])

    def _fill(self, name: str, lines: list[tuple[str, str]]) -> None:
        """Show other lines, each with what stands below it, and choose none."""
        self.list.blockSignals(True)
        self.list.clear()
        self.list.setAccessibleName(name)
        for title, below in lines:
            item = QListWidgetItem(f"{title}\n{below}" if below else title, self.list)
            high = self.list.fontMetrics().lineSpacing() * _LINES_OF_A_HIT + 2 * Space.INSIDE
            item.setSizeHint(QSize(0, high if below else Space.FIELD))
            item.setToolTip(below)
        self.list.blockSignals(False)

    def _search(self, text: str) -> None:
        """Show what answers, the best first, or all pages."""
        self.hits = searched(text, self.pages)[:MOST_HITS] if text.strip() else ()
        if self.hits:
            names = [self._name_of(hit) for hit in self.hits]
            lines = [(name, hit.excerpt) for name, hit in zip(names, self.hits, strict=True)]
            self._fill(self.tr("Found"), lines)
            words = self.tr("{count} {count:place|places} found")
            told = words.format(count=grouped(len(self.hits)))
            say(self.told, told)
            self.list.blockSignals(True)
            self.list.setCurrentRow(0)
            self.list.blockSignals(False)
            self._typed.start()
        else:
            self._list_pages()
            told = self.tr(
                "Nothing found for “{text}”. Try one word of it, its beginning, or another word;"
                " or choose a page below."
            ).format(text=text.strip())
            say(self.told, told if text.strip() else "")
            self._mark()
            self._choose_shown()
        if text.strip():
            announce(self.search, told)

    def _name_of(self, hit: HelpHit) -> str:
        title, heading = hit.page.title, hit.section.name
        return f"{title} ▸ {heading}" if heading else title

    def _choose_shown(self) -> None:
        """Choose the page in sight among all pages."""
        self.list.blockSignals(True)
        if self._page is not None:
            self.list.setCurrentRow(self.pages.index(self._page))
        self.list.blockSignals(False)

    def _go_to_search(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Let the arrow keys in the search choose what was found, and Enter lead into it."""
        pressed = event.type() == QEvent.Type.KeyPress
        if watched is self.search and pressed and isinstance(event, QKeyEvent):
            return self._key(event.key())
        return super().eventFilter(watched, event)

    def _key(self, key: int) -> bool:
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1}
        if key in steps:
            row_ = self.list.currentRow() + steps[Qt.Key(key)]
            self.list.setCurrentRow(min(max(row_, 0), self.list.count() - 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.text.setFocus()
        elif key == Qt.Key.Key_Escape and self.search.text():
            self.search.clear()
        else:
            return False
        return True

    # ----- the page

    def show_page(self, name: str, anchor: str = "") -> bool:
        """Show a page, named without ``.md``, at a section; return whether it is there."""
        self.search.clear()
        for line, page in enumerate(self.pages):
            if page.name == name:
                self.list.setCurrentRow(line)
                self._show(page, anchor)
                return True
        return False

    def _show_first(self) -> None:
        """Show what answers best, once nobody types: a long page takes longer than a letter."""
        if self.hits:
            self._show_row(self.list.currentRow())

    def _show_row(self, line: int) -> None:
        self._typed.stop()
        if self.hits and 0 <= line < len(self.hits):
            hit = self.hits[line]
            self._show(hit.page, hit.section.anchor, found=True)
        elif 0 <= line < len(self.pages):
            self._show(self.pages[line])

    def _show(self, page: HelpPage, anchor: str = "", *, found: bool = False) -> None:
        """Show a page with this section open, beginning there, or where something was found."""
        self._page, self._opened = page, {anchor} if anchor else set()
        if page.words <= SHORT:
            self._opened = {section.anchor for section in page.sections}
        self._write()
        self.text.setAccessibleName(page.title)
        self.text.moveCursor(QTextCursor.MoveOperation.Start)
        marked = self._mark()
        if anchor and (heading := self._heading(anchor)) is not None:
            self._bring(heading.position())
            marked = [each for each in marked if each >= heading.position()]
        if found and marked and not self._in_sight(marked[0]):
            self._bring(marked[0])

    def _write(self) -> None:
        """Write the page in sight anew."""
        page = self._page
        if page is None:
            return
        self._shown_in = theme = current_theme()
        lines = [f"# {page.title}", page.sections[0].text]
        for section in page.sections[1:]:
            opened = section.anchor in self._opened
            mark = _OPEN if opened else _CLOSED
            lines.append(f"## [{mark}{section.heading}]({_FOLD}:{section.anchor})")
            lines += [section.text] * opened
        whole = "\n\n".join(lines)
        if theme.style.dark:
            whole = whole.replace(LIGHT, DARK)
        document = self.text.document()
        self.text.setSearchPaths([str(page.path.parent), str(resource_path("help"))])
        set_prose(document, whole, theme.style)
        document.setDocumentMargin(_MARGIN)
        folds = {each.anchor for each in page.sections[1:]}
        self.unfold.setVisible(bool(folds))
        words = self.tr("Show the whole page"), self.tr("Show the headings only")
        self.unfold.setText(words[folds <= self._opened])

    def _turn_all(self) -> None:
        """Open all sections of the page, or none."""
        if self._page is None:
            return
        folds = {section.anchor for section in self._page.sections[1:]}
        self._opened = set() if folds <= self._opened else folds
        self._write()
        self._mark()

    def _turn(self, anchor: str) -> None:
        """Open or close a section where it is, and leave the focus on its heading."""
        before = self.text.verticalScrollBar().value()
        self._opened ^= {anchor}
        self._write()
        self._mark()
        if (heading := self._heading(anchor)) is not None:
            cursor = QTextCursor(heading)
            cursor.movePosition(
                QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor
            )
            self.text.setTextCursor(cursor)
        self.text.verticalScrollBar().setValue(before)

    def _heading(self, anchor: str) -> QTextBlock | None:
        """Return the heading of a section of the page in sight."""
        block = self.text.document().begin()
        while block.isValid():
            level = block.blockFormat().headingLevel()
            if level == _SECTION and anchor_of(block.text()) == anchor:
                return block
            block = block.next()
        return None

    def _bring(self, position: int) -> None:
        """Scroll until a place of the text is at the top."""
        block = self.text.document().findBlock(position)
        top = self.text.document().documentLayout().blockBoundingRect(block).top()
        self.text.verticalScrollBar().setValue(round(top) - Space.INSIDE)

    def _in_sight(self, position: int) -> bool:
        cursor = QTextCursor(self.text.document())
        cursor.setPosition(position)
        return self.text.viewport().rect().contains(self.text.cursorRect(cursor))

    def _mark(self) -> list[int]:
        """Mark what was looked for in the page in sight, and return where it begins."""
        marks: dict[int, QTextEdit.ExtraSelection] = {}
        ground = QColor(current_theme().tint(current_theme().style.caution))
        line = QColor(current_theme().style.caution)
        for word in self.search.text().split() if self.hits else ():
            if len(word) < _ASKED_LETTERS:
                continue
            wanted = QRegularExpression(
                QRegularExpression.escape(word),
                QRegularExpression.PatternOption.CaseInsensitiveOption,
            )
            found = self.text.document().find(wanted)
            while not found.isNull():
                mark = QTextEdit.ExtraSelection()
                mark.cursor = found
                mark.format.setBackground(ground)
                mark.format.setFontUnderline(True)
                mark.format.setUnderlineColor(line)
                marks[found.selectionStart()] = mark
                found = self.text.document().find(wanted, found)
        self.text.setExtraSelections(list(marks.values()))
        return sorted(marks)

    def _follow(self, url: QUrl) -> None:
        if url.scheme() == _FOLD:
            self._turn(url.path())
        elif url.isRelative():
            name = Path(url.path()).stem or (self._page.name if self._page else "")
            self.show_page(name, url.fragment())
        else:
            QDesktopServices.openUrl(url)

    def _follow_theme(self) -> None:
        """Show the page in the new theme's colours, read as far as it was."""
        if self.isVisible() and self._shown_in is not current_theme():
            place = self.text.verticalScrollBar()
            before = place.value()
            self._write()
            self._mark()
            place.setValue(before)

    def showEvent(self, event: QShowEvent) -> None:
        """Catch up with a theme that changed meanwhile."""
        super().showEvent(event)
        self._follow_theme()
