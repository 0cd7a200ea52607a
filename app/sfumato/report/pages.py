"""A report on paper: blocks laid out on A4 pages, each with what it is in the structure.

A page is filled before the next begins: a picture that has no room waits while the text goes
on, or is drawn smaller; rows of tables stay whole, and headings stay with what follows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QPointF, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QFont,
    QGlyphRun,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextLayout,
    QTextLine,
    QTextOption,
)

from sfumato.formats.language import said, spoken
from sfumato.report.blocks import (
    FONT,
    PAPER_DOTS,
    Block,
    Bullets,
    Drawn,
    Paragraph,
    Picture,
    Report,
    ReportGrid,
    SignatureLines,
)
from sfumato.report.tagged import DocumentAbout, PlacedPiece, StructureTag, tagged_pdf

MARGIN_MILLIMETRES: Final = 18.0
FOOT: Final = 28.0
"""Pixels at the foot of a page, for its number."""
_TEXT, _MUTED, _CAUTION, _RULE = "#1E2328", "#5B6270", "#8A5A0B", "#D5D5D0"
_LOOKS: Final = {"": (12, _TEXT), "lead": (14, _TEXT), "note": (10, _MUTED)}
_CELL = 10
_GAP = 6.0
_PAD = 4.0
_SMALLEST = 0.62
"""How much smaller a picture may be drawn, so that a page is filled."""
_SIGNED = 34.0
"""Pixels: the height of a line that is filled in by hand."""

_LETTERS_AND_MARKS: Final = range(0x20, 0x3000)
"""The characters that fonts have in common; others are one glyph each."""

Painting = Callable[[QPainter], None]


def to_pdf(report: Report, pictures: Sequence[Drawn]) -> bytes:
    """Return a report as a tagged PDF, A4. Needs a `QGuiApplication`.

    Qt tells nobody of a disk that is full, so it is given none.

    Parameters
    ----------
    report
        The report.
    pictures
        Its plots, in order.
    """
    content = QBuffer()
    content.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(content)
    writer.setResolution(PAPER_DOTS)
    writer.setPageLayout(
        QPageLayout(
            QPageSize(QPageSize.PageSizeId.A4),
            QPageLayout.Orientation.Portrait,
            QMarginsF(*(MARGIN_MILLIMETRES,) * 4),
            QPageLayout.Unit.Millimeter,
        )
    )
    pages = _Pages(writer)
    pages.lay_out(report, pictures)
    painter = QPainter()
    if not painter.begin(writer):
        raise RuntimeError("Qt paints no PDF")
    try:
        for place, (_, paint) in enumerate(pages.pieces):
            if place:
                writer.newPage()
            paint(painter)
    finally:
        painter.end()
    placed = [piece for piece, _ in pages.pieces]
    painted = bytes(content.data().data())
    about = DocumentAbout(report.title, spoken(), pages.characters())
    return tagged_pdf(painted, placed, pages.structure, about)


def paper_font(pixels: int, bold: bool = False) -> QFont:
    """Return the font of a text on paper, every glyph of which can be read back as a character.

    Inter has forms of hyphens, colons and brackets beside capitals and digits that are no
    character's own; a file that shows them loses these when its text is copied or read aloud.
    """
    font = QFont(FONT)
    font.setPixelSize(pixels)
    font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
    for feature in ("calt", "clig", "liga"):
        font.setFeature(QFont.Tag(feature), 0)
    return font


class _Text:
    """A text in lines of a width."""

    def __init__(self, writer: QPdfWriter, text: str, font: QFont, right: bool = False) -> None:
        self.words = text.replace("\n", "\u2028")
        self._layout = QTextLayout(self.words, font, writer)
        option = QTextOption(Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft)
        option.setUseDesignMetrics(True)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._layout.setTextOption(option)
        self.is_empty = not text.strip()
        self.lines: list[QTextLine] = []

    @property
    def runs(self) -> list[QGlyphRun]:
        """Its glyphs, by their fonts."""
        return self._layout.glyphRuns()

    def wrap(self, width: float) -> _Text:
        """Break it into lines; return itself."""
        self._layout.beginLayout()
        self.lines, height = [], 0.0
        while (line := self._layout.createLine()).isValid():
            line.setLineWidth(width)
            line.setPosition(QPointF(0.0, height))
            height += line.height() * 1.08
            self.lines.append(line)
        self._layout.endLayout()
        return self

    def widths(self) -> tuple[float, float]:
        """Return the width of the longest word, and of the whole on one line."""
        whole = self._widest(1e6)
        option = self._layout.textOption()
        option.setWrapMode(QTextOption.WrapMode.WordWrap)
        self._layout.setTextOption(option)
        word = self._widest(0.5)
        option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._layout.setTextOption(option)
        return word, whole

    def _widest(self, width: float) -> float:
        self.wrap(width)
        return max((line.naturalTextWidth() for line in self.lines), default=0.0)

    def height(self, first: int = 0, last: int | None = None) -> float:
        """Return the height of some of its lines."""
        lines = self.lines[first:last]
        return lines[-1].y() + lines[-1].height() * 1.08 - lines[0].y() if lines else 0.0

    def fitting(self, first: int, room: float) -> int:
        """Return the line after the last that has room, from `first` on."""
        last = first
        while last < len(self.lines) and self.height(first, last + 1) <= room:
            last += 1
        return last

    def painting(self, first: int, last: int, at: QPointF, colour: str) -> Painting:
        """Return what paints some of its lines."""

        def paint(painter: QPainter) -> None:
            painter.setPen(QColor(colour))
            lines = self.lines[first:last]  # lines live as long as their text does
            painter.setFont(self._layout.font())
            for line in lines:
                line.draw(painter, QPointF(at.x(), at.y() - lines[0].y()))
                end = line.textStart() + line.textLength()
                if self.words[end - 1 : end] == " ":
                    # Qt leaves the space at a line's end out: whoever hears the text needs it.
                    after = at.x() + line.naturalTextRect().right()
                    base = at.y() - lines[0].y() + line.y() + line.ascent()
                    painter.drawText(QPointF(after, base), " ")

        return paint


class _Pages:
    """Pages that are filled from top to bottom."""

    def __init__(self, writer: QPdfWriter) -> None:
        self._writer = writer
        self._width = float(writer.width())
        self._height = float(writer.height()) - FOOT
        self._page = 0
        self._y = 0.0
        self._waiting: list[tuple[StructureTag, Drawn]] = []
        self._rules: list[tuple[int, float]] = []
        self._texts: list[_Text] = []
        self.structure = StructureTag("Document")
        self.pieces: list[tuple[PlacedPiece, Painting]] = []

    def set(self, text: str, font: QFont, right: bool = False) -> _Text:
        """Return a text to be broken into lines."""
        self._texts.append(_Text(self._writer, text, font, right))
        return self._texts[-1]

    def characters(self) -> dict[str, str]:
        """Return which character was written, for those of which fonts make no difference.

        Fonts have one glyph for several characters, as a closing quotation mark and a modifier
        letter, and Qt says of such a glyph that it is the last of them.
        """
        fonts = {run.rawFont().familyName(): run.rawFont() for t in self._texts for run in t.runs}
        written = sorted({character for text in self._texts for character in text.words})
        found = {}
        for font in fonts.values():
            by_glyph: dict[int, str] = {}
            for character in written:
                for glyph in font.glyphIndexesForString(character)[:1]:
                    by_glyph.setdefault(glyph, character)
            by_glyph.pop(0, None)
            for code in _LETTERS_AND_MARKS:
                glyphs = font.glyphIndexesForString(chr(code))
                if glyphs and glyphs[0] in by_glyph and chr(code) not in written:
                    found[chr(code)] = by_glyph[glyphs[0]]
        return found

    def lay_out(self, report: Report, pictures: Sequence[Drawn]) -> None:
        """Put a report on pages."""
        top = self.structure
        self._text(top.add("H1"), report.title, 20, bold=True, gap=0.0)
        self._text(top.add("P"), report.subtitle, 12, _MUTED)
        self._text(top.add("P"), report.notice, 12, _CAUTION)
        left = iter(pictures)
        for section in report.sections:
            part = top.add("Sect")
            self._heading(part, said(section.title))
            for block in section.blocks:
                if isinstance(block, Picture):
                    drawn = next(left)
                    figure = part.add("Figure")
                    figure.alternative = f"{drawn.headline}. {said(block.text)}"
                    self._waiting.append((figure, drawn))
                    self._place_waiting(may_wait=True)
                else:
                    self._block(part, block)
        while self._waiting:
            self._place_waiting(may_wait=True)
            if self._waiting:
                self._turn()
        self._decorate(report.footer)

    # ----- where things go

    def _turn(self) -> None:
        self._page += 1
        self._y = 0.0
        self._place_waiting(may_wait=False)

    def _need(self, height: float) -> None:
        """Begin a page where this one has no room; what waits may take the beginning."""
        while self._y > 0.0 and self._y + height > self._height:
            before = self._page
            self._turn()
            if self._page == before + 1 and not self._waiting and self._y == 0.0:
                break

    def _add(self, tag: StructureTag, painting: Painting) -> None:
        tag.children.append(len(self.pieces))
        self.pieces.append((PlacedPiece(self._page), painting))

    def _decorate(self, footer: str) -> None:
        count = self._page + 1
        for page in range(count):
            rules = [y for on, y in self._rules if on == page]
            paint = self._decoration(rules, footer, f"{page + 1} / {count}")
            self.pieces.append((PlacedPiece(page, decorates=True), paint))

    def _decoration(self, rules: list[float], footer: str, number: str) -> Painting:
        def paint(painter: QPainter) -> None:
            for y in rules:
                painter.fillRect(QRectF(0.0, y, self._width, 0.6), QColor(_RULE))
            painter.setFont(paper_font(_CELL))
            painter.setPen(QColor(_MUTED))
            foot = QRectF(0.0, self._height + FOOT / 2, self._width, FOOT / 2)
            room = painter.fontMetrics().elidedText(
                footer, Qt.TextElideMode.ElideRight, int(self._width * 0.85)
            )
            painter.drawText(foot, int(Qt.AlignmentFlag.AlignLeft), room)
            painter.drawText(foot, int(Qt.AlignmentFlag.AlignRight), number)

        return paint

    # ----- pictures

    def _place_waiting(self, may_wait: bool) -> None:
        while self._waiting:
            tag, drawn = self._waiting[0]
            width = min(self._width, drawn.width)
            height = drawn.height * width / drawn.width
            room = self._height - self._y - 2 * _GAP
            scale = min(1.0, room / height)
            if scale < (_SMALLEST if may_wait or self._y > 0.0 else 0.0):
                return
            self._waiting.pop(0)
            self._picture(tag, drawn, QRectF(0.0, self._y + _GAP, width * scale, height * scale))

    def _picture(self, tag: StructureTag, drawn: Drawn, place: QRectF) -> None:
        dots = 72.0 / PAPER_DOTS
        margin = MARGIN_MILLIMETRES / 25.4 * 72.0
        bottom = self._paper_height() - margin - place.bottom() * dots
        corners = (
            margin + place.left() * dots,
            bottom,
            margin + place.right() * dots,
            bottom + place.height() * dots,
        )
        box = " ".join(str(round(number, 1)) for number in corners)
        tag.attributes = f"/O /Layout /Placement /Block /BBox [{box}]"
        image = drawn.image or QImage()
        self._add(tag, lambda painter: painter.drawImage(place, image))
        self._y = place.bottom() + _GAP

    def _paper_height(self) -> float:
        size: float = self._writer.pageLayout().fullRect(QPageLayout.Unit.Point).height()
        return size

    # ----- texts

    def _heading(self, part: StructureTag, title: str) -> None:
        if self._y:
            self._need(90.0)
        self._text(part.add("H2"), title, 15, bold=True, gap=16.0 if self._y else 0.0)

    def _block(self, part: StructureTag, block: Block) -> None:
        match block:
            case Paragraph(text, look):
                pixels, colour = _LOOKS[look]
                introduces = said(text).endswith(":")
                self._text(part.add("P"), said(text), pixels, colour, keep=70.0 * introduces)
            case Bullets(items):
                listed = part.add("L", "/O /List /ListNumbering /Disc")
                for item in items:
                    self._bullet(listed.add("LI"), said(item))
            case ReportGrid():
                _TableOnPages(self, part.add("Table"), block).lay_out()
            case SignatureLines(labels):
                self._signed(part.add("Table"), labels)
            case _:
                raise TypeError(type(block).__name__)

    def _text(
        self,
        tag: StructureTag,
        text: str,
        pixels: int,
        colour: str = _TEXT,
        bold: bool = False,
        gap: float = _GAP,
        keep: float = 0.0,
    ) -> None:
        made = self.set(text, paper_font(pixels, bold)).wrap(self._width)
        if made.is_empty:
            return
        self._y += gap if self._y else 0.0
        self._need(made.height(0, 2) + keep)
        self._lines(tag, made, 0.0, colour)

    def _bullet(self, item: StructureTag, text: str) -> None:
        font = paper_font(12)
        made = self.set(text, font).wrap(self._width - 14.0)
        self._y += _GAP / 2
        self._need(made.height(0, 2))
        dot = self.set("•", font).wrap(14.0)
        self._add(item.add("Lbl"), dot.painting(0, 1, QPointF(2.0, self._y), _TEXT))
        self._lines(item.add("LBody"), made, 14.0, _TEXT)

    def _lines(self, tag: StructureTag, text: _Text, left: float, colour: str) -> None:
        first = 0
        while first < len(text.lines):
            last = text.fitting(first, self._height - self._y)
            if last == len(text.lines) - 1 and last - first > 1:
                last -= 1  # no line alone on the next page
            if last == first:
                if self._y == 0.0:
                    last = first + 1
                else:
                    self._turn()
                    continue
            self._add(tag, text.painting(first, last, QPointF(left, self._y), colour))
            self._y += text.height(first, last)
            first = last

    def _signed(self, table: StructureTag, labels: Sequence[str]) -> None:
        self._need(_SIGNED * len(labels) + _GAP)
        for label in labels:
            row = table.add("TR")
            made = self.set(said(label), paper_font(_CELL, bold=True)).wrap(self._width)
            self._y += _SIGNED
            at = QPointF(0.0, self._y - made.height() - _PAD)
            self._add(row.add("TH", "/O /Table /Scope /Row"), made.painting(0, 1, at, _MUTED))
            row.add("TD")
            self._rules.append((self._page, self._y))
        self._y += _GAP


class _TableOnPages:
    """A table, its head again on each of its pages."""

    def __init__(self, pages: _Pages, table: StructureTag, grid: ReportGrid) -> None:
        self._pages, self._tag, self._grid = pages, table, grid
        self._head = [self._cell(cell, place, bold=True) for place, cell in enumerate(grid.header)]
        self._rows = [
            [
                self._cell(cell, place, bold=grid.row_heads and place == 0)
                for place, cell in enumerate(row)
            ]
            for row in grid.rows
        ]
        self._widths = self._shared()
        for cells in (self._head, *self._rows):
            for cell, width in zip(cells, self._widths, strict=True):
                cell.wrap(width - 2 * _PAD)

    def _cell(self, text: str, place: int, bold: bool) -> _Text:
        font = paper_font(_CELL, bold)
        return self._pages.set(text, font, place in self._grid.numeric)

    def _shared(self) -> list[float]:
        """Return each column's width: its longest word, and what is left by how much is in it."""
        room = self._pages._width
        lines = [cells for cells in (self._head, *self._rows) if cells]
        least, most = [], []
        for cells in zip(*lines, strict=True):
            words, wholes = zip(*(cell.widths() for cell in cells), strict=True)
            least.append(max(words) + 2 * _PAD + 1)
            most.append(max(wholes) + 2 * _PAD + 1)
        if sum(most) <= room:
            spare = (room - sum(most)) / len(most)
            return [width + spare for width in most]
        if sum(least) > room:
            # Long words are broken where columns would be wider than an even share.
            even = room / len(least)
            broad = [max(0.0, width - even) for width in least]
            short = (sum(least) - room) / sum(broad)
            return [width - short * over for width, over in zip(least, broad, strict=True)]
        wanted = [min(high, room) - low for low, high in zip(least, most, strict=True)]
        share = (room - sum(least)) / sum(wanted)
        return [low + share * more for low, more in zip(least, wanted, strict=True)]

    def lay_out(self) -> None:
        """Put it on the pages, row by row."""
        pages, head = self._pages, self._tag
        pages._y += _GAP
        rows = self._rows
        first = _height(rows[0]) if rows else 0.0
        pages._need(min(_height(self._head) + first, pages._height))
        if self._grid.header:
            self._row(head.add("THead").add("TR"), self._head, heads=True)
        body = head.add("TBody")
        for cells in rows:
            if pages._y + _height(cells) > pages._height and pages._y > 0.0:
                pages._turn()
                self._again()
            self._row(body.add("TR"), cells)
        pages._y += _GAP

    def _again(self) -> None:
        """Repeat the head on a page, for the eye alone."""
        if self._grid.header:
            seen = len(self._pages.pieces)
            self._row(StructureTag("TR"), self._head, heads=True)
            for place in range(seen, len(self._pages.pieces)):
                piece, paint = self._pages.pieces[place]
                self._pages.pieces[place] = PlacedPiece(piece.page, decorates=True), paint

    def _row(self, tag: StructureTag, cells: Sequence[_Text], heads: bool = False) -> None:
        """Put a row on the page; one that is longer than a page goes on on the next."""
        pages = self._pages
        tags = [tag.add(*self._kind(place, heads)) for place in range(len(cells))]
        starts = [0] * len(cells)
        while True:
            left, deepest = 0.0, 0.0
            room = pages._height - pages._y - 2 * _PAD
            for place, cell in enumerate(cells):
                last = cell.fitting(starts[place], room)
                if last > starts[place] and not cell.is_empty:
                    at = QPointF(left + _PAD * (place > 0), pages._y + _PAD)
                    colour = _MUTED if heads else _TEXT
                    pages._add(tags[place], cell.painting(starts[place], last, at, colour))
                deepest = max(deepest, cell.height(starts[place], last))
                starts[place] = last
                left += self._widths[place]
            pages._y += deepest + 2 * _PAD
            pages._rules.append((pages._page, pages._y))
            if all(start >= len(cell.lines) for start, cell in zip(starts, cells, strict=True)):
                return
            pages._turn()

    def _kind(self, place: int, heads: bool) -> tuple[str, str]:
        if heads:
            return "TH", "/O /Table /Scope /Column"
        if self._grid.row_heads and place == 0:
            return "TH", "/O /Table /Scope /Row"
        return "TD", ""


def _height(cells: Sequence[_Text]) -> float:
    return max((cell.height() for cell in cells), default=0.0) + 2 * _PAD
