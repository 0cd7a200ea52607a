"""A tagged PDF of pages that Qt has painted.

`QPdfWriter` embeds fonts and shapes any script, and knows nothing of headings or tables. Each piece
of text is therefore painted on a page of its own, and here the pieces are put on their pages
as marked content, with the structure that says what they are (ISO 32000-1, 14.7 and 14.8).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from html import escape
from itertools import count
from typing import Final

from sfumato.engine.core.frozen import dataclass

_REFERENCE: Final = re.compile(rb"\b(\d+) 0 R\b")
_RESOURCES: Final = (b"ColorSpace", b"ExtGState", b"Pattern", b"Font", b"XObject")


@dataclass(frozen=True)
class PlacedPiece:
    """Where a piece that was painted belongs.

    Parameters
    ----------
    page
        From 0.
    decorates
        Whether it only decorates, as a page's number and the rules of a table do.
    """

    page: int
    decorates: bool = False


@dataclass
class StructureTag:
    """An element of the structure.

    Parameters
    ----------
    kind
        A standard structure type: ``H1``, ``P``, ``Table``, ``TR`` …
    children
        Further elements, and the numbers of pieces, in the order in which they are read.
    alternative
        What a figure shows, for who can't see it.
    attributes
        The element's attributes as PDF.
    """

    kind: str
    children: list[StructureTag | int] = field(default_factory=list)
    alternative: str = ""
    attributes: str = ""

    def add(self, kind: str, attributes: str = "") -> StructureTag:
        """Return a new element at the end of this one."""
        made = StructureTag(kind, attributes=attributes)
        self.children.append(made)
        return made


@dataclass(frozen=True)
class DocumentAbout:
    """What a document tells of itself.

    Parameters
    ----------
    title
        Its title.
    language
        Its language, as ``en``.
    characters
        Which character a glyph stands for where Qt says another.
    """

    title: str
    language: str
    characters: Mapping[str, str] = field(default_factory=dict)


def tagged_pdf(
    painted: bytes,
    pieces: Sequence[PlacedPiece],
    structure: StructureTag,
    about: DocumentAbout,
) -> bytes:
    """Return a tagged PDF; the same pages are the same bytes.

    Parameters
    ----------
    painted
        What Qt painted: a page for each piece.
    pieces
        Where each piece belongs; every page from 0 on has one.
    structure
        The ``Document`` element.
    about
        What the document tells of itself.

    Raises
    ------
    RuntimeError
        If it is not a PDF as Qt writes them.
    """
    source = _PaintedPdf(painted)
    if len(source.pages) != len(pieces):
        raise RuntimeError("Qt painted another number of pages")
    return _Assembled(source, pieces, about).write(structure)


class _PaintedPdf:
    """The objects of a PDF that Qt wrote; its cross-reference is a table, and nothing is packed."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        found = re.search(rb"startxref\s+(\d+)\s+%%EOF\s*$", content)
        if found is None:
            raise RuntimeError("Qt left the PDF unfinished")
        lines = content[int(found[1]) :].split(b"\n")
        size = int(lines[1].split()[1])
        self._offsets = [int(line[:10]) for line in lines[2 : 2 + size]]
        root = self._reference(self._trailer(content), b"Root")
        tree = self.dictionary(self._reference(self.dictionary(root), b"Pages"))
        kids = re.search(rb"/Kids\s*\[(.*?)\]", tree, re.DOTALL)
        self.pages = [int(one) for one in _REFERENCE.findall(kids[1])] if kids else []

    @staticmethod
    def _trailer(content: bytes) -> bytes:
        return content[content.rindex(b"trailer") :]

    @staticmethod
    def _reference(dictionary: bytes, name: bytes) -> int:
        found = re.search(rb"/" + name + rb" (\d+) 0 R", dictionary)
        if found is None:
            raise RuntimeError(f"Qt's PDF lacks {name.decode()}")
        return int(found[1])

    def _parts(self, number: int) -> tuple[bytes, int]:
        """Return an object's text up to its stream or its end, and where it ends."""
        start = self._content.index(b" obj", self._offsets[number]) + 4
        end = self._content.index(b"endobj", start)
        stream = self._content.find(b"stream\n", start, end)
        end = end if stream < 0 else stream
        return self._content[start:end].strip(), end

    def dictionary(self, number: int) -> bytes:
        """Return an object without its stream."""
        return self._parts(number)[0]

    def stream(self, number: int) -> bytes | None:
        """Return an object's stream as it is stored; None where it has none."""
        told, end = self._parts(number)
        if not self._content.startswith(b"stream\n", end):
            return None
        found = re.search(rb"/Length (\d+)( 0 R)?", told)
        if found is None:
            raise RuntimeError("Qt's PDF has a stream without a length")
        length = int(self.dictionary(int(found[1]))) if found[2] else int(found[1])
        return self._content[end + 7 : end + 7 + length]

    def drawing(self, page: int) -> bytes:
        """Return what is drawn on a page."""
        drawn = self.stream(self._reference(self.dictionary(page), b"Contents"))
        return zlib.decompress(drawn or b"").strip()

    def box(self) -> bytes:
        """Return the size of the paper."""
        found = re.search(rb"/MediaBox (\[.*?\])", self.dictionary(self.pages[0]))
        return found[1] if found else b"[0 0 595 842]"

    def resources(self, page: int) -> Iterator[tuple[bytes, bytes, bytes]]:
        """Yield what a page draws with: of which sort, its name, and what it is."""
        told = self.dictionary(self._reference(self.dictionary(page), b"Resources"))
        for sort in _RESOURCES:
            found = re.search(rb"/" + sort + rb" <<(.*?)>>", told, re.DOTALL)
            for name, what in re.findall(rb"/(\S+) (\d+ 0 R|/\w+)", found[1]) if found else ():
                yield sort, name, what


class _Assembled:
    """The new file, object by object."""

    def __init__(
        self, source: _PaintedPdf, pieces: Sequence[PlacedPiece], about: DocumentAbout
    ) -> None:
        self._source, self._about = source, about
        self._pieces = pieces
        self._numbers = count(1)
        self._objects: dict[int, bytes] = {}
        self._taken: dict[int, int] = {}
        self._marks: dict[int, int] = {}
        self._owners: dict[int, int] = {}

    def write(self, structure: StructureTag) -> bytes:
        """Return the file."""
        title, language = self._about.title, self._about.language
        catalogue, tree, root, parents = (next(self._numbers) for _ in range(4))
        last = max((piece.page for piece in self._pieces), default=0)
        pages = [next(self._numbers) for _ in range(last + 1)]
        kinds = dict(_kinds_of(structure))
        resources = self._add(self._resources())
        for place, number in enumerate(pages):
            content = self._stream(b"", zlib.compress(self._content(place, kinds)))
            self._objects[number] = (
                b"<< /Type /Page /Parent %d 0 R /MediaBox %s /Resources %d 0 R /Contents %d 0 R"
                b" /StructParents %d /Tabs /S >>"
                % (tree, self._source.box(), resources, content, place)
            )
        top = self._element(structure, root, pages)
        self._objects[tree] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (
            _references(pages),
            len(pages),
        )
        self._objects[parents] = b"<< /Nums [%s] >>" % b" ".join(
            b"%d [%s]" % (place, _references(self._owners_on(place))) for place in range(len(pages))
        )
        self._objects[root] = (
            b"<< /Type /StructTreeRoot /K %d 0 R /ParentTree %d 0 R /ParentTreeNextKey %d >>"
            % (top, parents, len(pages))
        )
        described = self._stream(b"/Type /Metadata /Subtype /XML ", _metadata(title, language))
        self._objects[catalogue] = (
            b"<< /Type /Catalog /Pages %d 0 R /StructTreeRoot %d 0 R /MarkInfo << /Marked true >>"
            b" /Lang %s /ViewerPreferences << /DisplayDocTitle true >> /Metadata %d 0 R >>"
            % (tree, root, _text(language), described)
        )
        about = self._add(b"<< /Title %s /Creator (Sfumato) >>" % _text(title))
        return self._file(catalogue, about)

    def _owners_on(self, page: int) -> list[int]:
        on_page = [place for place in self._marks if self._pieces[place].page == page]
        return [self._owners[place] for place in sorted(on_page, key=self._marks.__getitem__)]

    def _content(self, page: int, kinds: dict[int, str]) -> bytes:
        """Return what is drawn on a page, piece by piece."""
        parts, marks = [], count()
        for place, piece in enumerate(self._pieces):
            if piece.page != page:
                continue
            drawn = self._source.drawing(self._source.pages[place])
            if piece.decorates:
                opening = b"/Artifact BMC"
            else:
                self._marks[place] = next(marks)
                mark = kinds[place].encode(), self._marks[place]
                opening = b"/%s << /MCID %d >> BDC" % mark
            parts.append(b"%s\nq\n%s\nQ\nEMC\n" % (opening, drawn))
        return b"".join(parts)

    def _element(self, tag: StructureTag, parent: int, pages: list[int]) -> int:
        number = next(self._numbers)
        kids = []
        for child in tag.children:
            if isinstance(child, StructureTag):
                kids.append(b"%d 0 R" % self._element(child, number, pages))
            else:
                self._owners[child] = number
                page = pages[self._pieces[child].page]
                told = page, self._marks[child]
                kids.append(b"<< /Type /MCR /Pg %d 0 R /MCID %d >>" % told)
        told_of = b""
        if tag.alternative:
            told_of += b" /Alt " + _text(tag.alternative)
        if tag.attributes:
            told_of += b" /A << %s >>" % tag.attributes.encode("ascii")
        self._objects[number] = b"<< /Type /StructElem /S /%s /P %d 0 R /K [%s]%s >>" % (
            tag.kind.encode(),
            parent,
            b" ".join(kids),
            told_of,
        )
        return number

    def _resources(self) -> bytes:
        """Return what all pages draw with."""
        sorts: dict[bytes, dict[bytes, bytes]] = {sort: {} for sort in _RESOURCES}
        for page in self._source.pages:
            for sort, name, what in self._source.resources(page):
                if name not in sorts[sort]:
                    sorts[sort][name] = self._renumbered(what)
        lines = (
            b"/%s << %s >>" % (sort, b" ".join(b"/%s %s" % pair for pair in named.items()))
            for sort, named in sorts.items()
        )
        return b"<< %s >>" % b"\n".join(lines)

    def _renumbered(self, told: bytes) -> bytes:
        """Return a text whose references are to this file's objects, which are taken over."""
        return _REFERENCE.sub(lambda found: b"%d 0 R" % self._take(int(found[1])), told)

    def _take(self, old: int) -> int:
        if old not in self._taken:
            number = self._taken[old] = next(self._numbers)
            made = self._renumbered(self._source.dictionary(old))
            stream = self._source.stream(old)
            if stream is not None:
                stream = self._read_rightly(stream)
                made += b"\nstream\n%s\nendstream" % stream
            self._objects[number] = made
        return self._taken[old]

    def _read_rightly(self, stream: bytes) -> bytes:
        """Return a table of which glyphs are which characters, with those that were written."""
        if b"begincmap" not in stream:
            return stream

        def character(found: re.Match[bytes]) -> bytes:
            read = bytes.fromhex(found[1].decode()).decode("utf-16-be", "replace")
            meant = self._about.characters.get(read)
            # As many digits: the stream's length stays.
            return found[0] if meant is None else b"<%04X>" % ord(meant)

        def several(found: re.Match[bytes]) -> bytes:
            return re.sub(rb"<([0-9A-Fa-f]{4})>", character, found[0])

        return re.sub(rb"\[[^\]]*\]", several, stream)

    def _add(self, made: bytes) -> int:
        number = next(self._numbers)
        self._objects[number] = made
        return number

    def _stream(self, told: bytes, content: bytes) -> int:
        packed = b"" if told else b"/Filter /FlateDecode "
        head = b"<< %s%s/Length %d >>" % (told, packed, len(content))
        return self._add(b"%s\nstream\n%s\nendstream" % (head, content))

    def _file(self, catalogue: int, about: int) -> bytes:
        made, offsets = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n"), []
        for number in sorted(self._objects):
            offsets.append(len(made))
            made += b"%d 0 obj\n%s\nendobj\n" % (number, self._objects[number])
        start = len(made)
        made += b"xref\n0 %d\n0000000000 65535 f \n" % (len(offsets) + 1)
        made += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
        made += b"trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
            len(offsets) + 1,
            catalogue,
            about,
            start,
        )
        return bytes(made)


def _kinds_of(tag: StructureTag) -> Iterator[tuple[int, str]]:
    """Yield for each piece what it belongs to."""
    for child in tag.children:
        if isinstance(child, StructureTag):
            yield from _kinds_of(child)
        else:
            yield child, tag.kind


def _references(numbers: Sequence[int]) -> bytes:
    return b" ".join(b"%d 0 R" % number for number in numbers)


def _text(text: str) -> bytes:
    """Return a text as PDF holds it: in UTF-16, as hexadecimal digits."""
    return b"<FEFF%s>" % text.encode("utf-16-be", "replace").hex().upper().encode()


def _metadata(title: str, language: str) -> bytes:
    """Return the file's title and language as XMP."""
    return (
        '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
        '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<dc:title><rdf:Alt><rdf:li xml:lang="x-default">{escape(title)}</rdf:li></rdf:Alt>'
        "</dc:title>"
        f"<dc:language><rdf:Bag><rdf:li>{escape(language)}</rdf:li></rdf:Bag></dc:language>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>\n"
        '<?xpacket end="r"?>'
    ).encode()
