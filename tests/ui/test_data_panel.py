"""The Data panel: from a file to a table on screen, with every option shown and changeable."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QMenu

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.formats.options import BadValues, ColumnType, RaggedRows, ReasonsKept
from sfumato.project.document.model import Document, TableSource
from sfumato.ui.panels import import_page
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.data.loaded_page import explain
from sfumato.ui.panels.import_page import MissingTextsDialog, size_words
from tests.formats.workbooks import HEADER, parts, save, sheet
from tests.ui.data_steps import headings, load, look_at, remarks, shown, wait_for_preview
from tests.ui.hands import choose, click, message_button, messages, settle, type_into


@pytest.fixture
def panel(data_panel):
    return data_panel


class TestBeginning:
    def test_an_empty_panel_offers_a_table_and_the_sample(self, panel, answers):
        assert panel.state() is PanelState.EMPTY
        assert panel.pages.currentWidget() is panel.welcome
        assert not panel.load_button.isVisible()
        click(panel.welcome.open_button)
        assert answers.asked == ["Open table"]

    def test_the_sample_is_one_click_away(self, panel, qtbot):
        click(panel.welcome.blank_button)
        settle(qtbot, panel.session)
        assert panel.importing.file.text() == "clinic.csv"
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert panel.session.table.rows == 10_000
        assert panel.state() is PanelState.DONE

    def test_before_the_first_project_it_is_said_what_one_is(self, data_panel, tmp_path):
        welcome = data_panel.welcome
        told = " ".join(each.text() for each in welcome.facts.findChildren(QLabel))
        assert welcome.facts.isVisible()
        assert "one file that you save where you like" in told
        assert "encrypted by your passphrase" in told
        assert "connects to no network" in told
        path = tmp_path / "clinic.sfumato"
        path.touch()
        data_panel.session.recent.add(path)
        welcome.refresh()
        assert not welcome.facts.isVisible()

    def test_what_is_said_first_is_not_cut_off_in_the_smallest_window(self, data_panel):
        data_panel.resize(752, 640)
        QCoreApplication.processEvents()
        for text in data_panel.welcome.facts.findChildren(QLabel):
            if text.text():
                assert text.height() >= text.heightForWidth(text.width())

    def test_recent_projects_are_listed_and_asked_for(self, panel, tmp_path, qtbot):
        path = tmp_path / "clinic.sfumato"
        path.touch()
        panel.session.recent.add(path)
        panel.welcome.refresh()
        [made] = [b for b in panel.welcome.findChildren(type(panel.back)) if b.text() == "clinic"]
        with qtbot.waitSignal(panel.session.project_requested) as heard:
            click(made)
        assert heard.args == [path]

    def test_a_file_that_is_not_there_is_named_and_another_can_be_chosen(
        self, panel, qtbot, answers, clinic, tmp_path
    ):
        look_at(panel, qtbot, tmp_path / "gone.csv")
        assert "gone.csv" in messages(panel.messages)[0]
        answers.file = clinic
        click(message_button(panel.messages, "Choose another file…"))
        settle(qtbot, panel.session)
        assert panel.importing.file.text() == "clinic.csv"


class TestOptions:
    def test_what_was_found_is_shown(self, panel, qtbot, tmp_path):
        path = tmp_path / "german.csv"
        path.write_bytes("Größe;Name\n1,5;Jürgen\n2,25;Zoë\n".encode("cp1252"))
        look_at(panel, qtbot, path)
        form = panel.importing.form
        assert (form.delimiter.value, form.decimal.value) == (";", ",")
        assert form.encoding.value == "cp1252"
        assert form.header.isChecked()
        assert headings(panel.importing.table) == ["Größe", "Name"]
        assert shown(panel.importing.table) == [["1.5", "Jürgen"], ["2.25", "Zoë"]]

    def test_another_delimiter_shows_at_once(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("a,b;c\nx,y;3\nz,y;6\n")
        look_at(panel, qtbot, path)
        choose(panel.importing.form.delimiter, ";")
        wait_for_preview(panel, qtbot, lambda: headings(panel.importing.table) == ["a,b", "c"])
        assert shown(panel.importing.table)[0] == ["x,y", "3"]

    def test_without_a_header_the_first_row_is_a_record_and_contradictions_are_not_taken_over(
        self, panel, qtbot, clinic
    ):
        look_at(panel, qtbot, clinic)
        click(panel.importing.form.header)
        wait_for_preview(panel, qtbot, lambda: panel.importing.table.model().rowCount() == 7)
        assert shown(panel.importing.table, 1)[0][0] == "patient"
        form = panel.importing.form
        choose(form.decimal, ",")
        choose(form.thousands, ",")
        assert form.problem.isVisible()
        assert form.options.thousands == ""

    def test_texts_can_mean_missing(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("age,town\n34,?\n-,Ulm\n")
        look_at(panel, qtbot, path)
        field = panel.importing.form.missing
        type_into(field, "?; -")
        QTest.keyClick(field, Qt.Key.Key_Return)
        wait_for_preview(
            panel, qtbot, lambda: shown(panel.importing.table) == [["34", "–"], ["–", "Ulm"]]
        )
        assert panel.importing.options.missing == ("", "?", "-")

    @pytest.mark.slow
    @pytest.mark.parametrize("moved", [False, True])
    def test_the_focus_goes_to_loading_unless_an_option_has_it(
        self, panel, qtbot, clinic, monkeypatch, moved
    ):
        go_on, read = threading.Event(), import_page.first_rows

        def slowly(*given, **named):
            assert go_on.wait(20)
            return read(*given, **named)

        monkeypatch.setattr(import_page, "first_rows", slowly)
        panel.open_file(clinic)
        qtbot.waitUntil(lambda: panel.pages.currentWidget() is panel.importing)
        if moved:
            panel.importing.form.header.setFocus()
        go_on.set()
        settle(qtbot, panel.session)
        expected = panel.importing.form.header if moved else panel.load_button
        assert panel.window().focusWidget() is expected

    def test_only_what_concerns_the_format_is_offered(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.parquet"
        pd.DataFrame({"a": [1, 2]}).to_parquet(path)
        look_at(panel, qtbot, path)
        form = panel.importing.form
        assert not form.delimiter.isVisible()
        assert form.bad_values.isVisible()
        assert shown(panel.importing.table) == [["1"], ["2"]]

    def test_a_workbooks_sheets_are_offered(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.xlsx"
        with pd.ExcelWriter(path) as book:
            pd.DataFrame({"a": [1]}).to_excel(book, sheet_name="first", index=False)
            pd.DataFrame({"b": [2]}).to_excel(book, sheet_name="second", index=False)
        look_at(panel, qtbot, path)
        assert panel.importing.form.sheet.value == "first"
        choose(panel.importing.form.sheet, "second")
        wait_for_preview(panel, qtbot, lambda: headings(panel.importing.table) == ["b"])

    def test_formulas_without_their_values_are_cautioned_of_before_loading(
        self, panel, qtbot, tmp_path
    ):
        cells = '<row r="2"><c r="A2"><v>1</v></c></row><row r="3"><c r="A3"><f>1+1</f></c></row>'
        after = '<row r="4"><c r="A4"><v>3</v></c></row>'
        formulas, plain = sheet(HEADER + cells + after), sheet(HEADER + after)
        look_at(panel, qtbot, save(tmp_path / "a.xlsx", parts(formulas, plain)))
        notes = panel.importing.notes
        assert notes.isVisible()
        assert "formulas without their values" in remarks(notes)[0]
        assert "in “a”." in remarks(notes)[0]
        choose(panel.importing.form.sheet, "Sheet 2")
        wait_for_preview(panel, qtbot, lambda: not notes.isVisible())
        assert panel.load_button.isEnabled()

    def test_a_hidden_sheet_is_cautioned_of_before_loading(self, panel, qtbot, tmp_path):
        row = '<row r="2"><c r="A2"><v>1</v></c></row>'
        made = parts(sheet(HEADER + row), sheet(HEADER + row), states=("hidden",))
        look_at(panel, qtbot, save(tmp_path / "a.xlsx", made))
        notes = panel.importing.notes
        assert panel.importing.form.sheet.value == "Sheet 2"
        assert notes.isVisible()
        assert "The first sheet of the workbook, Sheet 1, is hidden." in remarks(notes)[0]
        choose(panel.importing.form.sheet, "Sheet 1")
        wait_for_preview(panel, qtbot, lambda: "The sheet Sheet 1 is hidden" in remarks(notes)[0])
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert any("Sheet 1 is hidden" in text for text in remarks(panel.loaded.notes))

    def test_a_columns_type_can_be_fixed(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("postcode\n01234\n55555\n")
        look_at(panel, qtbot, path)
        menu = panel.importing.type_menu("postcode")
        text = next(action for action in menu.actions() if action.text() == "Text")
        text.trigger()
        menu.close()
        settle(qtbot, panel.session)
        assert panel.importing.options.column_types == {"postcode": ColumnType.TEXT}
        assert shown(panel.importing.table) == [["01234"], ["55555"]]

    def test_what_means_missing_in_one_column_is_asked_by_its_menu(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("age,sex\n20,m\n99,99\n")
        look_at(panel, qtbot, path)
        page = panel.importing
        page.table.setFocus()
        page.table.setCurrentIndex(page.table.model().index(0, 0))
        page.table.customContextMenuRequested.emit(QPoint())
        (menu,) = page.findChildren(QMenu)
        action = next(each for each in menu.actions() if each.text() == "What means missing…")
        action.trigger()
        menu.close()
        (dialog,) = page.findChildren(MissingTextsDialog)
        type_into(dialog.field, "99; unknown")
        click(dialog.submit)
        wait_for_preview(panel, qtbot, lambda: shown(page.table)[1] == ["–", "99"])
        assert page.options.column_missing == {"age": ("99", "unknown")}
        dialog = page.ask_for_missing("age")
        assert dialog.field.text() == "99; unknown"
        type_into(dialog.field, "")
        click(dialog.submit)
        wait_for_preview(panel, qtbot, lambda: shown(page.table)[1] == ["99", "99"])
        assert page.options.column_missing == {}

    @pytest.mark.slow
    def test_reasons_of_missing_values_are_kept_in_a_column_by_choice(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame({"income": [1200.0, 99.0, 1500.0, 99.0]})
        labels = {"income": {99: "refused"}}
        pyreadstat.write_sav(
            frame, path, variable_value_labels=labels, missing_ranges={"income": [99]}
        )
        look_at(panel, qtbot, path)
        page = panel.importing
        assert "2 values are missing with a reason, which is left out" in remarks(page.notes)[0]
        choose(page.form.missing_reasons, ReasonsKept.COLUMN)
        wait_for_preview(panel, qtbot, lambda: len(headings(page.table)) == 2)
        assert [row[1] for row in shown(page.table)] == ["–", "refused", "–", "refused"]
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert panel.session.document.columns[1].name == "income_missing"
        told = explain(panel.loaded.profiles.cells.profiles[0])
        assert told.endswith("Missing with a reason:\nrefused   2")

    def test_profiles_tell_labelled_codes_by_their_labels(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.sav"
        frame = pd.DataFrame({"sex": [2, 1, 2, None], "age": [31, 99, 31, 40]})
        labels = {"sex": {1: "male", 2: "female"}, "age": {99: "unknown"}}
        pyreadstat.write_sav(frame, path, variable_value_labels=labels)
        load(panel, qtbot, path)
        sex, age = (panel.loaded.profiles.cells.index(row, 0) for row in range(2))
        told, tip = Qt.ItemDataRole.AccessibleDescriptionRole, Qt.ItemDataRole.ToolTipRole
        assert sex.data(told) == "2 labelled values · 25 % missing"
        assert sex.data(tip).splitlines()[2:] == ["2 (female)   66.7 %", "1 (male)   33.3 %"]
        assert age.data(told) == "31 to 99"  # one label is no name for a measure
        bars = panel.loaded.profiles.cells.bars
        assert bars(0) == pytest.approx((1 / 3, 2 / 3))

    def test_the_encoding_of_a_statistical_file_is_what_it_states_or_chosen(
        self, panel, qtbot, tmp_path
    ):
        path = tmp_path / "t.dta"
        pyreadstat.write_dta(pd.DataFrame({"TOWN": ["Mxller", "Brxhl"]}), path, version=12)
        path.write_bytes(path.read_bytes().replace(b"xller", b"\x9fller"))
        look_at(panel, qtbot, path)
        choose(panel.importing.form.encoding, "")
        wait_for_preview(panel, qtbot, lambda: panel.importing.options.encoding == "")
        choose(panel.importing.form.encoding, "mac-roman")
        wait_for_preview(panel, qtbot, lambda: panel.importing.options.encoding == "mac-roman")
        qtbot.waitUntil(lambda: shown(panel.importing.table)[0] == ["M\u00fcller"])
        assert shown(panel.importing.table)[1] == ["Brxhl"]

    def test_a_file_that_can_not_be_read_so_says_why_in_the_place_of_the_rows(
        self, panel, qtbot, tmp_path
    ):
        path = tmp_path / "a.csv"
        path.write_bytes("name\nZo\u00eb\n".encode("cp1252"))
        look_at(panel, qtbot, path)
        choose(panel.importing.form.encoding, "utf-8")
        page = panel.importing
        wait_for_preview(panel, qtbot, lambda: page.pages.currentWidget() is page.problem)
        assert page.problem.heading.text()
        assert not panel.load_button.isEnabled()

    @pytest.mark.slow
    def test_cancelling_brings_back_what_was_open(self, panel, qtbot, clinic, tmp_path):
        load(panel, qtbot, clinic)
        other = tmp_path / "other.csv"
        other.write_text("x,y\n1,2\n")
        look_at(panel, qtbot, other)
        assert panel.state() is PanelState.IN_PROGRESS
        click(panel.back)
        assert panel.pages.currentWidget() is panel.loaded
        assert panel.session.document.title == "clinic"


class TestLoading:
    def test_a_table_is_loaded_with_proposals(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        session = panel.session
        assert session.table.columns == ("patient", "age", "ward", "disease")
        document = session.document
        assert document.title == "clinic"
        assert document.source.path == str(clinic)
        assert document.source.rows == 6
        assert len(document.source.digest) == 64
        assert [column.name for column in document.columns] == list(session.table.columns)
        assert session.undo_text == "Open clinic"

    def test_rows_with_too_few_fields_stop_the_reading_and_can_be_left_out(
        self, panel, qtbot, tmp_path
    ):
        path = tmp_path / "a.csv"
        path.write_text("a,b\n1,2\n3\n4,5\n")
        load(panel, qtbot, path)
        assert panel.session.table is None
        assert "2" in messages(panel.messages)[0]
        ways = [action.text for action in panel.messages.messages[0].actions]
        assert ways
        panel.messages.messages[0].actions[0].run()
        settle(qtbot, panel.session)
        assert panel.session.table.rows == 2
        assert panel.importing.options.ragged_rows is RaggedRows.SKIP
        assert any("1 row of the file is left out" in text for text in remarks(panel.loaded.notes))

    def test_values_of_another_type_can_become_missing(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("age\n" + "\n".join(str(20 + i % 50) for i in range(400)) + "\nforty\n")
        load(panel, qtbot, path)
        assert panel.session.table is None
        [message] = panel.messages.messages
        assert "forty" not in message.text + message.remedy
        assert "age" in message.text
        choose(panel.importing.form.bad_values, BadValues.MISSING)
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert int(panel.session.table.frame["age"].isna().sum()) == 1

    def test_loading_can_be_stopped(self, panel, qtbot, clinic, monkeypatch):
        look_at(panel, qtbot, clinic)
        reached = threading.Event()

        def slow(path, options, document, context, *_given):
            reached.set()
            while True:
                context.report(0.3, "Reading rows")

        monkeypatch.setattr("sfumato.ui.panels.data.panel.load", slow)
        click(panel.load_button)
        assert reached.wait(10)
        assert panel.state() is PanelState.IN_PROGRESS
        qtbot.waitUntil(lambda: panel.waiting.bar.value() == 300)
        assert panel.waiting.step.text() == "Reading rows"
        click(panel.waiting.cancel)
        settle(qtbot, panel.session)
        assert panel.pages.currentWidget() is panel.importing
        assert panel.session.table is None
        assert panel.load_button.isEnabled()
        assert messages(panel.messages) == []

    def test_the_same_columns_keep_earlier_decisions(self, panel, qtbot, clinic, tmp_path):
        load(panel, qtbot, clinic)
        session = panel.session
        spec = ColumnSpec("disease", Role.SENSITIVE)
        session.edit("Mark", session.document.with_column(spec))
        edition = tmp_path / "december.csv"
        edition.write_text(clinic.read_text() + "p7,40,east,flu\n")
        load(panel, qtbot, edition)
        assert session.document.column("disease").role is Role.SENSITIVE
        assert session.document.source.rows == 7
        click(message_button(panel.messages, "Undo"))
        assert session.table.rows == 6

    def test_other_columns_begin_anew(self, panel, qtbot, clinic, tmp_path):
        load(panel, qtbot, clinic)
        other = tmp_path / "other.csv"
        other.write_text("x,y\n1,2\n3,4\n")
        load(panel, qtbot, other)
        assert [column.name for column in panel.session.document.columns] == ["x", "y"]
        assert panel.session.document.title == "other"

    @pytest.mark.slow
    def test_how_it_is_read_can_be_changed_afterwards(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        click(panel.loaded.reread)
        settle(qtbot, panel.session)
        assert panel.pages.currentWidget() is panel.importing
        assert panel.importing.options.delimiter == ","
        click(panel.importing.form.header)
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert panel.session.table.rows == 7

    def test_a_project_without_its_table_asks_where_it_is(self, panel, qtbot):
        source = TableSource("/gone/clinic.csv", "0" * 64, 6)
        panel.session.edit("Open", Document(title="clinic", source=source))
        assert panel.pages.currentWidget() is panel.gone
        assert panel.state() is PanelState.ATTENTION
        with qtbot.waitSignal(panel.session.locate_requested):
            button = panel.gone.findChild(type(panel.back))
            click(button)

    @pytest.mark.slow
    def test_the_title_of_the_releases_can_be_changed(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        field = panel.loaded.title
        assert field.text() == "clinic"
        type_into(field, "Clinic 2026")
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert panel.session.document.title == "Clinic 2026"
        type_into(field, "  ")
        QTest.keyClick(field, Qt.Key.Key_Return)
        assert field.text() == "Clinic 2026"
        panel.session.undo()
        assert field.text() == "clinic"

    def test_a_table_with_the_same_columns_gives_its_own_name_to_releases_nobody_named(
        self, panel, qtbot, clinic
    ):
        load(panel, qtbot, clinic)
        other = Path(shutil.copy(clinic, clinic.with_name("hospital.csv")))
        load(panel, qtbot, other)
        assert panel.session.document.title == "hospital"
        type_into(panel.loaded.title, "Clinic 2026")
        QTest.keyClick(panel.loaded.title, Qt.Key.Key_Return)
        load(panel, qtbot, clinic)
        assert panel.session.document.title == "Clinic 2026"

    def test_the_primary_button_leads_on(self, panel, qtbot, clinic):
        load(panel, qtbot, clinic)
        with qtbot.waitSignal(panel.session.panel_requested) as heard:
            click(panel.load_button)
        assert heard.args == ["attributes"]


@pytest.mark.parametrize(
    ("size", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_050_000, "1.05 MB"), (10**10, "10 GB")],
)
def test_sizes_are_told_in_words(size, words):
    assert size_words(size) == words


class TestLayout:
    def test_a_text_of_fixed_width_is_read_by_a_layout(self, panel, answers, qtbot, tmp_path):
        lines = [f"{i:06d}{i % 2 + 1}{20 + i:03d}{1000 + i:7d}N\n" for i in range(30)]
        path = tmp_path / "a.dat"
        path.write_text("".join(lines))
        layout = tmp_path / "layout.csv"
        layout.write_text("name,start,width\nid,1,6\nsex,7,1\nage,8,3\n")
        look_at(panel, qtbot, path)
        page = panel.importing
        assert "fixed width" in page.problem.heading.text()
        answers.file = layout
        click(page.form.positions)
        wait_for_preview(panel, qtbot, lambda: page.pages.currentWidget() is page.table)
        assert headings(page.table) == ["id", "sex", "age"]
        assert page.form.positions.text() == "Layout of 3 columns…"
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert panel.session.table.rows == 30

    def test_a_layout_can_be_left_out_again(self, panel, answers, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("sex,age\nm,20\nf,21\n")
        layout = tmp_path / "layout.csv"
        layout.write_text("name,start,width\nsex,1,1\nage,3,2\n")
        look_at(panel, qtbot, path)
        page = panel.importing
        assert not page.form.no_layout.isVisible()
        answers.file = layout
        click(page.form.positions)
        wait_for_preview(panel, qtbot, page.form.no_layout.isVisible)
        click(page.form.no_layout)
        wait_for_preview(panel, qtbot, lambda: shown(page.table) == [["m", "20"], ["f", "21"]])
        assert page.options.layout == ()
        assert not page.form.no_layout.isVisible()

    def test_rows_without_any_value_can_be_kept(self, panel, qtbot, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("sex,age\nm,20\nf,21\n,\n")
        look_at(panel, qtbot, path)
        table = panel.importing.table
        assert shown(table) == [["m", "20"], ["f", "21"]]
        click(panel.importing.form.keep_blank_rows)
        wait_for_preview(panel, qtbot, lambda: table.model().rowCount() == 3)
        click(panel.load_button)
        settle(qtbot, panel.session)
        assert panel.session.table.rows == 3
