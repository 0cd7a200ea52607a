"""What the window asks the questions of an audit of: what is open."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sfumato.analysis.audit_inputs import AuditInputs, inputs_of, once
from sfumato.analysis.disclosure.record_losses import losses_by_records
from sfumato.ui.state.session import Session


def inputs_from(session: Session) -> tuple[tuple[object, ...], AuditInputs | None]:
    """Return what questions are asked of, after what tells it from what they were asked of before.

    There is nothing while the table, or an attribute of the policy, is not known.
    """
    document, source = session.document, session.source
    names = [name for entry in document.policy for name in entry.attributes]
    encoded = {name: session.attribute(name) for name in names}
    known = {name: column for name, column in encoded.items() if column is not None}
    rows, insight, releases = session.all_rows(), session.insight(), session.steps.releases()
    if source is None or rows is None or not known or len(known) < len(encoded):
        return (), None
    units = () if insight is None else insight.repeated
    counts, project = session.steps.count_tables(), session.project
    attributes = {name: column.attribute for name, column in known.items()}
    inputs = inputs_of(rows, source, releases, attributes)
    inputs = replace(inputs, units=lambda _context: units, counts=counts)
    if project is not None and counts:
        losses = partial(losses_by_records, project, source)
        inputs = replace(inputs, losses=once(losses))
    if (columns := session.leaving) is not None:
        inputs = replace(
            inputs,
            columns=lambda _context: columns.whole,
            leaving=once(lambda _context: columns.of(document)),
        )
    told = (source, document, session.keys, releases, counts)
    return (*told, tuple(sorted(known)), *map(id, units)), inputs
