from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ElementTree

import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options, read_table
from sfumato.project.document.model import Document
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.resources import resource_path
from tests.samples.make_clinic import make_clinic

PANEL_ICONS = ("data", "attributes", "policy", "preview", "releases", "audit")
STEP_ICONS = ("step-empty", "step-progress", "step-done", "step-attention")
SVG = "{http://www.w3.org/2000/svg}svg"


def test_a_resource_that_is_not_shipped_is_named():
    with pytest.raises(LookupError, match=r"icons/no-such-icon\.svg"):
        resource_path("icons", "no-such-icon.svg")


def test_every_icon_stands_on_one_grid_and_takes_its_colour_from_the_text():
    for path in sorted(resource_path("icons").glob("*.svg")):
        root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
        assert root.tag == SVG, path.name
        if path.stem == "app":
            continue
        assert root.get("viewBox") == "0 0 24 24", path.name
        assert root.get("stroke") == "currentColor", path.name
        assert root.get("stroke-width") == "1.75", path.name
        assert root.get("stroke-linecap") == "round", path.name


@pytest.mark.parametrize("name", [*PANEL_ICONS, *STEP_ICONS, "app", "good", "caution", "danger"])
def test_the_rail_and_the_messages_have_their_icons(name):
    assert resource_path("icons", f"{name}.svg").stat().st_size > 100


def test_what_was_taken_from_others_carries_its_licence():
    assert "ISC License" in resource_path("icons", "LICENSE").read_text(encoding="utf-8")
    licence = resource_path("fonts", "LICENSE.txt").read_text(encoding="utf-8")
    assert "SIL Open Font License, Version 1.1" in licence


@pytest.mark.parametrize("weight", ["Regular", "Medium", "SemiBold", "Bold"])
def test_the_font_is_shipped_as_truetype(weight):
    assert resource_path("fonts", f"Inter-{weight}.ttf").read_bytes()[:4] == b"\0\1\0\0"


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_sample_is_what_its_script_makes():
    made = make_clinic()
    assert made == resource_path("samples", "clinic.csv").read_bytes()


def test_the_sample_holds_what_the_tour_needs():
    text = resource_path("samples", "clinic.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 10_000
    assert len({row["record_number"] for row in rows}) == len(rows)
    assert any(row["postcode"].startswith("0") for row in rows)
    assert 15 <= len({row["diagnosis"] for row in rows} - {""}) <= 20
    assert any(row["diagnosis"] == "" for row in rows)


def test_the_sample_depends_on_itself_in_ways_one_would_believe():
    text = resource_path("samples", "clinic.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(io.StringIO(text)))
    births = [row for row in rows if row["diagnosis"] == "Childbirth"]
    assert {row["sex"] for row in births} == {"female"}
    assert {row["ward"] for row in births} == {"Maternity"}

    def mean_stay(diagnosis: str) -> float:
        days = [int(row["length_of_stay"]) for row in rows if row["diagnosis"] == diagnosis]
        return sum(days) / len(days)

    assert mean_stay("Depression") > 2 * mean_stay("Pneumonia") > 2 * mean_stay("Childbirth")


def test_the_rules_of_the_sample_are_complete_and_survive_saving():
    path = resource_path("samples", "clinic.csv")
    table = read_table(path, detect_options(path), Silent())
    text = resource_path("samples", "clinic.toml").read_text(encoding="utf-8")
    document = apply_rules(text, MemorySurvey(table), Document())
    guarantee = guarantee_of(document, attributes_of(document, table))
    assert guarantee.complete, guarantee.next_steps
    assert [recipient.name for recipient in document.recipients] == [
        "Regional health office",
        "University study group",
        "Public file",
    ]
    retained = [0.6, 0.3, 0.1]
    noisy = [1.0, 4.0, 16.0]
    assert [p.level for p in guarantee.promises] == [*retained, *retained, *noisy]
    assert apply_rules(rules_of(document), MemorySurvey(table), Document()) == document
