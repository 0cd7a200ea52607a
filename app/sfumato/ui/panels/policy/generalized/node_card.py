"""One combination of levels: its groups, its marks, and what can be done with it."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.engine.generalization.lattice import Node
from sfumato.project.publication.generalization_pipeline import Searched
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.generalized import edits
from sfumato.ui.panels.policy.generalized.wording import labels_text, node_text, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Badge, Card, button, label


class NodeCard(Card):
    """The combination that is looked at.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session = session
        self._node: Node | None = None
        self.body.setContentsMargins(Space.BETWEEN, Space.INSIDE, Space.BETWEEN, Space.INSIDE)
        self.title = label("", "strong", wrap=True)
        self.groups = label("", "small", wrap=True)
        self.badge = Badge("good", "good", "")
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self.title)
        texts.addWidget(self.groups)
        line = QHBoxLayout()
        line.setSpacing(Space.BETWEEN)
        line.addLayout(texts, 1)
        line.addWidget(self.badge)
        self.pin = button(tr("Pin"), self._pin, tip=tr("Keep it for comparison"))
        self.choose = button(tr("Choose"), self._choose, tip=tr("Publish with these levels"))
        line.addWidget(self.pin)
        line.addWidget(self.choose)
        self.body.addLayout(line)

    def show_node(self, searched: Searched, node: Node, chosen: Node | None) -> None:
        """Show a node, and whether it is the chosen one."""
        self._node = node
        result = searched.result
        names = result.names
        self.title.setText(tr("Levels: {levels}", levels=node_text(names, node)))
        quasi = searched.prepared.coded.quasi_identifiers
        self.groups.setText(
            "   ".join(
                f"{each.name}: {labels_text(tuple(dict.fromkeys(each.labels[level])))}"
                for each, level in zip(quasi, node, strict=True)
            )
        )
        safe = result.is_safe(node)
        decided = self._session.document.generalization
        pinned = decided is not None and node in decided.pinned
        if node == chosen:
            self.badge.show_state("good", "good", tr("chosen"))
        elif safe:
            self.badge.show_state("check", "good", tr("safe"))
        else:
            self.badge.show_state("caution", "caution", tr("not safe"))
        self.pin.setText(tr("Unpin") if pinned else tr("Pin"))
        own = decided is not None and decided.node == node
        self.choose.setText(tr("Choose the best") if own else tr("Choose"))
        self.choose.setEnabled(own or (safe and node != chosen))

    def _pin(self) -> None:
        decided = self._session.document.generalization
        if self._node is None or decided is None:
            return
        add = self._node not in decided.pinned
        words = tr("Pin a candidate") if add else tr("Unpin a candidate")
        self._session.edit(words, edits.with_pin(self._session.document, self._node, add))

    def _choose(self) -> None:
        decided = self._session.document.generalization
        if self._node is None or decided is None:
            return
        node = None if decided.node == self._node else self._node
        words = tr("Choose levels") if node is not None else tr("Choose the best levels")
        self._session.edit(words, edits.with_node(self._session.document, node))
