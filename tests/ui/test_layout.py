"""Nothing is ever cut off: every panel is laid out, and looked at by geometry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale
from PySide6.QtWidgets import QApplication, QDialog

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.proposals import propose_columns
from sfumato.formats import language
from sfumato.formats.reading import detect_options
from sfumato.project.document.model import Document
from sfumato.project.rules.rules import apply_rules
from sfumato.project.source import read_source
from sfumato.resources import resource_path
from sfumato.ui.look.theme import themes
from sfumato.ui.panels import all_panels
from sfumato.ui.state import languages
from tests.screenshots.stage import SAMPLE, Stage
from tests.ui.layout_faults import layout_faults
from tests.ui.untranslated import pseudo_language

SMALL, USUAL = (1100, 700), (1366, 768)
LARGEST = 1.5
ROWS = 300
LONG = {
    "diagnosis": "main_diagnosis_at_discharge_coded_by_the_attending_physician",
    "occupation": "occupation as stated by the person at admission",
    "birth_year": "YearOfBirthAccordingToTheRegisterOfResidents",
    "Regional health office": "Regional office of public health, statistics and the environment",
}
"""What the sample's columns and recipients are called where names are long."""


def longer(text: str) -> str:
    """Return a text with words a third longer, as German says it; marks and names stay."""
    more = len(re.sub(r"\{[^}]*\}|<[^>]*>", "", text)) // 3 + 1
    return f"{text} {('länger als sonst ' * (more // 17 + 1))[:more].strip()}"


@pytest.fixture(scope="module")
def wordy(tmp_path_factory) -> Path:
    """A language a third longer than English, compiled in a folder of its own."""
    return pseudo_language(tmp_path_factory.mktemp("checkout"), longer)


@pytest.fixture
def wordily(wordy: Path, themed: QApplication) -> Iterator[None]:
    """The application speaks that language; afterwards its text is as large as before."""
    before, written = language.spoken(), QLocale()
    translators = languages.speak(themed, "eo", wordy.parent)
    yield
    for translator in translators:
        themed.removeTranslator(translator)
    language.speak(before)
    QLocale.setDefault(written)
    themes().set_scale()


def faults_at(stage: Stage, size: tuple[int, int]) -> list[str]:
    """Return what is cut off or covered in a window of that size, and in the dialogs before it."""
    stage.window.resize(*size)
    for _ in range(6):  # layouts settle from the inside out
        QApplication.processEvents()
    dialogs = [one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog)]
    shown = [stage.window, *(one for one in dialogs if one.isVisible())]
    return [f"{size}: {fault}" for one in shown for fault in layout_faults(one)]


def open_with_long_names(stage: Stage) -> None:
    """Load a small part of the sample, its columns, recipients and file with long names."""
    path = stage.folder / "survey_of_admissions_to_hospitals_of_the_northern_region_2024_final.csv"
    lines = resource_path("samples", f"{SAMPLE}.csv").read_text(encoding="utf-8").splitlines()
    rules = resource_path("samples", f"{SAMPLE}.toml").read_text(encoding="utf-8")
    for name, long in LONG.items():
        lines[0] = re.sub(rf"\b{name}\b", long, lines[0])
        rules = re.sub(rf'"?\b{name}\b"?', f'"{long}"', rules)
    path.write_text("\n".join(lines[: ROWS + 1]), encoding="utf-8")
    table, source = read_source(path, detect_options(path), Silent())
    document = Document(title=path.stem, source=source, columns=propose_columns(table))
    document = apply_rules(rules, table, document, noise=stage.session.noise)
    stage.session.open_table("Open", table, document)
    stage.settle()


def test_nothing_is_cut_off_where_text_is_largest_names_long_and_the_window_small(
    wordily, tmp_path
):
    themes().set_scale(LARGEST)
    stage = Stage(tmp_path, SMALL)
    faults = []
    try:
        open_with_long_names(stage)
        for panel in all_panels():
            stage.panel(panel.name)
            stage.settle()
            faults += [f"{panel.name} {fault}" for fault in faults_at(stage, SMALL)]
        stage.window.guarantee.set_compact(False)
        faults += [f"guarantee {fault}" for fault in faults_at(stage, USUAL)]
    finally:
        stage.close()
    assert not faults, "\n".join(faults)
