"""What recipients may do with releases: a form that keeps it in the project."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtWidgets import QLineEdit, QWidget

from sfumato.formats.terms import TERM_TITLES, ReleaseTerms, TermsError
from sfumato.ui.look.theme import scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import prompt, text_field
from sfumato.ui.widgets.layout import Card, label, row
from sfumato.ui.widgets.messages import error_words

CAPTION_WIDTH = 110


class TermsCard(Card):
    """A field for each of the terms; every change is one that can be undone.

    Parameters
    ----------
    session
        Whose document keeps the terms.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(
            self.tr("Terms for recipients"),
            self.tr("Each recipient's README begins with them, and so does the report."),
            parent,
        )
        self._session = session
        self.fields: dict[str, QLineEdit] = {}
        hints = {
            "controller": self.tr("Who is responsible for the table"),
            "purpose": self.tr("What releases may be used for"),
            "conditions": self.tr("What recipients have to keep to"),
            "valid_until": self.tr("The last day, such as 2027-12-31"),
            "contact": self.tr("Whom recipients ask"),
        }
        captions = []
        for name, title in TERM_TITLES.items():
            field = self.fields[name] = text_field(spoken(title), given=self._keep)
            prompt(field, hints[name])
            caption = label(spoken(title), "muted")
            caption.setBuddy(field)
            captions.append(caption)
            self.put(row(caption, (field, 1)))
        width = max(scaled(CAPTION_WIDTH), *(caption.sizeHint().width() for caption in captions))
        for caption in captions:
            caption.setMinimumWidth(width)
        self.problem = label("", "danger", wrap=True)
        self.problem.hide()
        self.put(self.problem)
        session.follow(self.refresh)
        self.refresh()

    def refresh(self, _changed: object = None) -> None:
        """Show what the document has."""
        terms = self._session.document.terms or ReleaseTerms()
        for name, field in self.fields.items():
            if not field.hasFocus() and field.text() != getattr(terms, name):
                field.setText(getattr(terms, name))

    def _keep(self) -> None:
        try:
            terms = ReleaseTerms(**{name: f.text().strip() for name, f in self.fields.items()})
        except TermsError as error:
            self.problem.setText(error_words(error))
            self.problem.show()
            return
        self.problem.hide()
        document = self._session.document
        if terms.or_none != document.terms:
            words = self.tr("Change the terms for recipients")
            self._session.edit(words, replace(document, terms=terms.or_none))
