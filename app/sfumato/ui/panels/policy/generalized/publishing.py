"""What the chosen table promises, what it does not, and publishing it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from sfumato.engine.core.errors import LadderError, SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.checker import CheckedCriterion
from sfumato.engine.generalization.criteria import Closeness
from sfumato.engine.generalization.joint_criteria import LargestBelief
from sfumato.formats.tables import all_formats
from sfumato.plots.axes import percent
from sfumato.project.publication.continued import publish_further
from sfumato.project.publication.followed import FOLLOWED, edition_told, publications_in
from sfumato.project.publication.publish import LIMITS, EditionConflict, publish_table
from sfumato.project.release.bundle_making import ReleaseOutcome
from sfumato.project.release.release_compatibility import rows_of
from sfumato.project.release.uniqueness import left_out_sentence, publication_limits
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.panels.policy.generalized.finding import NodeFinding
from sfumato.ui.panels.policy.generalized.node_list import node_text
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import CatalogueChoice, Segments, prompt
from sfumato.ui.widgets.files import name_folder
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ScrollPage,
    button,
    form,
    label,
    refill,
    row,
    say,
)
from sfumato.ui.widgets.messages import Action, Message, MessageKind, error_texts
from sfumato.ui.widgets.responsive import ResponsiveRow

JOB: Final = "publish generalized"
WIDE: Final = 700


class PublishPage(ScrollPage):
    """The promise in words, checked from the published rows, and the bundle.

    Parameters
    ----------
    session
        What is open.
    finding
        What was found.
    """

    told = Signal(object)
    """A `Message` for the panel."""

    def __init__(
        self, session: Session, finding: NodeFinding, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self._finding = session, finding
        self.column.setContentsMargins(0, Space.INSIDE, Space.INSIDE, 0)
        self.promise = Card(tr("What this table promises"), parent=self)
        self.levels = label("", "muted", wrap=True)
        self.promise.body.addWidget(self.levels)
        self._promises = QVBoxLayout()
        self._promises.setSpacing(Space.INSIDE)
        self.promise.body.addLayout(self._promises)
        self.check = Badge("clock", "muted", "")
        self.promise.put(self.check, label(tr("What it does not promise"), "caption"))
        self.exact = label("", "caution", wrap=True)
        self.left_out = label("", "muted", wrap=True)
        self.promise.body.addWidget(self.exact)
        for limit in LIMITS:
            self.promise.body.addWidget(label(f"•  {spoken(limit)}", "muted", wrap=True))
        self.promise.put(self.left_out, None)
        sides = (self.promise, 3), (self._publish_card(), 2)
        self.put(ResponsiveRow(WIDE, *sides, parent=self), None)

    def _publish_card(self) -> Card:
        card = Card(tr("Publish"), parent=self)
        formats = [(f.name, spoken(f.title)) for f in all_formats().values() if f.can_write]
        self.format = Segments(formats, self, name=tr("Format"))
        self.kind = Segments([(False, tr("Folder")), (True, tr("Zip file"))], self)
        self.kind.setAccessibleName(tr("Kind of bundle"))
        self.dcat = CatalogueChoice(self)
        self.folder = QLineEdit(self)
        prompt(self.folder, tr("A folder for the bundle"))
        self.folder.setAccessibleName(tr("Target folder"))
        self.folder.textChanged.connect(lambda _text: self.refresh())
        choose = button(tr("C&hoose…"), self._choose_folder, icon="folder")
        lines = (
            (tr("Format"), self.format),
            (tr("Kind"), self.kind),
            ("", self.dcat),
            (tr("Folder"), row(self.folder, choose)),
        )
        card.body.addLayout(form(*lines, above=True))
        self._build_conflict(card)
        self.why = label("", "small", wrap=True)
        self.submit = button(tr("Publish…"), self._publish, "primary", "export")
        # Below the button, which stays where it is when the reason goes.
        card.body.addWidget(self.submit, 0, Qt.AlignmentFlag.AlignLeft)
        card.body.addWidget(self.why)
        card.body.addWidget(
            label(
                tr(
                    "The bundle contains the table, its description with the hierarchies used, and"
                    " a README for its readers. The ledger records the publication."
                ),
                "small",
                wrap=True,
            )
        )
        card.body.addStretch(1)
        return card

    def _build_conflict(self, card: Card) -> None:
        """Build what a conflict with earlier releases asks for."""
        self.reason = QLineEdit(self)
        prompt(self.reason, tr("Reason, kept in the ledger"))
        self.reason.setAccessibleName(tr("Reason to publish anyway"))
        self.reason.textChanged.connect(lambda _text: self.refresh())
        self.reason.hide()
        self.conflict = label(
            tr(
                "It conflicts with what was released before. You can still publish it by giving a"
                " reason, which the ledger keeps."
            ),
            "caution",
            wrap=True,
        )
        self.conflict.hide()
        self.compare = button(
            tr("Compare with the earlier edition…"),
            self._choose_earlier,
            "quiet",
            tip=tr(
                "The bundle of the edition that was published before: this one may follow if both"
                " together leave enough values of everybody"
            ),
        )
        self.compare.hide()
        self.earlier: Path | None = None
        self.follow = button(
            tr("Publish with counterfeits"),
            partial(self._publish, True),
            "quiet",
            tip=tr(
                "At the levels of the earlier edition: who came enters in groups, the records of"
                " who left stay as counterfeits, and the README says how many there are"
            ),
        )
        self.follow.hide()
        card.put(self.conflict, self.follow, self.compare, self.reason)

    # ----- what is shown

    def refresh(self) -> None:
        """Show the promise of the table that would be published now."""
        node, searched = self._finding.node, self._finding.searched
        view = self._finding.view
        if searched is not None and node is not None:
            self.levels.setText(
                tr("Levels: {levels}", levels=node_text(searched.result.names, node))
            )
            criteria = searched.prepared.criteria
            checked = view.check.criteria if view is not None else ()
            lines = [
                f"{spoken(criterion.promise)} {reached_text(checked[place])}"
                if place < len(checked)
                else spoken(criterion.promise)
                for place, criterion in enumerate(criteria)
            ]
            refill(self._promises, (label(line, wrap=True) for line in lines))
        if view is None:
            self.check.show_state("clock", "muted", tr("Not made yet"))
        elif view.check.holds:
            self.check.show_state("good", "good", tr("Recounted from the rows: it holds"))
        else:
            self.check.show_state("danger", "danger", tr("Recounted from the rows: broken"))
        self._show_exact()
        reason = self._reason_against()
        say(self.why, reason)
        self.submit.setEnabled(not reason)
        self.follow.setVisible(self._follows())
        self.follow.setEnabled(bool(self.folder.text().strip()))

    def _follows(self) -> bool:
        """Return whether a table of other rows was published, which this one may follow."""
        project, source = self._session.project, self._session.document.source
        releases = () if project is None or source is None else project.releases
        return any(
            source is not None and rows_of(each.source) != rows_of(source)
            for each in publications_in(releases)
            if FOLLOWED in each.details
        )

    def _show_exact(self) -> None:
        """Say what goes out as it is, and which other sensitive columns do not go out."""
        document, view = self._session.document, self._finding.view
        found = view.alone if view is not None else None
        limits = publication_limits(document, found, advice=True)
        exact = " ".join(typeset(limit) for limit in limits)
        left_out = spoken(left_out_sentence(document))
        say(self.exact, f"•  {exact}" if exact else "")
        say(self.left_out, f"•  {left_out}" if left_out else "")

    def _reason_against(self) -> str:
        """Return why nothing can be published yet; empty where it can."""
        finding, view = self._finding, self._finding.view
        unexplained = self.reason.isVisibleTo(self) and not self.reason.text().strip()
        unexplained &= self.earlier is None
        refused = finding.view_error
        reasons = (
            (finding.node is None, tr("There are no safe levels yet.")),
            (refused is not None, error_texts(refused)[0] if refused is not None else ""),
            (view is None, tr("The table is being made.")),
            (
                view is not None and not view.check.holds,
                tr("The table does not keep its promise."),
            ),
            (not self.folder.text().strip(), tr("Choose a folder first.")),
            (unexplained, tr("Give the reason to publish it anyway, or don't publish it.")),
        )
        return next((reason for holds, reason in reasons if holds), "")

    # ----- what the person does

    def _choose_folder(self) -> None:
        name_folder(self._session.chooser, self.folder, tr("Folder for the bundle"))

    def _choose_earlier(self) -> None:
        """Compare with an earlier edition's bundle, which publishing does."""
        folder = self._session.chooser.folder(tr("Choose the earlier edition's bundle"))
        if folder is not None:
            self.earlier = folder
            self.compare.setText(tr("Compared with {name}", name=folder.name))
            self.refresh()

    def _publish(self, counterfeits: bool = False) -> None:
        """Publish, once the work is safe in a project."""
        self._session.once_saved(partial(self._start, counterfeits))

    def _start(self, counterfeits: bool) -> None:
        session = self._session
        if session.project is None or session.source is None:
            return
        project, table, folder = session.project, session.source, Path(self.folder.text().strip())
        name, as_zip = str(self.format.value), bool(self.kind.value)
        override, dcat, earlier = self.reason.text(), self.dcat.isChecked(), self.earlier

        def work(context: Context) -> ReleaseOutcome:
            given = (project, table, folder, name, context, as_zip)
            if counterfeits:
                return publish_further(*given, override=override, dcat=dcat)
            return publish_table(*given, override=override, earlier=earlier, dcat=dcat)

        job = session.runner.run(
            tr("Publishing the generalized table"),
            work,
            self._tell,
            self._refuse,
            key=JOB,
        )
        job.finished.connect(self._session.ledger_changed.emit)

    def _tell(self, outcome: ReleaseOutcome) -> None:
        self._forget_earlier()
        self.compare.hide()
        self.conflict.hide()
        self.reason.hide()
        self.reason.clear()
        folder = QUrl.fromLocalFile(str(outcome.path.parent))
        edition = edition_told(outcome.record)
        told = "" if edition is None else spoken(edition)
        listed = tr("It is listed under Releases, where a bundle can be verified.")
        self.told.emit(
            Message(
                MessageKind.GOOD,
                tr("The generalized table is in {folder}.", folder=outcome.path.parent),
                f"{told[:1].upper()}{told[1:]}. {listed}" if told else listed,
                (Action(tr("Show folder"), partial(QDesktopServices.openUrl, folder)),),
                "publish",
            )
        )

    def _forget_earlier(self) -> None:
        self.earlier = None
        self.compare.setText(tr("Compare with the earlier edition…"))

    def _refuse(self, error: SfumatoError) -> None:
        self.told.emit(Message.of_error(error, topic="publish"))
        self._forget_earlier()
        if isinstance(error, LadderError):
            self.conflict.show()
            self.compare.setVisible(isinstance(error, EditionConflict))
            self.reason.show()
        self.refresh()


def reached_text(checked: CheckedCriterion) -> str:
    """Return what the worst class reaches, counted again from the rows."""
    if isinstance(checked.criterion, Closeness):
        return tr("(The worst class: {reached}.)", reached=number(checked.reached))
    if isinstance(checked.criterion, LargestBelief):
        return tr("(The largest belief: {reached}.)", reached=percent(checked.reached, 1))
    return tr("(The weakest class: {reached}.)", reached=number(checked.reached, 4))
