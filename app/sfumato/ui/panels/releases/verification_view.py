"""What a verification found: a verdict, and every check; why a release is withdrawn."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from sfumato.engine.mechanisms.base import Check
from sfumato.formats.language import grouped
from sfumato.project.verification.verify import VerificationReport
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import local_day, spoken
from sfumato.ui.widgets.fields import text_field
from sfumato.ui.widgets.layout import button, column, form, label, row
from sfumato.ui.widgets.painted import IconLabel


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
        head = row(self._icon, (column(self.verdict, self.about, spacing=2), 1))
        head.addWidget(self.back, 0, Qt.AlignmentFlag.AlignTop)
        self._whole = column(head, spacing=Space.BETWEEN)
        self.setLayout(self._whole)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what was found of a file."""
        differs = report.only_table_differs
        token = "good" if report.holds else "caution" if differs else "danger"
        self._icon.show_icon(token, token)
        verdict, about = self._words(report)
        failed, count = grouped(len(report.failed)), grouped(len(report.checks))
        self.verdict.setText(verdict.format(name=name, failed=failed, count=count))
        self.about.setText(about.format(recipient=report.recipient))
        self._fill([*report.failed, *(check for check in report.checks if check.holds)], differs)

    def _words(self, report: VerificationReport) -> tuple[str, str]:
        """Return the verdict and what else is known of a file."""
        if report.only_table_differs:
            return (
                self.tr("{name} is as it was released; the table has changed since"),
                self.tr(
                    "Made for {recipient}. Its values can be verified only with the table it was"
                    " made from."
                ),
            )
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

    def _fill(self, checks: list[Check], table_differs: bool) -> None:
        if self._checks is not None:
            self._whole.removeWidget(self._checks)
            self._checks.deleteLater()
        self._checks = QWidget(self)
        lines = column(spacing=Space.BETWEEN)
        for check in checks:
            lines.addWidget(_CheckView(check, "caution" if table_differs else "danger"))
        lines.addStretch(1)
        self._checks.setLayout(lines)
        self._whole.addWidget(self._checks, 1)


class _CheckView(QWidget):
    """One check: icon, word, title and finding; `failing` is how grave it is where it fails."""

    def __init__(self, check: Check, failing: str) -> None:
        super().__init__()
        words = {
            True: self.tr("Holds"),
            False: self.tr("Changed") if failing == "caution" else self.tr("Fails"),
        }
        token, word = "good" if check.holds else failing, words[check.holds]
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


# ----- the question for what reason a release is withdrawn


class WithdrawDialog(Dialog):
    """Asks what was wrong with a release.

    Parameters
    ----------
    recipient
        Whom it was made for.
    recorded_at
        When; ISO 8601, UTC.
    """

    def __init__(self, recipient: str, recorded_at: str, parent: QWidget | None = None) -> None:
        title = self.tr("Withdraw the release to {recipient} of {day}")
        words = self.tr(
            "The ledger, the report and every verification of its bundle say from now on that it"
            " should not be used. Ask the recipient to delete it. Nobody can take back what they"
            " know: the release goes on counting, and later ones stay on its ladder.",
        )
        title = title.format(recipient=recipient, day=local_day(recorded_at))
        super().__init__(title, words, parent)
        fields = form()
        self.reason = text_field(hint=self.tr("Made from the wrong extract"))
        fields.addRow(self.tr("&Reason"), self.reason)
        self.body.addLayout(fields)
        self.add_cancel()
        self.submit = self.add_primary(self.tr("Withdraw"))
        self.submit.setEnabled(False)
        self.reason.textChanged.connect(lambda text: self.submit.setEnabled(bool(text.strip())))
