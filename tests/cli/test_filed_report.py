"""The report that is filed: what is written is what is read out of its PDF."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import pytest

from sfumato.commands.shared.command import ExitCode
from tests.household import household_survey

COLUMNS = ["hhid", "age", "sex", "region", "household_size", "religion", "disability", "income"]
POPPLER = shutil.which("pdftotext") and shutil.which("pdfinfo")


class Texts(HTMLParser):
    """The texts of paragraphs, headings, items and cells, without those in pictures."""

    def __init__(self):
        super().__init__()
        self.found, self._inside, self._drawn = [], None, 0

    def handle_starttag(self, tag, attrs):
        self._drawn += tag == "svg"
        if tag in {"h1", "h2", "p", "li", "td", "th"} and not self._drawn:
            self._inside = ""

    def handle_endtag(self, tag):
        self._drawn -= tag == "svg"
        if tag in {"h1", "h2", "p", "li", "td", "th"} and self._inside is not None:
            self.found.append(self._inside)
            self._inside = None

    def handle_data(self, data):
        if self._inside is not None:
            self._inside += data


def without_spaces(text):
    return re.sub(r"\s", "", text)


@pytest.mark.slow
def test_a_report_s_pdf_is_tagged_and_the_same_each_time(made, themed):
    assert made.release() == ExitCode.OK, made.remarks
    path = made.folder / "filed.pdf"
    assert made.run("report", made.project, "--out", path) == ExitCode.OK, made.remarks
    content = path.read_bytes()
    for part in (
        b"/MarkInfo << /Marked true >>",
        b"/Lang <FEFF0065006E>",
        b"/DisplayDocTitle true",
    ):
        assert part in content
    kinds = re.findall(rb"/S /(\w+) /P", content)
    assert kinds.count(b"H1") == 1
    assert kinds.count(b"H2") >= 6
    assert kinds.count(b"Table") == kinds.count(b"TBody") + 1  # lines to sign have no body
    assert {b"TR", b"TH", b"TD", b"L", b"LI", b"LBody", b"Figure", b"P"} <= set(kinds)
    assert content.count(b"/S /Figure") == content.count(b" /Alt <FEFF")
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF", content)[1])
    assert content[start:].startswith(b"xref\n")


@pytest.mark.slow
@pytest.mark.skipif(not POPPLER, reason="poppler reads the PDF, as whoever files it does")
def test_what_is_written_of_a_household_survey_is_read_out_of_its_pdf(line, themed):
    source, project = line.folder / "survey.csv", line.folder / "survey.sfumato"
    household_survey(300)[COLUMNS].to_csv(source, index=False)
    assert line.run("init", project, "--table", source, "--unit", "hhid") == ExitCode.OK
    assert line.run("propose", project, "--apply") == ExitCode.OK, line.remarks
    terms = ("--purpose", "Housing (rents)", "--valid-until", "2027-12-31")
    assert line.run("terms", project, *terms) == ExitCode.OK, line.remarks
    given = ("--recipient", "Trusted partner", "--accept", "for a test")
    assert line.run("release", project, *given, "--out", line.folder / "out") == ExitCode.OK
    for name in ("filed.html", "filed.pdf"):
        assert line.run("report", project, "--out", line.folder / name) == ExitCode.OK
    page = Texts()
    page.feed((line.folder / "filed.html").read_text(encoding="utf-8"))

    def poppler(tool, *options):
        command = [tool, *options, str(line.folder / "filed.pdf"), *(["-"] * (tool == "pdftotext"))]
        return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()

    told = "".join(re.findall(r'^ *"(.*)"$', poppler("pdfinfo", "-struct-text"), re.M))
    told, made_at = without_spaces(told), re.compile(r"\d{2}:\d{2}")
    texts = [made_at.sub("", without_spaces(text)) for text in page.found]
    told = made_at.sub("", told)
    assert len(texts) > 150
    assert [text for text in texts if text not in told] == []
    seen = poppler("pdftotext", "-layout")
    assert "2027-12-31" in seen
    assert "Housing (rents)" in seen
    assert re.search(r"Made with Sfumato \S+ on \d{4}-\d{2}-\d{2} \d{2}:\d{2} UTC", seen)
    pages = seen.rstrip("\f").split("\f")
    assert "Decided by (name, role)" in pages[0]
    assert "Signature" in pages[0]
    assert "religion, disability: anyone's" in pages[0]
    assert re.search(r"\b[0-9a-f]{64}\b", pages[-1])
