"""What is asked of a generalized table: columns, criteria, and what may be left out."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.generalization.criteria import Suppressed
from sfumato.project.document.generalization import CRITERION_KINDS, CriterionChoice, Generalization
from sfumato.project.document.model import Document
from sfumato.project.publication.prepared import decided_in
from sfumato.project.release.uniqueness import (
    exact_sentence,
    publication_advice,
    published_as_they_are,
)
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import number, spoken
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import (
    Card,
    button,
    column,
    label,
    refill,
    row,
    say,
    tool,
)
from sfumato.ui.widgets.sheets import TickGrid

COLUMNS = 2
"""Check boxes of quasi-identifiers side by side."""


def range_of(kind: str, parameter: str, rows: int, values: int) -> tuple[float, float, int]:
    """Return the ends of a criterion's parameter in such a table, and how many decimals it has."""
    if parameter in CRITERION_KINDS[kind].whole:
        return 1, max(rows if parameter == "k" else values, 1), 0
    if parameter == "t":
        return 0.0, 1.0, 3
    if parameter == "x":
        return 0.1, 100.0, 1
    if parameter == "c":
        return 0.01, 1000.0, 2
    return 1.0, max(float(values), 1.0), 2


GLOSSES = {
    "k-anonymity": QT_TRANSLATE_NOOP("Policy", "every class has at least k records"),
    "distinct-diversity": QT_TRANSLATE_NOOP(
        "Policy", "at least l different sensitive values remain possible"
    ),
    "entropy-diversity": QT_TRANSLATE_NOOP(
        "Policy", "every class is as diverse as l equally frequent values"
    ),
    "recursive-diversity": QT_TRANSLATE_NOOP(
        "Policy", "the most frequent value stays below c times the l-th and rarer ones combined"
    ),
    "closeness": QT_TRANSLATE_NOOP("Policy", "every class is within t of the whole table"),
    "ordered-closeness": QT_TRANSLATE_NOOP(
        "Policy", "the same, with neighbouring values counted as close"
    ),
    "belief": QT_TRANSLATE_NOOP(
        "Policy", "nobody's value becomes likelier than x %, whoever knows how tables go together"
    ),
    "independent-belief": QT_TRANSLATE_NOOP(
        "Policy", "the same for whoever takes several tables to be independent given the value"
    ),
}
"""What each criterion requires, in a few words."""


class CriterionRow(QWidget):
    """One criterion with its numbers."""

    def __init__(
        self, session: Session, place: int, choice: CriterionChoice, limits: tuple[int, int]
    ) -> None:
        super().__init__()
        self._session, self._place, self._choice = session, place, choice
        kinds = [(kind.name, spoken(kind.title)) for kind in CRITERION_KINDS.values()]
        self.kind = ChoiceField(kinds, self)
        self.kind.set_value(choice.kind)
        self.kind.setAccessibleName(tr("Criterion {number}", number=place + 1))
        self.kind.setMinimumWidth(scaled(180))
        self.kind.chosen.connect(self._change_kind)
        self.fields: dict[str, NumberField] = {}
        numbers = [
            part
            for name, number in choice.numbers.items()
            for part in (label(name, "muted"), self._field(name, number, limits))
        ]
        self.remove = tool("remove", tr("Remove this criterion"), self._remove)
        self.remove.setAccessibleName(tr("Remove criterion {number}", number=place + 1))
        head = row((self.kind, 1), *numbers, self.remove)
        gloss = label(self._gloss(limits), "small", wrap=True)
        self.setLayout(column(head, gloss, spacing=2))

    def _field(self, name: str, number: float, limits: tuple[int, int]) -> NumberField:
        low, high, decimals = range_of(self._choice.kind, name, *limits)
        step = 1.0 if decimals == 0 or name == "x" else 0.1 if high > 1 else 0.05
        low, high = min(low, number), max(high, number)
        field = NumberField(low, high, decimals=decimals, step=step, show_range=False)
        field.spin.setFixedWidth(scaled(84))
        field.spin.setAccessibleName(name)
        field.set_value(number)
        field.value_changed.connect(partial(self._change_number, name))
        self.fields[name] = field
        return field

    def _gloss(self, limits: tuple[int, int]) -> str:
        ranges = []
        for name in self._choice.numbers:
            low, high, _decimals = range_of(self._choice.kind, name, *limits)
            ends = {"low": number(low), "high": number(high)}
            ranges.append(tr("{name} from {low} to {high}", name=name, **ends))
        return f"{tr(str(GLOSSES[self._choice.kind]))} · {', '.join(ranges)}"

    def _change_kind(self, kind: object) -> None:
        self._put(edits.fresh_criterion(str(kind)), None)

    def _change_number(self, name: str, value: float) -> None:
        numbers = {**self._choice.numbers, name: value}
        if name in CRITERION_KINDS[self._choice.kind].whole:
            numbers[name] = int(value)
        self._put(replace(self._choice, numbers=numbers), ("criterion", self._place, name))

    def _put(self, choice: CriterionChoice, merge_key: tuple[object, ...] | None) -> None:
        self._session.edit(
            tr("Require {criterion}", criterion=spoken(choice.text)),
            edits.with_criterion(self._session.document, self._place, choice),
            merge_key=merge_key,
        )

    def _remove(self) -> None:
        self._session.edit(
            tr("Drop {criterion}", criterion=spoken(self._choice.text)),
            edits.without_criterion(self._session.document, self._place),
        )


class RequirementsCard(Card):
    """The sensitive attribute, the columns to generalize, the criteria, the suppression."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(tr("Requirements"), parent=parent)
        self._session = session
        self._shown: tuple[object, ...] = ()
        self.sensitive = ChoiceField(parent=self)
        self.sensitive.setAccessibleName(tr("Sensitive attribute"))
        self.sensitive.chosen.connect(self._choose_sensitive)
        caption = label(tr("&Sensitive attribute, shown unchanged"), "caption")
        caption.setBuddy(self.sensitive)
        self.put(caption, self.sensitive, label(tr("Columns to generalize"), "caption"))
        self._columns = TickGrid(COLUMNS, none=False, parent=self)
        self._columns.chosen.connect(self._tick)
        self.boxes = self._columns.boxes
        self.put(self._columns)
        self.lacking = label("", "caution", wrap=True)
        self.put(self.lacking, label(tr("Required of every equivalence class"), "caption"))
        self._rows = QVBoxLayout()
        self._rows.setSpacing(Space.INSIDE)
        self.body.addLayout(self._rows)
        self.criteria: list[CriterionRow] = []
        self.add = button(tr("Add a criterion"), self._add, "quiet", "add")
        self.body.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        self._build_suppression()
        self.body.addStretch(1)

    def _build_suppression(self) -> None:
        self.body.addWidget(label(tr("Outlying records"), "caption"))
        self.suppression = NumberField(0.0, 99.0, decimals=2, unit="%", step=0.5)
        self.suppression.spin.setAccessibleName(tr("Share of records that may be left out"))
        self.suppression.value_changed.connect(self._change_suppression)
        self.body.addLayout(row(label(tr("At most"), "muted"), self.suppression, None))
        self.suppressed = Segments(
            [
                (Suppressed.DROPPED, tr("are left out")),
                (Suppressed.STARRED, tr("stay, showing only *")),
            ],
            self,
        )
        self.suppressed.setAccessibleName(tr("What happens to outlying records"))
        self.suppressed.chosen.connect(self._change_suppressed)
        self.body.addWidget(self.suppressed, 0, Qt.AlignmentFlag.AlignLeft)

    # ----- what is shown

    def show_document(self, document: Document, limits: tuple[int, int]) -> None:
        """Show what is decided, in a table of so many rows and sensitive values."""
        decided = document.generalization
        if decided is None:
            return
        self.sensitive.set_choices([(c.name, c.name) for c in document.sensitive])
        self.sensitive.set_value(decided.sensitive)
        self.suppression.set_value(100 * decided.suppression)
        self.suppressed.set_value(decided.suppressed)
        self._show_columns(document, decided)
        shape = (tuple((c.kind, tuple(c.numbers)) for c in decided.criteria), limits)
        if shape != self._shown:
            self._shown = shape
            self._rebuild(decided, limits)
        for line, choice in zip(self.criteria, decided.criteria, strict=True):
            line._choice = choice
            for name, value in choice.numbers.items():
                line.fields[name].set_value(value)

    def _show_columns(self, document: Document, decided: Generalization) -> None:
        known = edits.usable(document)
        names = (*known, *(n for n in decided.quasi_identifiers if n not in known))
        self._columns.show_names(names, decided.quasi_identifiers)
        bare = published_as_they_are(document)
        told = (exact_sentence(bare), publication_advice(bare))
        say(self.lacking, " ".join(spoken(text) for text in told) if bare else "")

    def _rebuild(self, decided: Generalization, limits: tuple[int, int]) -> None:
        self.criteria = [
            CriterionRow(self._session, place, choice, limits)
            for place, choice in enumerate(decided.criteria)
        ]
        refill(self._rows, self.criteria)
        for line in self.criteria:
            line.remove.setEnabled(len(self.criteria) > 1)

    # ----- what the person does

    def _choose_sensitive(self, name: object) -> None:
        document = edits.changed(self._session.document, sensitive=str(name))
        self._session.edit(tr("Show the true values of {name}", name=name), document)

    def _tick(self, names: tuple[str, ...]) -> None:
        document = self._session.document
        before = decided_in(document).quasi_identifiers
        changed = sorted({*names} ^ {*before})
        if not names:
            self._columns.show_names(tuple(self.boxes), before)  # one has to be there
            return
        text = tr("Generalize all columns")
        if len(changed) == 1:
            more = tr("Generalize {name}", name=changed[0])
            less = tr("Stop generalizing {name}", name=changed[0])
            text = more if changed[0] in names else less
        self._session.edit(text, edits.with_quasi_identifiers(document, names))

    def _add(self) -> None:
        document = self._session.document
        decided = document.generalization
        asked = {choice.kind for choice in decided.criteria} if decided is not None else set()
        kind = next((name for name in CRITERION_KINDS if name not in asked), "k-anonymity")
        choice = edits.fresh_criterion(kind)
        place = len(decided.criteria) if decided is not None else 0
        self._session.edit(
            tr("Require {criterion}", criterion=spoken(choice.text)),
            edits.with_criterion(document, place, choice),
        )

    def _change_suppression(self, percent: float) -> None:
        self._session.edit(
            tr("Change how many records may be left out"),
            edits.changed(self._session.document, suppression=percent / 100),
            merge_key=("suppression",),
        )

    def _change_suppressed(self, what: object) -> None:
        self._session.edit(
            tr("Change what happens to outlying records"),
            edits.changed(self._session.document, suppressed=Suppressed(str(what))),
        )
