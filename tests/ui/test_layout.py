"""Nothing is ever cut off: every panel is laid out in its states, and looked at by geometry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest
from PySide6.QtCore import QLocale, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from installer.translating import CHECKOUT, FOLDER, NAME
from sfumato.formats import language
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.panels import Panels, all_panels
from sfumato.ui.pictures import draw
from sfumato.ui.state import settings as languages
from tests.campaigns import SEED
from tests.screenshots.scenes import scenes_of
from tests.screenshots.stage import Stage
from tests.ui.accessible_walk import faults, tops
from tests.ui.layout_faults import layout_faults
from tests.ui.layout_watch import LayoutWatch
from tests.ui.untranslated import pseudo_language

SMALL, USUAL, LARGE = (1100, 700), (1366, 768), (2560, 1440)
SIZES = SMALL, LARGE, USUAL
LARGEST = 1.5
ROWS = 300
ENGLISH, GERMAN, WORDY = "en", "de", "eo"
WORST = (WORDY, LARGEST)
"""A language that is made up, and a third longer than English, where text is largest."""
OTHERS = (
    (GERMAN, LARGEST),
    (WORDY, 1.0),
    (ENGLISH, 1.25),
    (GERMAN, 1.25),
    (WORDY, 1.25),
    (ENGLISH, LARGEST),
)
"""For every third state one of them by turns, other states with other keys: a window of 1100 has
as much room for text at 1.25 as one of 1366 at the largest, and at 1.0 as one of 1366 at 1.25."""
LONG = {
    "diagnosis": "main_diagnosis_at_discharge_coded_by_the_attending_physician",
    "occupation": "occupation_as_stated_by_the_person_at_admission",
    "birth_year": "YearOfBirthAccordingToTheRegisterOfResidents",
    "Regional health office": "Regional office of public health, statistics and the environment",
    "High blood pressure": "Essential high blood pressure with damage to the heart and the kidneys",
    "Care and health": "Care and health services in hospitals and in homes for the elderly",
}
"""What some of the sample's columns, recipients and values are called where names are long."""
QUICK_SCENES = (
    "data-options",
    "attributes-hierarchy-editor",
    "policy-small-groups",
    "policy-replacements",
    "policy-generalized-lattice",
    "preview-usefulness",
)
"""Crowded ones, laid out at the worst size by the fast tests too."""
SHARE = 48
"""Each state is resized to every so many-th width from the smallest to one of 2,000, the next state
and the next run to others: of a loop in one state, the widths beside it tell too."""
HELD = ("data", "attributes", "policy", "preview", "releases", "audit")
EVERY = [f"{panel}-{scene.name}" for panel in HELD for scene in scenes_of(panel)]
OTHER_STATES = [
    pytest.param(name, spoken, id=f"{name}-{spoken[0]}-{spoken[1]}")
    for place, name in enumerate(EVERY[SEED % 3 :: 3])
    for spoken in [OTHERS[(place + SEED) % len(OTHERS)]]
]


def longer(text: str) -> str:
    """Return a text with words a third longer, as German says it; marks and names stay."""
    more = len(re.sub(r"\{[^}]*\}|<[^>]*>", "", text)) // 3 + 1
    return f"{text} {('länger als sonst ' * (more // 17 + 1))[:more].strip()}"


@pytest.fixture(scope="module")
def wordy(tmp_path_factory) -> Path:
    """A language a third longer than English, compiled in a folder of its own."""
    known = CHECKOUT / FOLDER / NAME.format(locale=GERMAN)
    return pseudo_language(tmp_path_factory.mktemp("language"), longer, known=known).parent


@pytest.fixture
def spoken(request, wordy, themed: QApplication, monkeypatch) -> Iterator[None]:
    """The application speaks a language in a size; afterwards it is as before.

    Only the panel in sight is built: the others would cost most of the time.
    """
    monkeypatch.setattr(Panels, "_need_all", lambda _panels: None)
    name, scale = getattr(request, "param", WORST)
    before, written = language.spoken(), QLocale()
    look = themes().appearance
    translators = languages.speak(themed, name, wordy if name == WORDY else None)
    themes().set_scale(scale)
    yield
    themes().set_appearance(look)
    for translator in translators:
        themed.removeTranslator(translator)
    language.speak(before)
    QLocale.setDefault(written)
    themes().set_scale()


@pytest.fixture
def stage(spoken, tmp_path) -> Iterator[Stage]:
    """A small window with a part of the sample at hand, in long names."""
    made = Stage(tmp_path, SMALL, ROWS, LONG)
    yield made
    made.close()


def geometry(windows: list[QWidget]) -> list[QRect]:
    """Return where everything in windows lies."""
    return [one.geometry() for window in windows for one in (window, *window.findChildren(QWidget))]


def faults_at(stage: Stage, size: tuple[int, int]) -> list[str]:
    """Return what is cut off or covered in a window of that size, and in the dialogs before it."""
    stage.window.resize(*size)
    every = (one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog))
    dialogs = [one for one in every if one.isVisible()]
    for dialog in dialogs:  # as large as one that is opened before a window of that size
        dialog.resize(dialog.size().boundedTo(stage.window.size()))
        if isinstance(dialog, Dialog):
            dialog.grow()
    shown = [stage.window, *dialogs]
    stand: list[QRect] = []
    for _ in range(240):  # layouts settle from the inside out, and plots that are drawn ask again
        before, stand = stand, geometry(shown)
        for _ in range(12):
            QApplication.processEvents()
        if before == stand == geometry(shown):
            break
    return [f"{size}: {fault}" for one in shown for fault in layout_faults(one)]


def faults_in(stage: Stage, name: str, *sizes: tuple[int, int]) -> list[str]:
    """Arrange a state, named as ``panel-scene``, and return what is cut off in it."""
    panel, _, name = name.partition("-")
    scene = next(each for each in scenes_of(panel) if each.name == name)
    stage.panel(panel)
    scene.arrange(stage)
    stage.settle()  # else what is seen depends on what has ended by chance
    return [fault for size in sizes for fault in faults_at(stage, size)]


@pytest.mark.slow
def test_nothing_is_cut_off_where_text_is_largest_names_long_and_the_window_small(stage):
    faults = []
    stage.open_sample()
    for panel in all_panels():
        stage.panel(panel.name)
        stage.settle()
        faults += [f"{panel.name} {fault}" for fault in faults_at(stage, SMALL)]
    stage.window.guarantee.set_compact(False)
    faults += [f"guarantee {fault}" for fault in faults_at(stage, USUAL)]
    assert not faults, "\n".join(faults)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK_SCENES)
def test_nothing_is_cut_off_on_crowded_pages(stage, name):
    assert not (faults := faults_in(stage, name, SMALL)), "\n".join(faults)


def turning(stage: Stage, place: int) -> list[str]:
    """Return at which of the widths that are a state's share its layout never holds still."""
    widths = range(SMALL[0] + (place + SEED) % SHARE, 2_001, SHARE)
    stage.window.setUpdatesEnabled(False)  # what is painted has been looked at
    return LayoutWatch(QApplication.instance()).loops(stage.window, widths, USUAL[1])


@pytest.mark.turns(8)
@pytest.mark.slow
@pytest.mark.parametrize("name", EVERY)
def test_in_any_state_nothing_is_cut_off_and_all_holds_still_is_read_out_and_drawn_dark(
    told, stage, name, tmp_path
):
    found = faults_in(stage, name, *SIZES)
    [picture] = draw(stage.window, tmp_path, name, [Appearance.DARK])
    found += [fault for top in tops(stage.window) for fault in faults(top)]
    found += turning(stage, EVERY.index(name))
    assert not found, "\n".join(found)
    drawn = QImage(str(picture))
    looked_at = [drawn.pixelColor(across, down) for across in (2, 300, 600) for down in (2, 40, 90)]
    assert median(colour.lightness() for colour in looked_at) < 60


@pytest.mark.slow
@pytest.mark.parametrize("spoken", [(WORDY, 1.25)], indirect=True)
def test_rows_of_a_form_that_need_two_lines_have_them(stage):
    found = faults_in(stage, "policy-adopting-part", SMALL, USUAL)
    assert not found, "\n".join(found)


@pytest.mark.turns(8)
@pytest.mark.slow
@pytest.mark.parametrize(("name", "spoken"), OTHER_STATES, indirect=["spoken"])
def test_in_another_language_or_size_nothing_is_cut_off_either(stage, name):
    assert not (faults := faults_in(stage, name, SMALL, USUAL)), "\n".join(faults)
