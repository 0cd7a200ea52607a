"""The editor of hierarchical retention: recipients' levels, and the chapters of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from PySide6.QtWidgets import QHeaderView, QLineEdit, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.hierarchical.mechanism import (
    MECHANISM,
    MOST_INSIDE,
    chapters_by,
    inside_in,
)
from sfumato.ui.look.theme import scaled
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.mechanisms.base import (
    Attributes,
    LevelEditor,
    Preset,
    SettingsEditor,
    error_words,
)
from sfumato.ui.panels.policy.mechanisms.controls import Form, Notice
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import NumberField
from sfumato.ui.widgets.layout import Card, column, label
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

FIELD: Final = 260
TALLEST: Final = 220
"""The height of the list of values, in pixels; longer ones scroll."""


class HierarchicalSettings(SettingsEditor):
    """States each value's chapter, and how many replacements stay inside."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._attributes: Attributes = ()
        self.letters = NumberField(1, 100, decimals=0, step=1.0, show_range=False)
        self.chapters = QLineEdit()
        self.chapters.setMinimumWidth(scaled(FIELD))
        self.inside = NumberField(0.0, 100 * MOST_INSIDE, decimals=1, unit="%", step=5.0)
        self.values = ChaptersModel(self)
        self.list = TableView(self)
        self.list.setModel(self.values)
        self.list.setMaximumHeight(scaled(TALLEST))
        header = self.list.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.list.setAccessibleName(tr("Each value's chapter"))
        self.outcome = label("", wrap=True)
        self.problem = Notice(parent=self)
        form = Form()
        form.add_field(tr("Chapters by so many first letters of values"), self.letters)
        form.add_field(
            tr("Chapters in the order of the domain"),
            self.chapters,
            gloss=label(
                tr("Parted by semicolons; values with the same text are of one chapter."),
                "muted",
                wrap=True,
            ),
        )
        form.add_field(
            tr("Share of the replacements that stay in the chapter"),
            self.inside,
            gloss=label(
                tr(
                    "The more stay, the more often chapters are right, and the more a release"
                    " tells about them at one retention probability."
                ),
                "muted",
                wrap=True,
            ),
        )
        card = Card(tr("Which values are replaced by which first"), parent=self)
        card.body.addLayout(form)
        card.body.addWidget(self.problem)
        card.body.addWidget(self.outcome)
        card.body.addWidget(self.list)
        self.setLayout(column(card))
        self.letters.value_changed.connect(self._by_letters)
        self.chapters.editingFinished.connect(self._state_chapters)
        self.inside.value_changed.connect(
            lambda share: self._try({**self._in_force, "inside_share": round(share / 100, 6)})
        )

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's chapters."""
        self._attributes, self._in_force = tuple(attributes), settings
        try:
            found = MECHANISM.chapters(attributes, settings)
            names = MECHANISM.domain_of(attributes).names
            self.inside.set_value(100 * inside_in(settings))
        except SfumatoError as error:
            self.problem.say("danger", error_words(error))
            self.values.show_values((), ())
            return
        self.problem.clear()
        stated = list(settings["chapters"])
        self.chapters.setText("; ".join(stated))
        self.values.show_values(names, stated)
        self.outcome.setText(
            tr(
                "{chapters} chapters of {least} to {most} {most:value|values}.",
                chapters=number(len(set(found))),
                least=number(min(map(found.count, found))),
                most=number(max(map(found.count, found))),
            )
        )

    def _by_letters(self, letters: float) -> None:
        names = MECHANISM.domain_of(self._attributes).names
        self._try({**self._in_force, "chapters": chapters_by(names, int(letters))})

    def _state_chapters(self) -> None:
        chapters = [text.strip() for text in self.chapters.text().split(";")]
        if chapters != list(self._in_force.get("chapters", ())):
            self._try({**self._in_force, "chapters": chapters})

    def _try(self, settings: Settings) -> None:
        try:
            MECHANISM.check_settings(self._attributes, settings)
        except SfumatoError as error:
            self.problem.say("danger", error_words(error))
            return
        self.state(settings)


class ChaptersModel(CellsModel):
    """Each value with its chapter."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((Heading(tr("Value")), Heading(tr("Chapter"))), parent)
        self._shown: tuple[tuple[str, str], ...] = ()

    def show_values(self, names: Sequence[str], chapters: Sequence[str]) -> None:
        """Show values with their chapters, both of one length."""
        self._shown = tuple(zip(names, chapters, strict=True))
        self.lay_out(len(self._shown))

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        return Cell(self._shown[row][column])


class HierarchicalEditor(LevelEditor):
    """States the level of a ladder in chapters."""

    mechanism: ClassVar[str] = "hierarchical"
    settings_editor = HierarchicalSettings

    @classmethod
    def presets(cls) -> tuple[Preset, ...]:
        """Return three levels in plain words, most trusted first."""
        return (
            Preset(tr("Trusted partner"), {"rho1": 0.1, "rho2": 0.75}),
            Preset(tr("Contract recipient"), {"rho1": 0.1, "rho2": 0.5}),
            Preset(tr("Public"), {"rho1": 0.1, "rho2": 0.25}),
        )


EDITOR = HierarchicalEditor
