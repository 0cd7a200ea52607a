"""The editor of hierarchical retention: recipients' levels, and the chapters of values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.hierarchies import Recipe
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.hierarchical import (
    CHAPTERS,
    INSIDE,
    LEVEL,
    MECHANISM,
    chapters_by,
    inside_in,
)
from sfumato.formats.hierarchies import read_hierarchy, usable_table
from sfumato.ui.look.wording import number, spoken
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import FieldGrid, fit_rows, number_field, states
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, button, column, label, row
from sfumato.ui.widgets.sheets import SheetView
from sfumato.ui.widgets.tables import CellsModel, Heading


class HierarchicalSettings(SettingsEditor):
    """States each value's chapter, and how many replacements stay inside.

    Chapters come from the first letters of values or from a level of a hierarchy, the column's or
    a file's; both lists are typed into as spreadsheets.
    """

    engine = MECHANISM

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._read: tuple[str, Recipe] | None = None
        self.letters = NumberField(1, 100, decimals=0, step=1.0, show_range=False)
        self.level = ChoiceField(chosen=self._by_level)
        self.from_file = button(tr("From a hierarchy file…"), self._read_file, "quiet")
        self.inside = number_field(
            INSIDE, lambda name, x: self.try_settings({**self._in_force, name: x})
        )
        self.chapters = CellsModel(
            (Heading(tr("Chapter"), editable=True), Heading(tr("Values"))), self
        )
        self.values = CellsModel(
            (Heading(tr("Value")), Heading(tr("Chapter"), editable=True)), self
        )
        self.chapter_sheet = _sheet(self.chapters, tr("Chapters and their values"), self)
        self.value_sheet = _sheet(self.values, spoken(CHAPTERS.title), self)
        states(self.value_sheet, CHAPTERS)
        states(self.level, LEVEL)
        self.setLayout(column(self._build()))
        self.letters.value_changed.connect(self._by_letters)
        self.chapters.written.connect(self._rename)
        self.values.written.connect(self._write)
        self.value_sheet.pasted.connect(self._paste)

    def _build(self) -> Card:
        form = FieldGrid()
        form.add_field(tr("Chapters by so many first letters of values"), self.letters)
        words = tr("A file has a line for each value: the value, then its labels at each level.")
        form.add_setting(LEVEL, self.level, words)
        share = FieldGrid()
        share.add_setting(INSIDE, self.inside)
        typed = tr(
            "Type into a chapter to rename it, or to join it to another by that one's name; type"
            " into the lower list to move single values. Several selected cells are filled at once."
        )
        card = Card(tr("Which values are replaced by which first"), parent=self)
        card.put(
            form,
            row(None, self.from_file),
            share,
            self.problem,
            self.outcome,
            label(typed, "muted", wrap=True),
            self.chapter_sheet,
            self.value_sheet,
        )
        return card

    # ----- what is shown

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's chapters."""
        name = attributes[0].name
        if self._read is not None and self._read[0] != name:
            self._read = None
        recipe = (
            self.session.document.hierarchies.get(name) if self._read is None else self._read[1]
        )
        self._attributes = (replace(attributes[0], hierarchy=recipe),)
        self._in_force = settings
        self.problem.clear()
        stated = list(settings.get("chapters", ()))
        try:
            names = MECHANISM.domain_of(attributes).names
            self._show_levels(stated)
            self.inside.set_value(100 * inside_in(settings))
            found = MECHANISM.chapters(attributes, settings)
        except SfumatoError as error:
            self.show_nothing(error)
            self.chapters.lay_out(0)
            self.values.lay_out(0)
            return
        pairs = list(zip(names, stated, strict=True))
        self.values.show_cells(len(pairs), lambda row, column: pairs[row][column])
        members: dict[str, list[str]] = {}
        for value, chapter in zip(names, stated, strict=True):
            members.setdefault(chapter, []).append(value)
        lines = [
            (chapter, f"{number(len(values))}: {', '.join(values)}")
            for chapter, values in members.items()
        ]
        self.chapters.show_cells(len(lines), lambda row, column: lines[row][column])
        words = tr(
            "{chapters} chapters of {least} to {most} {most:value|values}.",
            chapters=number(len(members)),
            least=number(min(map(found.count, found))),
            most=number(max(map(found.count, found))),
        )
        self.outcome.setText(words)

    def _show_levels(self, stated: list[str]) -> None:
        """Offer the hierarchy's levels, and choose the one that the chapters come from."""
        try:
            levels = [list(level) for level in MECHANISM.classes(self._attributes)]
        except SfumatoError as error:
            self.refuse(error)
            levels = []
        choices = [(0, tr("None") if levels else tr("There is no hierarchy"))]
        for at, level in enumerate(levels, start=1):
            words = tr(
                "Level {level}: {classes} {classes:chapter|chapters}",
                level=number(at),
                classes=number(len(set(level))),
            )
            choices.append((at, words))
        self.level.set_choices(choices)
        self.level.setEnabled(bool(levels))
        self.level.set_value(levels.index(stated) + 1 if stated in levels else 0)

    # ----- what the person does

    def _by_letters(self, letters: float) -> None:
        names = MECHANISM.domain_of(self._attributes).names
        self._state_chapters(chapters_by(names, int(letters)))

    def _by_level(self, level: object) -> None:
        if level:
            self._state_chapters(list(MECHANISM.classes(self._attributes)[int(str(level)) - 1]))

    def _read_file(self) -> None:
        path = self.session.chooser.open_file(
            tr("Read chapters from a hierarchy"), tr("Tables of text (*.csv *.tsv *.txt)")
        )
        if path is None:
            return
        name = self._attributes[0].name
        try:
            values = MECHANISM.domain_of(self._attributes).values
            recipe = usable_table(read_hierarchy(path).rows, values, name)
            recipe.classes(name, values)
        except SfumatoError as error:
            self.refuse(error)
            return
        self._read = (name, recipe)
        self.show_settings(self._attributes, self._in_force)
        self._by_level(1)

    def _rename(self, written: Mapping[tuple[int, int], str]) -> None:
        new = {self.chapters.cell(at, 0).text: text.strip() for (at, _), text in written.items()}
        self._state_chapters([new.get(each, each) for each in self._in_force["chapters"]])

    def _write(self, written: Mapping[tuple[int, int], str]) -> None:
        chapters = list(self._in_force["chapters"])
        for (at, _), text in written.items():
            chapters[at] = text.strip()
        self._state_chapters(chapters)

    def _paste(self, text: str) -> None:
        first = max(0, self.value_sheet.currentIndex().row())
        lines = text.splitlines()[: self.values.rowCount() - first]
        cells = [line.split("\t")[-1] for line in lines]
        self._write({(first + at, 1): cell for at, cell in enumerate(cells)})

    def _state_chapters(self, chapters: list[str]) -> None:
        if chapters == self._in_force.get("chapters"):
            return
        if all(chapters):
            self.try_settings({**self._in_force, "chapters": chapters})
        else:
            self.problem.say("danger", tr("A chapter has no name. Give every value a chapter."))


def _sheet(model: CellsModel, name: str, parent: QWidget) -> SheetView:
    sheet = SheetView(model, row_numbers=False, parent=parent, name=name)
    fit_rows(sheet)
    sheet.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
    return sheet


class HierarchicalEditor(LevelEditor):
    """States the level of a ladder in chapters."""

    mechanism: ClassVar[str] = "hierarchical"
    plain_name = QT_TRANSLATE_NOOP("Policy", "Replace by related values")
    effect = effects.values_alike
    settings_editor = HierarchicalSettings


EDITOR = HierarchicalEditor
