"""Every panel can be drawn without a screen; in all of its states by `test_layout`."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QImage

from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options
from sfumato.project.document.model import Document
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules
from sfumato.project.source import read_source
from sfumato.project.store.secret import ScryptCost
from sfumato.ui.panels import all_panels
from sfumato.ui.pictures import save_pictures
from tests.screenshots.gallery import save_gallery
from tests.screenshots.scenes import scenes_of

RULES = """\
format = 1
other_columns = "insensitive"
[columns.disease]
role = "sensitive"
[[policy]]
attributes = ["disease"]
mechanism = "uniform"
[[recipients]]
name = "A"
[recipients.levels]
disease = { retention_probability = 0.5 }
"""


@pytest.fixture
def project(tmp_path, clinic):
    table, source = read_source(clinic, detect_options(clinic), Silent())
    document = apply_rules(
        RULES, MemorySurvey(table.in_memory(Silent())), Document(title="clinic", source=source)
    )
    path = tmp_path / "clinic.sfumato"
    with ProjectFile.create(path, "four random words", document, cost=ScryptCost(2**4)) as made:
        yield made, table


@pytest.mark.turns(1)
@pytest.mark.slow
def test_every_panel_of_a_project_is_drawn_light_and_dark(themed, project, tmp_path):
    opened, table = project
    pictures = save_pictures(opened, table, tmp_path / "pictures")
    assert len(pictures) == 2 * len(all_panels())
    for path in pictures:
        assert QImage(str(path)).size().width() >= 1366
    light, dark = (
        QImage(str(path)).pixelColor(300, 40).lightness() for path in (pictures[0], pictures[-1])
    )
    assert light > 200 > 60 > dark
    assert opened.document.title == "clinic"  # still open, and as it was


def test_every_panel_has_an_empty_and_a_filled_scene():
    assert len(all_panels()) > 1
    for panel in all_panels():
        names = {scene.name for scene in scenes_of(panel.name)}
        assert {"empty", "filled"} <= names


@pytest.mark.slow
@pytest.mark.turns(1)
def test_one_scene_can_be_drawn_by_itself(themed, tmp_path):
    pictures = list(save_gallery(tmp_path, only=["data-empty"]))
    assert [path.name for path in pictures] == ["light-1-data-empty.png", "dark-1-data-empty.png"]
