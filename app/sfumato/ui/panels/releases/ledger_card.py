"""The ledger: all it tells of, whether the record is intact, and the way to verify a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHeaderView, QLineEdit, QToolButton, QWidget

from sfumato.engine.mechanisms.base import Check
from sfumato.formats.language import grouped
from sfumato.project.ledger.records import LedgerEvent, Subject
from sfumato.project.verification.verify import VerificationReport
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.releases.ledger_model import BUNDLE, DIGEST, LEVELS, WHEN, LedgerModel
from sfumato.ui.widgets.fields import Segments, prompt
from sfumato.ui.widgets.icons import IconLabel, themed_icon
from sfumato.ui.widgets.layout import Badge, Card, EmptyState, boxed, button, column, label, row
from sfumato.ui.widgets.responsive import FlowLayout, Pages, ResponsiveRow
from sfumato.ui.widgets.tables import TableView

NARROW: Final = 560
"""Below this width the search stands below what the lines are about; pixels at scale 1."""
WIDE: Final = 780
"""From this width on, the digests' beginnings are shown."""
WIDEST: Final = 1000
"""From this width on, the files' names are shown as well."""


class VerificationView(QWidget):
    """A verdict, and every check with an icon, a word and what was found."""

    closed = Signal()
    """The person wants to see the ledger again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = IconLabel("good", "good", 24)
        self.verdict = label("", "heading", wrap=True)
        self.about = label("", "muted", wrap=True)
        self.back = button(self.tr("Back to the ledger"), self.closed.emit, "quiet", "chevron-left")
        self._checks: QWidget | None = None
        head = row(self._icon)
        head.addLayout(column(self.verdict, self.about, spacing=2), 1)
        head.addWidget(self.back, 0, Qt.AlignmentFlag.AlignTop)
        self._whole = column(head, spacing=Space.BETWEEN)
        self.setLayout(self._whole)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what was found of a file."""
        token = "good" if report.holds else "danger"
        self._icon.show_icon(token, token)
        verdict, about = self._words(report)
        failed, count = grouped(len(report.failed)), grouped(len(report.checks))
        self.verdict.setText(verdict.format(name=name, failed=failed, count=count))
        self.about.setText(about.format(recipient=report.recipient))
        self._fill([*report.failed, *(check for check in report.checks if check.holds)])

    def _words(self, report: VerificationReport) -> tuple[str, str]:
        """Return the verdict and what else is known of a file."""
        if report.whole:
            made_for = self.tr("Made for {recipient}.")
            unknown = self.tr("It could not be recognised as one of this project's releases.")
            holds = self.tr("{name} is as it was released, and keeps what it promises")
            fails = self.tr(
                "{name} does not hold up: {failed} of {count} {count:check|checks}"
                " {failed:fails|fail}"
            )
            return holds if report.holds else fails, made_for if report.recipient else unknown
        if report.release is None:
            return self.tr("{name} was not released as it stands"), ""
        return (
            self.tr("{name} is a file as it was released"),
            self.tr("Made for {recipient}. The rest of its bundle was not examined."),
        )

    def texts(self) -> tuple[str, ...]:
        """Return what is said of each check."""
        if self._checks is None:
            return ()
        return tuple(view.accessibleName() for view in self._checks.findChildren(_CheckView))

    def _fill(self, checks: list[Check]) -> None:
        if self._checks is not None:
            self._whole.removeWidget(self._checks)
            self._checks.deleteLater()
        self._checks = QWidget(self)
        lines = column(spacing=Space.BETWEEN)
        for check in checks:
            lines.addWidget(_CheckView(check))
        lines.addStretch(1)
        self._checks.setLayout(lines)
        self._whole.addWidget(self._checks, 1)


class _CheckView(QWidget):
    """One check: icon, word, title and finding."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        token = "good" if check.holds else "danger"
        words = {True: self.tr("Holds"), False: self.tr("Fails")}
        word = words[check.holds]
        title, found = spoken(check.title), spoken(check.finding)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.INSIDE)
        grid.setVerticalSpacing(2)
        grid.addWidget(IconLabel(token, token, 18), 0, 0, Qt.AlignmentFlag.AlignTop)
        state = label(word, token)
        # As wide for either word, so that the titles of all checks stand below one another.
        state.ensurePolished()
        widths = map(state.fontMetrics().horizontalAdvance, words.values())
        state.setMinimumWidth(max(widths) + Space.TIGHT)
        grid.addWidget(state, 0, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label(title, "strong", wrap=True), 0, 2)
        finding = label(found, "muted", wrap=True)
        finding.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        grid.addWidget(finding, 1, 2)
        grid.setColumnStretch(2, 1)
        self.setAccessibleName(f"{word}: {title}. {found}")


class LedgerCard(Card):
    """Shows what happened to the project, or what a verification found."""

    folder_asked = Signal(object)
    """The folder of a release should be shown: its `Path`."""
    verify_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Ledger"), parent=parent)
        self.model = LedgerModel(self)
        self.table = self._build_table()
        self.empty = EmptyState(
            "releases",
            self.tr("Nothing is written down yet"),
            self.tr(
                "Each release is written down here: when, to whom, at which levels, and the"
                " digest of its files; and so is what was adopted, overridden or changed."
            ),
        )
        self.nothing = EmptyState("search", self.tr("The ledger has nothing like this"), "")
        self.nothing.add_button(button(self.tr("Show everything"), self._show_everything))
        self.report = VerificationView(self)
        self.pages = Pages(self)
        self.report.closed.connect(lambda: self.pages.setCurrentWidget(self._list))
        for page in (self.table, self.empty, self.nothing, self.report):
            self.pages.addWidget(page)
        self._list: QWidget = self.empty
        self.pages.setCurrentWidget(self.empty)
        self.intact = Badge("verify", "muted", "")
        self.show_folder = button(self.tr("Show &folder"), self._ask_for_folder, icon="folder")
        self.verify = button(
            self.tr("&Verify a file…"),
            self.verify_asked.emit,
            icon="verify",
            tip=self.tr("Choose a bundle, or drop one here"),
        )
        self.copy = button(
            self.tr("&Copy"),
            self._copy,
            icon="copy",
            tip=self.tr("Copy the chosen lines, or all that are shown, with whole digests"),
        )
        self.show_folder.setEnabled(False)
        self.filters = self._build_filters()
        self.body.removeWidget(self.heading)
        title = boxed(row(self.heading, self.intact))
        deeds = (self.copy, self.show_folder, self.verify)
        self.body.addLayout(FlowLayout(title, *deeds, apart=1))
        self.body.addWidget(self.filters)
        self.body.addWidget(self.pages, 1)
        self.setMinimumHeight(scaled(300))

    def _build_filters(self) -> QWidget:
        """Return the choice of what the events are about, beside the words to look for."""
        self.subject = Segments(
            (
                (None, self.tr("All")),
                (Subject.RELEASE, self.tr("Releases")),
                (Subject.ADOPTION, self.tr("Adoptions")),
                (Subject.OVERRIDE, self.tr("Overrides")),
                (Subject.PROJECT, self.tr("Project")),
            ),
            self,
        )
        self.subject.setAccessibleName(self.tr("What the ledger's lines are about"))
        self.search = QLineEdit(self)
        prompt(self.search, self.tr("Name, level, reason, file or digest"))
        self.search.setAccessibleName(self.tr("Look for words in the ledger"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(themed_icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        for part, name in zip(
            self.search.findChildren(QToolButton),
            (self.tr("Clear the search"), self.tr("Search")),
            strict=True,
        ):
            part.setAccessibleName(name)
        self.subject.chosen.connect(self._narrow)
        self.search.textChanged.connect(self._narrow)
        line = ResponsiveRow(NARROW, parent=self)
        line.add(self.subject, 0)
        line.add(self.search)
        return line

    def _build_table(self) -> TableView:
        table = _LedgerTable(self)
        table.setModel(self.model)
        table.setProperty("framed", False)
        table.setAccessibleName(self.tr("What the ledger tells of"))
        table.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        table.setSortingEnabled(True)
        table.sortByColumn(WHEN, Qt.SortOrder.DescendingOrder)
        table.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(BUNDLE, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(LEVELS, QHeaderView.ResizeMode.Stretch)
        table.wrap_rows(LEVELS)
        table.selectionModel().selectionChanged.connect(self._allow_folder)
        table.doubleClicked.connect(lambda _index: self._ask_for_folder())
        return table

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what there is no room for; levels and reasons come first. Copies have all."""
        super().resizeEvent(event)
        self.table.setColumnHidden(DIGEST, self.width() < WIDE)
        self.table.setColumnHidden(BUNDLE, self.width() < WIDEST)

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show what a ledger tells of."""
        reading = self.pages.currentWidget() is self.report
        self.model.show_events(events)
        for button_ in (self.show_folder, self.copy):
            button_.setVisible(bool(events))
        self._choose_list()
        if not reading:
            self.show_ledger()

    def _narrow(self, _changed: object = None) -> None:
        subject = self.subject.value
        self.model.narrow(subject if isinstance(subject, Subject) else None, self.search.text())
        self._choose_list()
        self.show_ledger()

    def _show_everything(self) -> None:
        self.subject.set_value(None)
        self.search.clear()
        self._narrow()

    def _choose_list(self) -> None:
        """Show the lines, or why there are none."""
        shown = bool(self.model.rowCount())
        nothing = self.nothing if self.model.count() else self.empty
        self._list = self.table if shown else nothing
        self.copy.setEnabled(shown)
        self._allow_folder()

    def _copy(self) -> None:
        if not self.table.copy():
            self.table.selectAll()
            self.table.copy()
            self.table.clearSelection()

    def show_intact(self, icon: str, token: str, words: str, detail: str = "") -> None:
        """Say whether the ledger is as it was written."""
        self.intact.show_state(icon, token, words)
        self.intact.setToolTip(detail)
        self.intact.setVisible(bool(words))

    def show_ledger(self) -> None:
        """Show the ledger, and no longer what a verification found."""
        self.filters.setVisible(bool(self.model.count()))
        self.pages.setCurrentWidget(self._list)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what a verification found."""
        self.report.show_report(name, report)
        self.filters.hide()
        self.pages.setCurrentWidget(self.report)

    def _chosen(self) -> Path | None:
        """Return the bundle of the one line that is chosen."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.line(rows[0].row()).bundle if len(rows) == 1 else None

    def _allow_folder(self, *_changes: object) -> None:
        self.show_folder.setEnabled(self._chosen() is not None)

    def _ask_for_folder(self) -> None:
        bundle = self._chosen()
        if bundle is not None:
            self.folder_asked.emit(bundle)


class _LedgerTable(TableView):
    """Lines that are copied with whole paths, digests and the entries' numbers."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, row_numbers=False)

    def copy(self) -> bool:
        """Copy the chosen lines as tab-separated text; return whether there were any."""
        model, chosen = self.model(), self.selectionModel()
        if not isinstance(model, LedgerModel) or not chosen.selectedRows():
            return False
        rows = sorted(index.row() for index in chosen.selectedRows())
        lines = [model.copied_header(), *(model.copied(row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))
        return True
