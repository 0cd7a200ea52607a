"""The report as a document: what it says, to whom, and how it is written."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from sfumato.engine.core.columns import Coding, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Orders, Suppression
from sfumato.formats.errors import DiskFull, FileError
from sfumato.formats.notes import Note
from sfumato.formats.options import ReadOptions
from sfumato.project.document.model import ViewRule
from sfumato.project.errors import ProjectError
from sfumato.report.blocks import Bullets, ReportGrid
from sfumato.report.material import Audience, ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.report.writing import draw, picture_kind, to_html, write_report
from tests.campaigns.limits import files_no_longer_than, needs_limits
from tests.in_batches import in_batches
from tests.project.making import noon
from tests.project.verifying import ILLNESSES, a_document, a_table, new_project, release

INTERNAL = ReportOptions()
OUTSIDE = ReportOptions(Audience.OUTSIDE, 200)


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ward")
    with new_project(folder) as project:
        release(project, folder / "out", "Clinic A")
        release(project, folder / "out", "Public C")
        yield collect(project, in_batches(a_table()), noon, Silent())


@pytest.fixture(scope="module")
def pictures(material):
    return [draw(picture, "svg") for picture in compose(material, INTERNAL).pictures]


@pytest.fixture(scope="module")
def page(material, pictures):
    return to_html(compose(material, INTERNAL), pictures)


def grid(report, first):
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, ReportGrid) and block.header[0] == first:
                return block
    raise AssertionError(first)


class Balanced(HTMLParser):
    """Counts open tags, so that a page that is not closed is noticed."""

    VOID = frozenset({"meta", "img", "br", "path", "use", "rect", "link"})

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_an_internal_report_says_what_a_filing_needs(material, page):
    record = material.releases[0]
    for said in (
        "Disclosure report: Ward 7",
        "2026-11-20 12:00 UTC",
        "multiplies the odds by at most",
        "Any group of recipients learns no more than",
        "What is not promised",
        "Institute B",
        record.digest,
        "none was changed or cut off",
        "SHA-256",
        "asthma",
    ):
        assert said in page, said


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_internal_report_says_how_the_table_was_read(material):
    told = "{count:,} hidden rows are left out."
    note = Note(told, {"count": 6}, caution=True, count=6, rows=(1, 6))
    source = replace(
        material.document.source,
        notes=(note,),
        options=ReadOptions(skip_lines=2).to_dict(),
        found=ReadOptions().to_dict(),
    )
    read = replace(material, document=replace(material.document, source=source))
    [told] = [
        block.items
        for section in compose(read, INTERNAL).sections
        for block in section.blocks
        if isinstance(block, Bullets) and any("hidden rows" in item for item in block.items)
    ]
    assert told == (
        "Caution: 6 hidden rows are left out. First in rows 1 and 6.",
        "Chosen: Lines to leave out above: 2",
    )
    outside = compose(read, OUTSIDE)
    assert "hidden rows" not in to_html(outside, [draw(each, "svg") for each in outside.pictures])


def test_the_page_is_whole_and_needs_nothing_else(material, page):
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert page.count("<svg") == len(compose(material, INTERNAL).pictures)


def grids_of(report):
    blocks = (block for section in report.sections for block in section.blocks)
    return [block for block in blocks if isinstance(block, ReportGrid)]


def test_outsiders_see_no_count_of_values_and_no_place_of_a_file(material):
    assert "Value" in {b.header[0] for b in grids_of(compose(material, INTERNAL))}
    report = compose(material, OUTSIDE)
    assert "Value" not in {b.header[0] for b in grids_of(report)}
    page = to_html(report, [draw(picture, "svg") for picture in report.pictures])
    assert str(material.releases[0].target) not in page
    assert "/data/ward.csv" not in page
    assert "restore" not in page
    assert "no count below 200" in page


def test_levels_and_figures_are_those_of_the_guarantee(material):
    report = compose(material, INTERNAL)
    table = grid(replace(report, sections=report.sections[1:]), "Recipient")
    assert table.rows[0][0] in {"Clinic A", "Clinic D"}
    assert table.rows[0][1] == "0.6"
    assert "Retention probability (p)" in table.header


def test_the_page_to_sign_tells_the_odds_of_each_recipient_and_never_smaller_ones(material):
    [people] = [each for each in grids_of(compose(material, INTERNAL)) if each.header[2:3]][:1]
    told = {row[0]: row[2] for row in people.rows}
    assert set(told) == {each.name for each in material.document.recipients}
    for name, text in told.items():
        found = {}
        for part in text.split("; "):
            names, odds = part.split(": anyone's odds multiplied by at most ")
            found |= {each: math.inf if odds == "∞" else float(odds) for each in names.split(", ")}
        for told in material.guarantee.for_recipient(name):
            [gamma] = [fact.value for fact in told.promise.facts if fact.symbol == "γ"]
            assert gamma <= found[told.entry.key] <= 1.1 * gamma


def test_texts_of_the_project_are_escaped(tmp_path):
    document = replace(a_document(), title="<script>alert(1)</script>")
    with new_project(tmp_path, document) as project:
        found = collect(project, in_batches(a_table()), noon, Silent())
    page = to_html(replace(compose(found, INTERNAL), sections=()), [])
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page


def test_a_ledger_that_was_changed_is_told(material, pictures):
    report = compose(replace(material, tampering="Entry 3 is not as it was written."), INTERNAL)
    assert "Entry 3 is not as it was written." in to_html(report, pictures)


@pytest.mark.slow
def test_the_same_material_gives_the_same_page(material, page):
    report = compose(material, INTERNAL)
    assert to_html(report, [draw(picture, "svg") for picture in report.pictures]) == page


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_pdf_has_pages_and_a_title(material, tmp_path, themed):
    report = compose(material, INTERNAL)
    path = tmp_path / "report.pdf"
    write_report(report, [draw(picture, "image") for picture in report.pictures], path)
    content = path.read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) >= 3
    assert [entry.name for entry in tmp_path.glob("*.part")] == []


@pytest.mark.slow
@needs_limits
@pytest.mark.parametrize("name", ["report.pdf", "report.html"])
@pytest.mark.parametrize("room", [0, 4_096, 12_288])
def test_a_report_on_a_full_disk_is_refused_and_the_old_one_stays(
    material, tmp_path, themed, name, room
):
    report = replace(compose(material, INTERNAL), sections=compose(material, INTERNAL).sections[:4])
    pictures = [draw(picture, picture_kind(tmp_path / name)) for picture in report.pictures]
    folder = tmp_path / "reports"
    folder.mkdir()
    for old in (None, b"the report before"):
        if old is not None:
            (folder / name).write_bytes(old)
        with files_no_longer_than(room), pytest.raises(DiskFull):
            write_report(report, pictures, folder / name)
        assert [path.name for path in folder.iterdir()] == ([] if old is None else [name])
    assert (folder / name).read_bytes() == old


def test_another_ending_is_refused(material, tmp_path):
    with pytest.raises(ProjectError, match="HTML or PDF"):
        write_report(compose(material, INTERNAL), [], tmp_path / "report.docx")


def test_a_folder_that_is_not_there_leaves_nothing(material, tmp_path):
    report = replace(compose(material, INTERNAL), sections=())
    for name in ("report.html", "report.pdf"):
        with pytest.raises(FileError):
            write_report(report, [], tmp_path / "no" / name)
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_columns_that_leave_coarsely_are_not_said_to_leave_as_they_are(tmp_path):
    document = a_document(hierarchies={"age": Orders((2,)), "zip": Suppression()})
    seen = replace(document.recipient("Public C"), view=ViewRule(5, 0.0, {"age": 1, "zip": 1}))
    income = replace(document.column("income"), coding=Coding(top=1100.0))
    document = replace(document.with_column(income), recipients=(seen,))
    with new_project(tmp_path, document) as project:
        release(project, tmp_path / "out", "Public C")
        report = compose(collect(project, in_batches(a_table()), noon, Silent()), INTERNAL)
        project.save_document(a_document())
        later = compose(collect(project, in_batches(a_table()), noon, Silent()), INTERNAL)
    told = {row[0]: row[2:] for row in grid(report, "Column").rows}
    assert told["zip"] == ("released as coarsely as each recipient's view has it", "generalized")
    assert told["age"] == told["zip"]
    assert told["income"][1] == "coded"
    told = {row[0]: row[2:] for row in grid(later, "Column").rows}
    assert told["age"] == ("released in bins", "generalized")
    assert told["zip"] == ("released as it is", "generalized")


@pytest.mark.slow
def test_what_was_released_is_told_by_the_policy_of_then(tmp_path):
    with new_project(tmp_path) as project:
        release(project, tmp_path / "out", "Clinic A")
        release(project, tmp_path / "out", "Public C")
        document = a_document()
        dropped = ColumnSpec("zip", Role.IDENTIFYING, Kind.TEXT)
        shown = replace(document.column("age"), binning=None)
        wider = replace(document.column("illness"), domain=Domain(("measles", *ILLNESSES)))
        for spec in (dropped, shown, wider):
            document = document.with_column(spec)
        project.save_document(document)
        report = compose(collect(project, in_batches(a_table()), noon, Silent()), INTERNAL)
    told = {row[0]: row[2:] for row in grid(report, "Column").rows}
    assert told["zip"] == ("dropped", "as it is")
    assert told["age"] == ("released as it is", "in bins")
    assert told["person"] == ("dropped", "dropped")
    assert told["illness"][1] == "perturbed"
    (section,) = [each for each in report.sections if "earlier policy" in each.title]
    assert section.title.endswith("illness")
    levels = next(block for block in section.blocks if isinstance(block, ReportGrid))
    assert [row[1:] for row in levels.rows] == [("Clinic A", "p = 0.6"), ("Public C", "p = 0.1")]
    # γ at p = 0.6 over the four values of then: 1 + 0.6 · 4 / 0.4; over five it would be 8.5.
    assert "by at most 7." in section.blocks[-1].text
