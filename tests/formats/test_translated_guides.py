"""Translated guides and help pages have the code, placeholders and links of the English ones."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.bundles.writing import write_bundle
from sfumato.resources import resource_path
from tests.formats.bundles import case, code_blocks

LANGUAGES = sorted(path.name for path in resource_path("recipient").glob("[a-z]*") if path.is_dir())
GUIDES = sorted(path.name for path in resource_path("recipient").glob("*.md"))
PAGES = sorted(path.name for path in resource_path("help").glob("*.md"))
CODE = re.compile(r"^```\w+\n.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^    \S.*$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)]+)\)")


def both(folder, language, name):
    """The English text, and the translated one."""
    paths = resource_path(folder, name), resource_path(folder, language, name)
    return [path.read_text(encoding="utf-8") for path in paths]


def test_german_is_among_the_languages():
    assert "de" in LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_has_the_same_code_and_placeholders(language, name):
    english, translated = both("recipient", language, name)
    assert len(CODE.findall(english)) == translated.count("\n[code]\n")
    assert "```" not in translated
    names = [
        set(re.findall(r"(?<!\$)\$[a-z_]+", CODE.sub("", text))) for text in (english, translated)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_same_sections_links_and_examples(language, name):
    english, translated = both("help", language, name)
    for pattern in (r"^#+ ", r"^\|", r"^> ", r"^```"):
        found = [len(re.findall(pattern, text, re.MULTILINE)) for text in (english, translated)]
        assert found[0] == found[1], pattern
    assert len(INDENTED.findall(english)) == len(INDENTED.findall(translated))
    assert sorted(LINK.findall(english)) == sorted(LINK.findall(translated))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translated_readme_runs_the_same_code(tmp_path, language):
    found = []
    for told_in in ("en", language):
        folder = tmp_path / told_in
        folder.mkdir()
        write_bundle(replace(case().contents, language=told_in), folder, "csv", Silent())
        found.append((folder / "README.md").read_text(encoding="utf-8"))
    for kind in ("python", "r"):
        assert code_blocks(found[0], kind) == code_blocks(found[1], kind) != []
    assert "[code]" not in found[1]
