"""Every text that a person reads can be translated, and is read in the language chosen."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication, QLocale, Qt
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from installer.translatable import texts_of
from installer.translating import CHECKOUT, FOLDER, NAME, renew
from sfumato.engine.core.columns import MISSING_LABEL
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.generalization.checker import CheckedCriterion, PublicationCheck
from sfumato.engine.generalization.criteria import KAnonymity
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.categorical import unknown_statement
from sfumato.engine.mechanisms.reconstruction.promise import times
from sfumato.engine.table.table import Table
from sfumato.formats import language
from sfumato.formats.language import grouped
from sfumato.project.document.entry_plan import unit_refusal
from sfumato.project.document.model import Document, PolicyEntry, Unit
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.secret import ScryptCost
from sfumato.project.verification.published import promises_kept
from sfumato.project.verification.verify import verify_bundle
from sfumato.ui.look.wording import filled_in, number, parts, spoken
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state import settings as languages
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading
from tests.in_batches import in_batches
from tests.screenshots.scenes import scenes_of
from tests.screenshots.stage import Stage
from tests.ui.hands import at_settings
from tests.ui.untranslated import BEGIN, END, pseudo_language, untranslated

GERMAN = CHECKOUT / FOLDER / NAME.format(locale="de")
QUICK = ("attributes-filled", "policy-filled", "releases-filled")
OTHERS = (
    *("policy-limits", "policy-chances", "policy-small-groups", "policy-numbers"),
    *("policy-views-many", "policy-views-lattice"),
    *("policy-generalized-promise", "preview-filled", "attributes-ends", "attributes-pseudonym"),
    *("audit-planned", "audit-filled", "audit-numbers", "audit-pooled-rows"),
    *("audit-person-found", "audit-files", "audit-leak-filled", "audit-other-holders-person"),
    *("audit-groups-chosen", "audit-queries-filled", "audit-noisy-filled", "releases-empty"),
    *("releases-grave", "releases-verified", "releases-ledger", "data-dialog-found"),
)


@pytest.fixture(scope="module")
def pseudo(tmp_path_factory) -> Path:
    """A language in which every text stands in brackets, compiled in a folder of its own."""
    return pseudo_language(tmp_path_factory.mktemp("language"), in_brackets, known=GERMAN)


@pytest.fixture(scope="module")
def renewed(tmp_path_factory) -> Path:
    """The same, of the texts that the code has."""
    return pseudo_language(tmp_path_factory.mktemp("checkout"), in_brackets)


def in_brackets(text: str) -> str:
    return f"{BEGIN}{text}{END}"


@contextmanager
def speaking(application: QApplication, name: str, folder: Path | None = None) -> Iterator[None]:
    """Let the application speak a language, and English again afterwards."""
    before, writing = language.spoken(), QLocale()
    translators = languages.speak(application, name, folder)
    try:
        yield
    finally:
        for translator in translators:
            application.removeTranslator(translator)
        language.speak(before)
        QLocale.setDefault(writing)


@pytest.fixture
def spoken_there(pseudo: Path, themed: QApplication) -> Iterator[Path]:
    """The application speaks that language."""
    with speaking(themed, "eo", pseudo.parent):
        yield pseudo


def found_in(path: Path) -> set[tuple[str, str]]:
    return {
        (str(context.findtext("name")), str(message.findtext("source")))
        for context in ElementTree.parse(path).iter("context")
        for message in context.iter("message")
    }


@pytest.mark.slow
def test_a_translators_file_has_every_text_of_the_code(renewed):
    wanted = {(text.context, text.source) for text in texts_of(renewed.parents[2])}
    assert found_in(renewed) == wanted
    assert found_in(GERMAN) == wanted
    assert ("Sentences", "{file} is empty.") in wanted  # said below the window
    assert (
        "Plots",
        "Share of records by the probability that Bayes' rule gives to their true value.",
    ) in wanted
    assert ("MainWindow", "&File") in wanted
    assert ("Panel", "Policy") in wanted


@pytest.mark.slow
def test_renewing_keeps_what_is_translated_and_shows_where_a_text_stands(renewed):
    again = renew("eo", renewed.parents[2])
    text = again.read_text(encoding="utf-8")
    assert 'type="unfinished"' not in text
    assert 'filename="../../app/sfumato/ui/shell/main_window.py"' in text


def test_an_error_is_translated_before_it_is_filled_in(spoken_there):
    error = SfumatoError("{file} is empty.", "Choose another.", file="a.csv")
    assert error_texts(error) == (f"{BEGIN}a.csv is empty.{END}", f"{BEGIN}Choose another.{END}")


def test_a_sentence_is_translated_with_those_inside_it_and_names_stay(spoken_there):
    inner = Sentence("the public columns")
    made = joined(Sentence("Choose a mechanism for {column}.", column=inner), Sentence("Add it."))
    parts = spoken(made)
    assert parts.count(BEGIN) == 3
    assert "the public columns" in spoken(listed(["the public columns", "b"]))
    assert spoken(listed(["the public columns", "b"])).count(BEGIN) == 1


def test_what_the_window_puts_into_a_sentence_is_translated_too(themed):
    with speaking(themed, "de"):
        inside = filled_in("{times}", times=times(1 / 3))
    assert inside == "in einem von drei Fällen"


def test_a_mechanism_within_a_sentence_is_called_as_the_window_calls_it(themed):
    entry = PolicyEntry(("rent",), "gaussian", {"measured": "noisy", "measured_epsilon": 0.1})
    document = Document(policy=(entry,), unit=Unit(("household",), 4))
    with speaking(themed, "de"):
        said = error_texts(unit_refusal(document, entry))[0]
        stated = spoken(unknown_statement(mechanism_called("uniform"), {}).sentence)
    assert "durch Gaußsches Rauschen geschützt" in said
    assert stated.startswith("Gleichverteilte Ersetzung: ")


def test_what_is_wrong_with_a_bundle_is_said_in_the_persons_language(themed, tmp_path):
    cost = ScryptCost(2**4)
    project = ProjectFile.create(tmp_path / "a.sfumato", "made up", Document(), cost=cost)
    with speaking(themed, "de"):
        [found] = verify_bundle(
            project, in_batches(Table(pd.DataFrame({"a": [1]}))), tmp_path, Silent()
        ).checks
        assert "ist kein Datenpaket" in spoken(found.finding)
        kept = CheckedCriterion(KAnonymity(3), 3.0, True, 0)
        found = promises_kept(PublicationCheck(3, 1, (kept,)), in_records=False)
        assert "k-Anonymität" in spoken(found.finding)


def test_a_missing_value_is_called_so_in_the_persons_language(themed):
    model = CellsModel((Heading(MISSING_LABEL),))
    model.lay_out(1)
    model.cell = lambda _row, _column: Cell(MISSING_LABEL)
    with speaking(themed, "de"):
        heading = model.headerData(0, Qt.Orientation.Horizontal)
        assert model.index(0, 0).data() == heading == "(fehlt)"
    assert model.index(0, 0).data() == MISSING_LABEL


def test_qts_own_texts_are_loaded(themed):
    with speaking(themed, "de"):
        assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
        assert QCoreApplication.translate("MainWindow", "&File") == "&Datei"


def test_a_language_is_offered_where_there_is_one_and_remembered(pseudo, themed, monkeypatch):
    monkeypatch.setattr(language, "shipped", lambda: pseudo.parent)
    window = MainWindow(Session(store=at_settings()))
    window.menus.actions["language-eo"].trigger()
    assert languages.chosen(window.session.store) == "eo"
    assert window.menus.actions["language-eo"].text() == "Esperanto"
    window.session.close()
    window.deleteLater()


def test_numbers_are_written_alike_by_the_window_and_by_what_needs_no_qt(themed):
    with speaking(themed, "de"):
        assert language.localized(f"{1234567.5:,.1f}") == QLocale().toString(1234567.5, "f", 1)
        assert number(0.125) == "0,125"
        assert grouped(12345) == "12.345"
        assert (
            spoken(Sentence("{count:,} other {count:unit|units}", count=1234))
            == "1.234 anderen Einheiten"
        )
    assert grouped(12345) == "12,345"


def test_long_words_are_parted_at_their_joints_and_names_of_columns_without_a_hyphen(themed):
    with speaking(themed, "de"):
        narrow = label("Standardabweichung", wrap=True)
        assert narrow.text() == "Standardabweichung"
        assert parts("Standardabweichung des") == ["Standard-", "abweichung", "des"]
        metrics = narrow.fontMetrics()
        width = metrics.horizontalAdvance("abweichung.")
        assert narrow.heightForWidth(width) >= 2 * metrics.height()
        named = parts("occupation_as_stated_by_the_person")
        assert "".join(named) == "occupation_as_stated_by_the_person"


def _arranged(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Arrange a scene, and give every text in sight that is not translated."""
    panel, _, scene = name.partition("-")
    stage = Stage(folder, rows=2_000)
    try:
        stage.panel(panel)
        next(one for one in scenes_of(panel) if one.name == scene).arrange(stage)
        stage.settle()
        dialogs = [one for one in QApplication.topLevelWidgets() if isinstance(one, QDialog)]
        widgets: list[QWidget] = [stage.window, *(one for one in dialogs if one.isVisible())]
        document, table = stage.session.document, stage.session.table
        yield from untranslated(widgets, document, table)
    finally:
        stage.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_what_a_panel_shows_is_translated(spoken_there, tmp_path, name):
    assert list(_arranged(name, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_what_a_panel_shows_in_other_states_is_translated(spoken_there, tmp_path, name):
    assert list(_arranged(name, tmp_path)) == []
