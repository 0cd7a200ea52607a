"""What stays protected of policy entries for several attributes when one of them leaves."""

from __future__ import annotations

from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document
from sfumato.ui.panels.attributes.wording import tr
from sfumato.ui.state.session import Session


def known_attributes(session: Session) -> dict[str, Attribute]:
    """Return the policy's attributes by name, as far as they are known."""
    names = [name for entry in session.document.policy for name in entry.attributes]
    encoded = {name: session.attribute(name) for name in names}
    return {name: found.attribute for name, found in encoded.items() if found is not None}


def who_stays(before: Document, after: Document) -> tuple[str, ...]:
    """Say what stays protected of the entries that covered several attributes."""
    found = []
    for entry in before.policy:
        left = [name for name in entry.attributes if after.entry_for(name) is not None]
        gone = [name for name in entry.attributes if name not in left]
        if left and gone:
            words = tr("{left} stays protected without {gone}, at the levels stated before.")
            found.append(words.format(left=" + ".join(left), gone=" + ".join(gone)))
    return tuple(found)
