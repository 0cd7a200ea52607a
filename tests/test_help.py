from __future__ import annotations

import re

import pytest

from sfumato.commands import COMMANDS
from sfumato.commands.shared.command import ExitCode
from sfumato.resources import resource_path
from sfumato.ui.dialogs.help import help_pages
from sfumato.ui.panels import all_panels
from tests.source_code import ROOT

LINK = re.compile(r"\]\(([^)]+)\)")
PAGES = sorted(path.name for path in resource_path("help").glob("*.md"))


def page(name: str) -> str:
    return resource_path("help", name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_one_title_and_its_links_lead_somewhere(name):
    text = page(name)
    assert text.startswith("# ")
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1
    assert [link for link in LINK.findall(text) if link not in PAGES] == []


def test_every_panel_has_its_page_and_the_index_leads_there_in_order():
    links = LINK.findall(page("index.md"))
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
            waiting += LINK.findall(page(name))
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
