"""Who can get a release now, at which levels, and what they have already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, Recipient
from sfumato.project.ledger.records import ReleaseRecord, ReleaseState
from sfumato.ui.look.wording import local_time, statement_text
from sfumato.ui.panels.releases.recipients_model import Candidate


def candidates_of(
    document: Document, attributes: Mapping[str, Attribute], records: Sequence[ReleaseRecord]
) -> tuple[Candidate, ...]:
    """Return every recipient with their levels and their last release.

    Parameters
    ----------
    document
        The policy and the recipients.
    attributes
        What is known of the policy's attributes, by name.
    records
        The releases made so far, oldest first.
    """
    return tuple(
        Candidate(
            recipient.name,
            _levels(document, recipient),
            _last(document, attributes, recipient, records),
        )
        for recipient in document.recipients
    )


def _levels(document: Document, recipient: Recipient) -> str:
    parts = []
    for entry in document.policy:
        statement = recipient.statements.get(entry.key)
        text = (
            statement_text(mechanism_called(entry.mechanism), statement)
            if statement is not None
            else _tr("not set")
        )
        parts.append(f"{entry.key}: {text}")
    return ";  ".join(parts)


def _last(
    document: Document,
    attributes: Mapping[str, Attribute],
    recipient: Recipient,
    records: Sequence[ReleaseRecord],
) -> str:
    made = [
        record
        for record in records
        if record.recipient == recipient.name and record.state is ReleaseState.COMPLETED
    ]
    if not made:
        return _tr("never")
    day = local_time(made[-1].recorded_at)[:10]
    levels = {plan.key: plan.level for plan in made[-1].plans}
    if levels == _present(document, attributes, recipient):
        return _tr("{day}, same levels").format(day=day)
    return _tr("{day}, other levels").format(day=day)


def _present(
    document: Document, attributes: Mapping[str, Attribute], recipient: Recipient
) -> dict[str, float]:
    """Return the levels a release would have now, by the entries' keys; {} where it can't be."""
    try:
        return {
            entry.key: plan_entry(document, entry, attributes, recipient).level
            for entry in document.policy
        }
    except (SfumatoError, KeyError):
        return {}


def _tr(text: str) -> str:
    return QCoreApplication.translate("Releases", text)
