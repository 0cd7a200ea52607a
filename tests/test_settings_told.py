"""Each setting can be stated in window, rules file and command line, and help tells it."""

from __future__ import annotations

import re

import pandas as pd
import pytest
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms import all_mechanisms
from sfumato.engine.mechanisms.setting_specs import SettingSource
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules
from sfumato.project.rules.text import RulesSection
from sfumato.resources import resource_path
from sfumato.ui.panels.policy.mechanisms import all_editors
from sfumato.ui.panels.policy.mechanisms.controls import SETTING

MECHANISMS = list(all_mechanisms().values())
IDS = [mechanism.name for mechanism in MECHANISMS]
KEYS_OF_RULES = {
    "": "format title record_key level_spacing rows_as_in_table needs_approval most_epsilon"
    " importance other_columns reading columns hierarchies generalization unit policy terms"
    " recipients",
    "columns.NAME": "role kind missing bin_edges bin_labels bottom_code top_code round_to"
    " pseudonym from_rows values",
    "unit": "columns most_rows constant",
    "policy": "attributes mechanism settings",
    "terms": "controller purpose conditions valid_until contact",
    "recipients": "name note language mark levels view",
    "recipients.view": "k suppression cells levels",
    "generalization": "sensitive quasi_identifiers criteria suppression suppressed levels pinned"
    " others public_counts population sampling_fraction",
    "generalization.others": "holder file sensitive quasi_identifiers spelling reading",
    "generalization.public_counts": "name file count columns reading",
    "generalization.population": "file columns reading",
}


def page(language: str) -> str:
    return resource_path("help", *([language] if language else []), "rules-file.md").read_text(
        encoding="utf-8"
    )


def rows_of(mechanism) -> list[str]:
    """Return the lines of the help's table of a mechanism's settings."""
    rows = []
    for spec in mechanism.settings:
        value = str(spec.expected) if spec.settable else f"({spec.source})"
        usual = f"`{spec.told}`" if spec.told else ""
        rows.append(f"| `{spec.name}` | {value} | {usual} | {spec.gloss} |")
    return rows


def section(text: str, heading: str) -> str:
    """Return what stands below a heading that names something, up to the next one."""
    found = re.search(rf"^#+ [^\n]*`{re.escape(heading)}`[^\n]*\n(.*?)(?=^#|\Z)", text, re.M | re.S)
    assert found is not None, heading
    return found[1]


def keys_in(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=IDS)
def test_help_tells_every_setting_as_it_is_described(mechanism):
    assert section(page(""), mechanism.name).strip().splitlines()[2:] == rows_of(mechanism)
    keys = [spec.name for spec in mechanism.settings]
    assert keys_in(section(page("de"), mechanism.name)) == keys


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=IDS)
def test_a_number_s_range_and_the_words_of_a_choice_are_the_same_in_german_help(mechanism):
    def figures(line: str) -> list[str]:
        value = line.split("|")[2].replace("1e+12", "10¹²")
        return re.findall(r"\d+(?:[.,]\d+)?", value.replace(",", ".")) + re.findall(
            r"\b(?:noisy|stated|equal|counts|values|strict|published|blind|exact|chernoff"
            r"|simplified|proportional|separate)\b",
            value,
        )

    english = section(page(""), mechanism.name).strip().splitlines()[2:]
    german = section(page("de"), mechanism.name).strip().splitlines()[2:]
    assert list(map(figures, german)) == list(map(figures, english))


@pytest.mark.parametrize("language", ["", "de"], ids=["english", "german"])
@pytest.mark.parametrize("place", KEYS_OF_RULES)
def test_help_tells_every_key_of_a_rules_file(place, language):
    heading = f"[{place}]" if place else "rules.toml"
    assert keys_in(section(page(language), heading)) == KEYS_OF_RULES[place].split()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=IDS)
def test_the_window_has_a_field_for_every_setting(mechanism, session, qtbot):
    editor = all_editors()[mechanism.name].settings_editor
    stated = {spec.name for spec in mechanism.settings if spec.settable}
    if editor is None:
        assert stated == set()
        return
    made = editor(session)
    qtbot.addWidget(made)
    found = {name for each in made.findChildren(QWidget) for name in each.property(SETTING) or ()}
    keys = {key.name for spec in mechanism.settings for key in getattr(spec, "keys", ())}
    assert found - keys == stated


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=IDS)
def test_a_setting_that_is_made_or_looked_at_no_more_can_not_be_stated_by_hand(mechanism):
    for spec in mechanism.settings:
        made = spec.source in {
            SettingSource.MADE,
            SettingSource.KEPT,
            SettingSource.ELSEWHERE,
            SettingSource.IGNORED,
        }
        assert spec.settable is not made
        assert set(spec.follows) <= {other.name for other in mechanism.settings}
        assert spec.becomes in {"", *(other.name for other in mechanism.settings)}


RULES = """
format = 1
other_columns = "insensitive"
unit = { columns = ["id"], most_rows = 2 }
[columns.id]
role = "identifying"
[columns.sex]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[hierarchies.sex]
kind = "suppression"
[generalization]
sensitive = "illness"
quasi_identifiers = ["sex"]
[generalization.population]
file = "there.csv"
[[generalization.others]]
holder = "Insurer"
file = "there.csv"
sensitive = "sex"
[[generalization.public_counts]]
name = "Counts"
file = "there.csv"
count = "people"
[terms]
purpose = "Research"
[[policy]]
attributes = ["illness"]
mechanism = "uniform"
[[recipients]]
name = "Public"
view = { k = 2 }
"""


def test_the_keys_that_help_tells_are_those_that_are_read(monkeypatch, tmp_path):
    asked: dict[str, set[str]] = {}
    finish = RulesSection.finish

    def recorded(self: RulesSection) -> None:
        words = [key for key in self.keys if isinstance(key, str)]
        if words[:1] == ["columns"]:
            words[1:2] = ["NAME"]
        asked.setdefault(".".join(words), set()).update(self._asked)
        finish(self)

    monkeypatch.setattr(RulesSection, "finish", recorded)
    (tmp_path / "there.csv").write_text("sex,people\nf,1\n", encoding="utf-8")
    table = Table(pd.DataFrame({"id": [1, 2], "sex": ["f", "m"], "illness": ["flu", "cold"]}))
    apply_rules(RULES, MemorySurvey(table), Document(), tmp_path)
    told = {place: set(keys.split()) for place, keys in KEYS_OF_RULES.items()}
    assert {place: asked[place] for place in told} == told


WRONG = {"NumberSpec": "much", "ChoiceSpec": "unheard-of", "ListSpec": "3", "_SharesSpec": "0,0"}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=IDS)
def test_a_value_that_is_none_is_refused_by_the_setting_s_name(mechanism):
    for spec in mechanism.settings:
        if spec.settable:
            with pytest.raises(PolicyError, match=f"The setting {spec.name} is not ") as refused:
                spec.typed(WRONG.get(type(spec).__name__, "7"))
            assert str(spec.expected) in refused.value.what
            assert spec.gloss in refused.value.remedy
