from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.commands import COMMANDS
from sfumato.commands.shared.command import ExitCode
from sfumato.report.help_pages import (
    EXCERPT,
    HelpPage,
    HelpSection,
    help_pages,
    read_page,
    searched,
)
from sfumato.resources import resource_path
from sfumato.ui.panels import all_panels
from tests.source_code import ROOT
from tests.thorough import tried

LINK = re.compile(r"\]\(([^)]+)\)")
TEXT_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)]+)\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
PAGES = sorted(path.name for path in resource_path("help").glob("*.md"))
FOLDERS = ((), ("de",))
READ = tuple(map(read_page, help_pages()))
FIRST_PARAGRAPH, BEFORE_HEADINGS = 55, 170
"""Words that a page may begin with."""
MOST_BYTES = 60_000


def leads_somewhere(link: str) -> bool:
    name, _, anchor = link.partition("#")
    there = next((each for each in READ if f"{each.name}.md" == name), None)
    return there is not None and (not anchor or anchor in {s.anchor for s in there.sections})


def words_of(text: str) -> list[str]:
    return PICTURE.sub("", text).split()


def page(name: str) -> str:
    return resource_path("help", *name.split("/")).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title_and_its_links_lead_somewhere(name):
    text = page(name)
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert [link for link in TEXT_LINK.findall(text) if not leads_somewhere(link)] == []


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_a_short_answer_and_the_rest_is_below_headings(folder, name):
    read = read_page(resource_path("help", *folder, name))
    lead = read.sections[0]
    assert len(words_of(re.split(r"\n\s*\n", lead.text)[0])) <= FIRST_PARAGRAPH
    assert len(words_of(lead.text)) <= BEFORE_HEADINGS


@pytest.mark.parametrize("folder", FOLDERS)
@pytest.mark.parametrize("name", PAGES)
def test_pictures_are_there_in_both_looks_small_and_told_in_words(folder, name):
    for told, picture in PICTURE.findall(page("/".join([*folder, name]))):
        assert len(told.split()) >= 5
        assert picture.endswith("-light.png")
        for one in (picture, picture.replace("-light.png", "-dark.png")):
            path = resource_path("help", *folder, *one.split("/"))
            assert path.read_bytes().startswith(b"\x89PNG")
            assert path.stat().st_size < MOST_BYTES


def test_no_picture_is_left_that_no_page_shows():
    shown = {name for one in PAGES for _, name in PICTURE.findall(page(one))}
    there = {f"pictures/{path.name}" for path in resource_path("help", "pictures").glob("*.png")}
    assert there == shown | {name.replace("-light", "-dark") for name in shown}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_page_has_two_sections_of_one_name(folder):
    for name in PAGES:
        anchors = [s.anchor for s in read_page(resource_path("help", *folder, name)).sections]
        assert len(set(anchors)) == len(anchors), name


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("verify a file", "releases#verifying-a-file"),
        ("passphrase", "command-line#the-passphrase"),
        ("micro group", "mechanism-reconstruction#groups"),
        ("row order", "releases#the-order-of-rows"),
        ("Cramer", "mechanism-joint#choosing-the-columns"),
        ("gaussian", "mechanism-gaussian#"),
        ("screen reader", "accessibility#with-a-screen-reader"),
    ],
)
def test_a_search_finds_the_section_that_answers(asked, answer):
    found = [f"{hit.page.name}#{hit.section.anchor}" for hit in searched(asked, READ)]
    assert answer in found[:2]


@pytest.mark.parametrize("asked", ["", "  ", "xyzzyq", "*|`"])
def test_a_search_for_nothing_finds_nothing(asked):
    assert searched(asked, READ) == ()


@given(st.text(max_size=30))
@settings(max_examples=tried(60), deadline=None)
def test_whatever_is_typed_is_searched_and_excerpts_are_short(asked):
    for hit in searched(asked, READ):
        assert len(hit.excerpt) <= EXCERPT + 2
        assert hit.score > 0


def test_more_of_what_was_asked_comes_first_and_a_heading_before_a_text():
    page_ = read_page(resource_path("help", "glossary.md"))
    made = [
        HelpPage(page_.path, "Apples", (HelpSection("", "Pears are told of here."),)),
        HelpPage(page_.path, "Fruit", (HelpSection("Pears", "Nothing."), HelpSection("", "x"))),
        HelpPage(page_.path, "Other", (HelpSection("", "Pears and plums."),)),
    ]
    assert searched("pears", made)[0].page.title == "Fruit"
    assert searched("pears plums", made)[0].page.title == "Other"


def test_sections_are_not_begun_inside_code(tmp_path):
    path = tmp_path / "one.md"
    path.write_text("# One\n\nFirst.\n\n```toml\n## no section\n```\n\n## Two\n\nLast.\n")
    assert [section.heading for section in read_page(path).sections] == ["", "Two"]


def test_every_panel_has_its_page_and_the_index_leads_there_in_order():
    links = TEXT_LINK.findall(page("index.md"))
    names = [f"{panel.name}.md" for panel in all_panels()]
    assert links[: len(names)] == names


def test_the_list_of_pages_follows_the_index():
    stems = [path.stem for path in help_pages()]
    assert stems[: len(all_panels()) + 1] == ["index", *(panel.name for panel in all_panels())]
    assert sorted(f"{stem}.md" for stem in stems) == PAGES


def test_every_page_can_be_reached_from_the_index():
    reached, waiting = set(), ["index.md"]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += TEXT_LINK.findall(page(name))
    # Mechanisms bring their pages along; nothing has to list them.
    assert {name for name in PAGES if not name.startswith("mechanism-")} <= reached


def test_the_page_on_the_command_line_knows_every_command_and_exit_code():
    text = page("command-line.md")
    known = set(re.findall(r"`sfumato ([a-z-]+)[ `]", text))
    assert set(COMMANDS) <= known
    stated = [int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)]
    assert stated == [code.value for code in ExitCode]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "NOTICE.md"])
def test_what_a_document_of_the_project_points_to_is_there(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    named = [*LINK.findall(text), *re.findall(r'(?:src|srcset)="([^"]+)"', text)]
    places = [n.partition("#")[0] for n in named if "://" not in n]
    assert [place for place in places if place and not (ROOT / place).exists()] == []
