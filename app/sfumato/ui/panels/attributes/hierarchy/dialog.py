"""The hierarchy editor: a builder, what comes of it while it changes, and what has to be mended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QDialogButtonBox, QHeaderView, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.hierarchies import (
    RECIPES,
    HierarchyProblem,
    HierarchyProposal,
    Mend,
    ProblemKind,
    Recipe,
    Rows,
    Suppression,
    Taxonomy,
    mended,
    propose_hierarchy,
    sentence,
)
from sfumato.formats.hierarchies import (
    SUFFIX,
    HierarchyText,
    parse_hierarchy,
    read_hierarchy,
    write_hierarchy,
)
from sfumato.formats.language import grouped
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in, quoted, spoken
from sfumato.ui.panels.attributes.hierarchy.forms import Builder, tr
from sfumato.ui.panels.attributes.hierarchy.preview import (
    Draft,
    DraftOutcome,
    Ground,
    HierarchyPreview,
    as_draft,
    ground_of,
    outcome_of,
    relabelled,
    renamed,
)
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import WrappedCheckBox
from sfumato.ui.widgets.layout import Badge, ScrollPage, button, clear_layout, column, row
from sfumato.ui.widgets.messages import Message, MessageKind
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

GROUND_KEY: Final = "hierarchy-ground"
DRAFT_KEY: Final = "hierarchy-draft"
LEFT: Final = 356
TOPIC: Final = "hierarchy"


_SHOWN = 4


def mend_name(mend: Mend, problem: HierarchyProblem) -> str:
    """Return what a button that mends a problem says."""
    row_first = problem.kind in (ProblemKind.REPEATED, ProblemKind.CONFLICT)
    return {
        Mend.DROP_ROW: tr("Keep the first row") if row_first else tr("Remove the row"),
        Mend.FILL_ROW: tr("Fill the row up"),
        Mend.CUT_ROW: tr("Shorten the row"),
        Mend.LABEL_FROM_ABOVE: tr("Take the label above"),
        Mend.RESPELL: tr("Spell it as in the table"),
        Mend.ADD_HIDDEN: tr("Add it, hidden as *"),
        Mend.ADD_OWN: tr("Add it as a class of its own"),
        Mend.USE_FREQUENT_PARENT: tr("Use “{label}” for all").replace("{label}", problem.other),
        Mend.SPLIT_CLASS: tr("Make two classes"),
        Mend.ADD_TOP: tr("Add * above"),
    }[mend]


def problem_text(problem: HierarchyProblem) -> str:
    """Return what is wrong, with the value it is about: only the custodian sees it."""
    said = spoken(sentence(problem))
    if not problem.text or problem.kind is ProblemKind.NO_TOP:
        return said
    other = f" – {quoted(problem.other)}" if problem.kind is ProblemKind.SPELLING else ""
    return f"{quoted(problem.text)}{other}: {said}"


class ProblemsView(QWidget):
    """Shows what is wrong, and tells how the person wants it mended."""

    mend_wanted = Signal(list, object)
    """Problems, and the `Mend` for all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.model = CellsModel((Heading(),), self)
        self._problems: tuple[HierarchyProblem, ...] = ()
        self.badge = Badge("caution", "caution", "", look="")
        self.view = TableView(row_numbers=False, model=self.model, whole_rows=True)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.view.horizontalHeader().hide()
        self.view.setAccessibleName(self.tr("Problems of the table"))
        self.view.selectionModel().selectionChanged.connect(lambda *_: self._offer())
        self.all_alike = WrappedCheckBox()
        self._buttons = FlowLayout()
        self.setLayout(column(self.badge, self.view, self.all_alike, self._buttons))

    def show_problems(self, problems: tuple[HierarchyProblem, ...]) -> None:
        """Show other problems, those that keep the table from being used first."""
        blocking = sum(problem.blocks for problem in problems)
        notes = len(problems) - blocking
        self.setVisible(bool(problems))
        place = max(self.view.currentIndex().row(), 0)
        self._problems = tuple(sorted(problems, key=lambda p: not p.blocks))
        self.model.show_cells(len(problems), self._cell)
        if not problems:
            return
        words = self.tr("{count} {count:problem|problems} to correct").format(
            count=grouped(blocking)
        )
        if blocking == 1:
            words = self.tr("One problem to correct")
        if not blocking:
            words = self.tr("{count} {count:remark|remarks}; the table can be used").format(
                count=grouped(notes)
            )
        self.badge.show_state(*(("caution", "caution") if blocking else ("info", "muted")), words)
        self.view.setFixedHeight(Space.FIELD * min(max(len(problems), 2), _SHOWN) + 4)
        self.view.selectRow(min(place, len(problems) - 1))
        self._offer()

    def _cell(self, row: int, _column: int) -> Cell:
        text = problem_text(self._problems[row])
        return Cell(text, text)

    @property
    def chosen(self) -> HierarchyProblem | None:
        """The problem that is chosen."""
        place = self.view.currentIndex().row()
        return self._problems[place] if 0 <= place < len(self._problems) else None

    def alike(self) -> list[HierarchyProblem]:
        """Return the chosen problem, with all others that can be mended in the same ways."""
        chosen = self.chosen
        if chosen is None:
            return []
        return [p for p in self._problems if (p.kind, p.mends) == (chosen.kind, chosen.mends)]

    def _offer(self) -> None:
        """Offer the ways to mend the chosen problem."""
        clear_layout(self._buttons)
        chosen, alike = self.chosen, self.alike()
        self.all_alike.setVisible(len(alike) > 1)
        self.all_alike.setText(
            self.tr("Correct all {count} of this kind").format(count=grouped(len(alike)))
        )
        for mend in chosen.mends if chosen is not None else ():
            assert chosen is not None
            made = button(mend_name(mend, chosen), partial(self._mend, mend))
            made.setAutoDefault(False)
            self._buttons.addWidget(made)
            made.show()

    def _mend(self, mend: Mend) -> None:
        chosen = self.chosen
        if chosen is not None:
            every = self.all_alike.isChecked() and self.all_alike.isVisibleTo(self)
            self.mend_wanted.emit(self.alike() if every else [chosen], mend)


class HierarchyDialog(Dialog):
    """Edits the hierarchy of one column.

    Parameters
    ----------
    session
        What is open; its table has the column.
    name
        The column.
    """

    decided = Signal(str, object)
    """The column, and the recipe that the person wants to keep."""

    def __init__(self, session: Session, name: str, parent: QWidget | None = None) -> None:
        words = tr(
            "How its values become coarser, level by level. Every class lies within one class"
            " of the next level; the last level usually is one class, *."
        )
        super().__init__(filled_in(tr("Hierarchy of {column}"), column=name), words, parent)
        self.session, self.name = session, name
        self._ground: Ground | None = None
        self._draft: Draft | None = None
        self._outcome = DraftOutcome()
        self.resize(scaled(1040), scaled(700))
        self.builder = Builder()
        self.preview = HierarchyPreview()
        self.problems = ProblemsView()
        self.problems.hide()
        self._lay_out()
        self._add_buttons()
        self._connect()
        self._load()

    # ----- assembly

    def _lay_out(self) -> None:
        scroll = ScrollPage()
        scroll.put(self.builder, None)
        scroll.setFixedWidth(scaled(LEFT))
        right = column(self.problems, (self.preview, 1))
        whole = row(scroll, (right, 1), spacing=Space.AROUND)
        self.body.addLayout(whole, 1)

    def _add_buttons(self) -> None:
        role = QDialogButtonBox.ButtonRole.ResetRole
        words = self.tr("Read a table: value;level 1;…;*")
        self.import_button = self.add_button(self.tr("Import…"), self._import, role, words)
        words = self.tr("Take a table from the clipboard, copied from a spreadsheet")
        self.paste_button = self.add_button(self.tr("Paste"), self._paste, role, words)
        words = self.tr("Write the hierarchy as a table, for other tools and for later")
        self.export_button = self.add_button(self.tr("Export…"), self._export, role, words)
        self.add_cancel()
        self.keep = self.add_primary(self.tr("Use this hierarchy"))
        self.keep.setEnabled(False)

    def _connect(self) -> None:
        self.builder.kind.chosen.connect(self._switch)
        self.builder.changed.connect(self._read_form)
        self.builder.propose.clicked.connect(self._propose)
        self.problems.mend_wanted.connect(self._mend)
        self.preview.tree_model.name_given.connect(self._rename)
        self.preview.rows_model.written.connect(self._relabel)

    # ----- the column

    def _load(self) -> None:
        session = self.session
        table, spec = session.survey, session.document.column(self.name)
        if table is None:
            return
        recipe = session.document.hierarchies.get(self.name)

        def work(context: Context) -> tuple[Ground, HierarchyProposal | None]:
            context.report(0.0, "Counting values")
            series = table.column(self.name)
            ground = ground_of(spec, series)
            return ground, None if recipe is not None else propose_hierarchy(spec, series)

        def begin(found: tuple[Ground, HierarchyProposal | None]) -> None:
            self._ground, proposal = found
            if recipe is not None:
                self._take(as_draft(recipe))
            elif proposal is not None:
                self._take_proposal(proposal)

        self._run(filled_in(self.tr("Reading {column}"), column=self.name), work, begin, GROUND_KEY)

    def _run(self, title: str, work: object, done: object, key: str) -> None:
        self.session.runner.run(title, work, done, self._refuse, key=(key, self.name))  # type: ignore[arg-type]

    def _refuse(self, error: SfumatoError) -> None:
        self.messages.show_message(Message.of_error(error, topic=TOPIC))

    def done(self, result: int) -> None:
        """Close, and stop what is still being computed."""
        for key in (GROUND_KEY, DRAFT_KEY):
            self.session.runner.cancel((key, self.name))
        super().done(result)

    def accept(self) -> None:
        """Keep the hierarchy."""
        if self._outcome.recipe is not None:
            self.decided.emit(self.name, self._outcome.recipe)
            super().accept()

    # ----- the draft

    def _take(self, draft: Draft) -> None:
        """Show a draft's settings, and what comes of it."""
        ground = self._ground
        if ground is None:
            return
        self.messages.clear(TOPIC)
        self.builder.show_recipe(draft if isinstance(draft, Recipe) else None, ground)
        self._compute(draft)

    def _compute(self, draft: Draft) -> None:
        self._draft = draft
        ground = self._ground
        if ground is None:
            return
        self.keep.setEnabled(False)
        words = self.tr("Building the hierarchy")
        self._run(words, lambda _context: outcome_of(ground, draft), self._show, DRAFT_KEY)

    def _show(self, outcome: DraftOutcome) -> None:
        self._outcome = outcome
        self.preview.show_outcome(outcome)
        self.problems.show_problems(outcome.problems)
        self.keep.setEnabled(outcome.recipe is not None)
        self.export_button.setEnabled(bool(outcome.rows))
        self.messages.clear(TOPIC)
        blocked = any(problem.blocks for problem in outcome.problems)
        if outcome.error is not None and not blocked:
            self._refuse(outcome.error)

    def _read_form(self) -> None:
        """Take the settings as they stand; say what is wrong with them."""
        names = self._draft.renames if isinstance(self._draft, Recipe) else ()
        try:
            recipe = self.builder.recipe()
        except SfumatoError as error:
            self.keep.setEnabled(False)
            self.session.runner.cancel((DRAFT_KEY, self.name))
            self._refuse(error)
            return
        self._compute(replace(recipe, renames=names))

    def _switch(self, kind: object) -> None:
        """Begin with another kind: a table with what is there, others as they usually are."""
        if kind == Taxonomy.kind:
            rows = self._outcome.rows
            width = len(rows[0]) if rows else 0
            ground = self._ground
            plain = Suppression().build(self.name, ground.values) if ground is not None else None
            if width < 2 and plain is not None:
                rows = tuple(((row or ""), "*") for row in plain.labels[0])
            self._take(rows)
            self.preview.show_table()
            return
        made = RECIPES[str(kind)]()
        self._take(made)

    def _propose(self, _checked: bool = False) -> None:
        session, name = self.session, self.name
        table, spec = session.survey, session.document.column(name)
        if table is not None:
            self._run(
                self.tr("Looking at the values"),
                lambda _context: propose_hierarchy(spec, table.column(name)),
                self._take_proposal,
                GROUND_KEY,
            )

    def _take_proposal(self, proposal: HierarchyProposal) -> None:
        self._take(proposal.recipe)
        self.builder.show_reason(spoken(proposal.reason))

    def _mend(self, problems: list[HierarchyProblem], mend: object) -> None:
        draft = self._draft
        if isinstance(mend, Mend) and draft is not None and not isinstance(draft, Recipe):
            words = self.tr("Correcting the table")
            self._run(words, lambda _context: mended(draft, problems, mend), self._take, GROUND_KEY)

    def _rename(self, level: int, shown: str, name: str) -> None:
        if self._draft is not None:
            self._compute(renamed(self._draft, level, shown, name))

    def _relabel(self, typed: Mapping[tuple[int, int], str]) -> None:
        """Change one cell of a table; of any other hierarchy, the name of the whole class."""
        [((line, level), text)] = typed.items()
        draft, text, before = self._draft, text.strip(), self._outcome.rows[line][level]
        if draft is None or text == before:
            return
        if not isinstance(draft, Recipe):
            self._compute(relabelled(draft, line, level, text))
        else:
            self._rename(level, before, text)

    # ----- tables from elsewhere

    def _import(self) -> None:
        path = self.session.chooser.open_file(self.tr("Import a hierarchy"), _filters())
        if path is not None:
            self.import_from(path)

    def import_from(self, path: Path) -> None:
        """Read a table from a file."""
        words = self.tr("Reading the hierarchy")
        self._run(words, lambda _context: read_hierarchy(path), self._take_text, GROUND_KEY)

    def _paste(self) -> None:
        text, source = QGuiApplication.clipboard().text(), self.tr("The clipboard")
        words = self.tr("Reading the hierarchy")
        self._run(
            words, lambda _context: parse_hierarchy(text, source), self._take_text, GROUND_KEY
        )

    def _take_text(self, read: HierarchyText) -> None:
        self._take(read.rows)
        self.preview.show_table()

    def _export(self) -> None:
        proposal = Path.home() / f"hierarchy_{self.name}{SUFFIX}"
        path = self.session.chooser.save_file(self.tr("Export the hierarchy"), _filters(), proposal)
        if path is None:
            return
        target = path if path.suffix else path.with_suffix(SUFFIX)
        rows: Rows = self._outcome.rows
        self._run(
            self.tr("Writing the hierarchy"),
            lambda _context: write_hierarchy(target, rows),
            partial(self._exported, target),
            DRAFT_KEY,
        )

    def _exported(self, target: Path, _result: object) -> None:
        words = self.tr("The hierarchy is written to {path}.").format(path=target)
        remedy = self.tr("It lists the column's values: give it only to whom may know them.")
        self.messages.show_message(Message(MessageKind.GOOD, words, remedy, topic=TOPIC))


def _filters() -> str:
    return tr("Tables (*.csv *.txt *.tsv);;All files (*)")
