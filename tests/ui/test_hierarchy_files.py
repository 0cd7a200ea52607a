"""Several hierarchies read at once, as a person reads them."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.ui.panels.attributes.hierarchy.keeping import HierarchyFilesDialog
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.ui.hands import choose, click, dialog_of, on_screen, settle

TABLES = {"town": "Bonn;DE;*\nLyon;FR;*\n", "sex": "f;*\nm;*\n", "ward": "a;*\n"}


@pytest.fixture
def panel(session, qtbot):
    made = on_screen(qtbot, AttributesPanel(session), 900, 700)
    frame = pd.DataFrame({"town": ["Bonn", "Lyon"], "sex": ["f", "m"], "ward": ["a", "b"]})
    specs = tuple(ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in frame)
    session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), Document(columns=specs))
    settle(qtbot, session)
    made.choose("town")
    return made


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "hierarchies"
    made.mkdir()
    for name, text in TABLES.items():
        (made / f"people_hierarchy_{name}.csv").write_text(text, encoding="utf-8")
    return made


def opened(qtbot, panel, folder):
    click(panel.detail.hierarchy.files)
    dialog = dialog_of(panel, HierarchyFilesDialog)
    panel.session.chooser.chosen_folder = folder
    click(dialog.add_folder)
    settle(qtbot, panel.session)
    return dialog


def shown(dialog):
    return {
        file.path.stem.rpartition("_")[2]: (field.value, state.text())
        for file, field, state in zip(dialog.files, dialog.columns, dialog.states, strict=True)
    }


def test_a_folder_is_read_and_taken_in_one_edit(qtbot, panel, folder):
    dialog = opened(qtbot, panel, folder)
    found = shown(dialog)
    assert found["town"] == ("town", "3 levels")
    assert found["sex"] == ("sex", "2 levels")
    assert found["ward"][0] == "ward"
    assert "that no row lists" in found["ward"][1]
    assert dialog.submit.text().replace("&", "") == "Take 2 hierarchies"
    click(dialog.submit)
    assert set(panel.session.document.hierarchies) == {"town", "sex"}
    panel.session.undo()
    assert panel.session.document.hierarchies == {}


@pytest.mark.slow
def test_the_column_of_a_file_can_be_changed_before(qtbot, panel, folder):
    (folder / "people_hierarchy_ward.csv").rename(folder / "regions.csv")
    (folder / "regions.csv").write_text("a;east;*\nb;west;*\n", encoding="utf-8")
    dialog = opened(qtbot, panel, folder)
    place = [file.path.stem for file in dialog.files].index("regions")
    assert dialog.columns[place].value == ""
    assert dialog.states[place].text() == "is left out"
    choose(dialog.columns[place], "ward")
    settle(qtbot, panel.session)
    assert dialog.states[place].text() == "3 levels"
    choose(dialog.columns[place], "")
    settle(qtbot, panel.session)
    click(dialog.submit)
    assert set(panel.session.document.hierarchies) == {"town", "sex"}


def test_two_files_for_one_column_are_not_taken(qtbot, panel, folder):
    (folder / "other_town.csv").write_text(TABLES["town"], encoding="utf-8")
    dialog = opened(qtbot, panel, folder)
    place = [file.path.stem for file in dialog.files].index("people_hierarchy_town")
    assert dialog.columns[place].value == ""
    choose(dialog.columns[place], "town")
    settle(qtbot, panel.session)
    assert "Another file is for this column" in dialog.states[place].text()
    assert not dialog.submit.isEnabled()


@pytest.mark.slow
def test_files_are_added_one_by_one_and_a_present_hierarchy_is_replaced(qtbot, panel, folder):
    click(panel.detail.hierarchy.propose)
    settle(qtbot, panel.session)
    click(panel.detail.hierarchy.files)
    dialog = dialog_of(panel, HierarchyFilesDialog)
    assert not dialog.submit.isEnabled()
    for name in ("town", "sex", "town"):
        panel.session.chooser.file = folder / f"people_hierarchy_{name}.csv"
        click(dialog.add_file)
        settle(qtbot, panel.session)
    assert len(dialog.files) == 2
    assert "in the place of the present" in dialog.states[0].text()
    click(dialog.submit)
    assert panel.session.document.hierarchies["town"].kind == "table"
