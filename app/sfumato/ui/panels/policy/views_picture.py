"""The lattice of the quasi-identifiers' levels, with each recipient's node: to look and to move."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.coarsening.views import SeenBy, may_keep, views_in, with_levels
from sfumato.engine.core.errors import LatticeSizeError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.lattice import Node, NodeSet
from sfumato.formats.language import grouped
from sfumato.plots.axes import percent
from sfumato.project.document.model import Document, ViewRule
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.views import in_chain, quasi_identifiers
from sfumato.ui.look.theme import scaled
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.policy.generalized.lattice_drawing import Legend, Symbol, Token
from sfumato.ui.panels.policy.generalized.lattice_view import MOST_DRAWN, LatticeView, zoom_buttons
from sfumato.ui.panels.policy.generalized.node_list import SpecialNodes, node_text
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import button, column, label, row, say
from sfumato.ui.widgets.messages import error_words

LATTICE_JOB: Final = "views-lattice"
NODE_JOB: Final = "views-node"
HEIGHT: Final = 280
MOST_KEPT: Final = 8
"""So many lattices that were searched are kept."""
_NOTHING: Final = SpecialNodes(None, None, ())


Rows = Callable[[Context], BatchedTable]
"""Makes the rows that leave, in a job."""


@dataclass
class Nodes:
    """All nodes of a lattice, and which of them may keep what is stated for a recipient."""

    nodes: list[Node]
    place: dict[Node, int]
    safe: npt.NDArray[np.bool_]
    minimal: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, keeping: NodeSet) -> Nodes:
        """Return the nodes of a lattice, the last quasi-identifier changing fastest."""
        nodes = list(np.ndindex(*keeping.shape))
        place = {node: at for at, node in enumerate(nodes)}
        return cls(nodes, place, keeping.ravel(), np.zeros(len(nodes), dtype=np.bool_))


@dataclass(frozen=True)
class Looked:
    """What moving a recipient to a node comes to: who follows, and what all see then."""

    followed: tuple[str, ...]
    seen: tuple[SeenBy, ...]


def _look(document: Document, rows: Rows, recipient: str, node: Node, context: Context) -> Looked:
    levels = dict(zip(quasi_identifiers(document), node, strict=True))
    moved, followed = with_levels(document, recipient, levels)
    left = rows(Part(context, 0.0, 0.2))
    return Looked(followed, views_in(moved, left, Part(context, 0.2, 1.0)))


def _keeping(document: Document, rows: Rows, recipient: str, context: Context) -> NodeSet:
    left = rows(Part(context, 0.0, 0.2))
    return may_keep(document, left, recipient, Part(context, 0.2, 1.0), MOST_DRAWN)


def node_of(document: Document, recipient: str) -> Node:
    """Return where a recipient stands in the lattice."""
    rule = document.recipient(recipient).view or ViewRule()
    return tuple(rule.levels.get(name, 0) for name in quasi_identifiers(document))


def numbered(document: Document) -> dict[str, int]:
    """Return the places of the recipients who have a view, by trust, from 1."""
    return {each.name: place for place, each in enumerate(in_chain(document), start=1)}


class ViewsPicture(QWidget):
    """A node for each combination of levels; a recipient is moved by mouse or keyboard.

    Parameters
    ----------
    session
        What is open.
    """

    moved = Signal(str, object)
    """The person wants a recipient, by name, at a node (`Node`)."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._document = session.document
        self._asked: tuple[object, ...] = ()
        self._searched: list[tuple[tuple[object, ...], NodeSet]] = []
        """What was found last, with what it was searched for: recipients are chosen in turn."""
        self._nodes: Nodes | None = None
        self._shape: tuple[int, ...] = ()
        self._known: dict[tuple[str, Node], Looked] = {}
        self._known_for: tuple[object, ...] = ()
        self.node: Node | None = None
        self.recipient = ChoiceField(parent=self, name=tr("Recipient to move"), least=120)
        self.recipient.chosen.connect(self.choose)
        self.lattice = LatticeView(self.describe, self)
        self.lattice.setAccessibleName(tr("Lattice of levels"))
        self.lattice.setFixedHeight(scaled(HEIGHT))
        self.lattice.selected.connect(self.look)
        self.lattice.token_chosen.connect(self._hold)
        self.lattice.asked.connect(self._move)
        self.told = label("", wrap=True)
        self.move_here = button(tr("Move here"), self._move, tip=tr("Move the recipient (Enter)"))
        self._zoom = zoom_buttons(self.lattice)
        self._legend = Legend(
            ((Symbol(safe=True), tr("may keep what is asked")), (Symbol(), tr("can't"))), self
        )
        self._head = label(tr("Move"), "small")
        self.setLayout(
            column(
                row(self._head, (self.recipient, 1), *self._zoom),
                self._legend,
                self.lattice,
                self.told,
                row(None, self.move_here),
            )
        )

    # ----- what is shown

    def refresh(self, basis: tuple[object, ...], rows: Rows) -> None:
        """Show the recipients' nodes in a document that has a hierarchy for all of them.

        Parameters
        ----------
        basis
            What figures depend on beside the recipients; they are kept while it stays the same.
        rows
            Makes the rows that leave.
        """
        # What is shown later, once it is found, is of this document: another may be open by then.
        document = self._document = self._session.document
        places = numbered(document)
        names = [each.name for each in document.recipients]
        said = [f"{places[name]}  {name}" if name in places else name for name in names]
        self.recipient.set_choices(list(zip(names, said, strict=True)))
        views = tuple((each.name, each.view) for each in document.recipients)
        known = (basis, views, document.importance)
        if known != self._known_for:
            self._known, self._known_for, self.node = {}, known, None
        self._basis, self._rows = basis, rows
        name = self.chosen
        self.recipient.setToolTip(name)
        rule = document.recipient(name).view or ViewRule()
        wanted = (*basis, rule.k, rule.suppression, rule.cells)
        kept = next((nodes for asked, nodes in self._searched if asked == wanted), None)
        if wanted != self._asked and kept is not None:
            self._asked = wanted
            self._session.runner.cancel(LATTICE_JOB)
            self._show_nodes(kept)
        elif wanted != self._asked:
            self._asked = wanted
            self._session.runner.run(
                tr("Searching the lattice of levels"),
                partial(_keeping, document, rows, name),
                partial(self._take, wanted),
                partial(self._refuse, wanted),
                key=LATTICE_JOB,
            )
        self._show()

    @property
    def chosen(self) -> str:
        """The recipient that would be moved."""
        return str(self.recipient.value)

    def _take(self, wanted: tuple[object, ...], keeping: NodeSet) -> None:
        kept = [each for each in self._searched if each[0][0] is wanted[0]]  # of this table
        self._searched = [*kept, (wanted, keeping)][-MOST_KEPT:]
        self._show_nodes(keeping)
        self._show()

    def _show_nodes(self, keeping: NodeSet) -> None:
        self._show_parts(True)
        self._nodes = Nodes.of(keeping)
        if keeping.shape != self._shape:
            self._shape = keeping.shape
            self.lattice.show_lattice(self._nodes)
        else:
            self.lattice.renew(self._nodes)

    def _show_parts(self, drawn: bool) -> None:
        """Show what belongs to the picture, or leave what is said in its place alone."""
        for widget in (self.lattice, self._legend, self._head, self.recipient, *self._zoom):
            widget.setVisible(drawn)
        if not drawn:
            self._nodes, self._shape = None, ()
            self.move_here.hide()

    def _refuse(self, wanted: tuple[object, ...], error: SfumatoError) -> None:
        if wanted != self._asked:
            return
        self._nodes, self._shape = None, ()
        self.told.setText(error_words(error))
        if isinstance(error, LatticeSizeError):
            self._show_parts(False)
            words = tr(
                "There are {count} combinations of levels, too many to draw each of them. Type"
                " levels in the table.",
                count=error.details["nodes"],
            )
            self.told.setText(words)

    def _show(self) -> None:
        if self._nodes is None:
            return
        document = self._document
        own = node_of(document, self.chosen)
        if self.node is None or self.node not in self._nodes.place:
            self.node = own
        places = numbered(document)
        tokens = [Token(name, str(at), node_of(document, name)) for name, at in places.items()]
        self.lattice.show_tokens(tokens, self.chosen)
        self.lattice.show_marks(_NOTHING, self.node)
        self.move_here.setVisible(self.node != own)
        say(self.told, self.describe(self.node))

    def describe(self, node: Node) -> str:
        """Return what is told of a node, and of who would have to follow the recipient there."""
        document = self._document
        names = quasi_identifiers(document)
        lines = [node_text(names, node)]
        places = numbered(document)
        here = [name for name in places if node_of(document, name) == node]
        if here:
            lines[0] += tr(" ({names})", names=", ".join(here))
        looked = self._known.get((self.chosen, node))
        if looked is None:
            return "\n".join([*lines, tr("Click to count what it comes to.")])
        lines += _figures(looked.seen, self.chosen)
        if looked.followed:
            names_said = ", ".join(looked.followed)
            lines.append(tr("{names} would follow, so that the chain holds.", names=names_said))
        return "\n".join(lines)

    # ----- what the person does

    def choose(self, name: object) -> None:
        """Choose the recipient that is moved, and look at where they stand."""
        self._hold(str(name))
        self.look(node_of(self._document, str(name)))

    def _hold(self, name: str) -> None:
        self.recipient.set_value(name)
        if self._nodes is not None:
            self.refresh(self._basis, self._rows)

    def look(self, node: Node) -> None:
        """Look at a node, and count what moving there comes to."""
        self.node = node
        self._show()
        name, asked = self.chosen, self._known_for
        if self._nodes is None or (name, node) in self._known:
            return

        def take(found: Looked) -> None:
            if asked == self._known_for:
                self._known[name, node] = found
                self._show()

        title = tr("Counting what a node comes to")
        work = partial(_look, self._document, self._rows, name, node)
        self._session.runner.run(
            title, work, take, partial(self._refuse, self._asked), key=NODE_JOB
        )

    def _move(self, node: Node | None = None) -> None:
        node = self.node if node is None else node
        if node is not None and node != node_of(self._document, self.chosen):
            self.moved.emit(self.chosen, node)


def _figures(seen: Sequence[SeenBy], name: str) -> list[str]:
    """Return what a move comes to for the recipient, and whose view would be refused."""
    own = next((each for each in seen if each.recipient == name), None)
    if own is None or own.view is None:
        return [typeset(each.problem) for each in seen[:1]]
    share = own.view.suppressed_rows / max(own.records, 1)
    if own.rule.cells:
        share = own.view.suppressed_cells / max(own.records * len(own.view.node), 1)
    told = tr(
        "Smallest class {smallest}, {unique} unique, {share} suppressed, loss {loss}",
        smallest=grouped(own.view.smallest),
        unique=grouped(own.unique or 0),
        share=percent(share, 1),
        loss=percent(own.view.loss, 1),
    )
    refused = [each.recipient for each in seen if each.problem and each is not own]
    others = tr("Releases for {names} would be refused.", names=", ".join(refused))
    return [told, *([typeset(own.problem)] if own.problem else []), *([others] if refused else [])]
