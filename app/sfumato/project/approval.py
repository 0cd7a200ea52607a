"""A second person's approval of a release, where the project asks for it.

Whoever approves has a key of their own (Ed25519, RFC 8032), wrapped under a passphrase of their own
and the project's secret. An approval is a signature of exactly what is released: recipient, what is
decided, and the table. It is an entry of the ledger, and signs the entry before it, so that none
can be used a second time. It lapses when anything of that changes, when a release to the recipient
is withdrawn, and when the person approves no more.

Whoever has the project's passphrase can still name another person, or ask for no approval any more;
the ledger records who was named, and with every release whether an approval was asked for.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, listed
from sfumato.project.document.model import Document, TableSource, canonical_json, to_plain
from sfumato.project.errors import (
    LedgerTampered,
    NotApproved,
    PassphraseError,
    ReleaseError,
    WrongPassphrase,
)
from sfumato.project.ledger import FIRST_LINK, Entry, EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.schema import Row
from sfumato.project.store.secret import (
    APPROVER,
    ProjectSecret,
    key_in,
    unwrap,
    wrap,
    write_key,
)

LONGEST_NAME: Final = 200
COLUMNS: Final = "columns"
"""What an approval of a table of counts has, and one of a release of records has not."""


@dataclass(frozen=True)
class Approval:
    """That somebody approved a release.

    Parameters
    ----------
    name
        Who.
    recorded_at
        When; ISO 8601, UTC.
    number
        The number of the ledger entry.
    """

    name: str
    recorded_at: str
    number: int


# ----- who approves


def approvers(project: ProjectFile) -> tuple[str, ...]:
    """Return the names of the people who can approve releases."""
    return tuple(row[1] for row in _keys(project) if row[0] == APPROVER)


def add_approver(project: ProjectFile, name: str, passphrase: str) -> None:
    """Name a person who approves releases.

    Parameters
    ----------
    project
        Open for writing.
    name
        Who.
    passphrase
        Theirs, which has to be another than the project's.

    Raises
    ------
    ReleaseError
        If there is such a person, or the name is empty.
    PassphraseError
        If the passphrase is empty or the project's.
    """
    name = " ".join(name.split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise ReleaseError(
            "The name of who approves is empty or too long.", "Give the person's name."
        )
    if name in approvers(project):
        raise ReleaseError("{name} approves releases already.", "Choose another name.", name=name)
    if not passphrase:
        raise PassphraseError("The passphrase is empty.", "Choose a passphrase of several words.")
    if _opens(project, passphrase):
        raise PassphraseError(
            "The passphrase of who approves is the project's own.",
            "Let the second person choose one that nobody else knows.",
        )
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    kept = ProjectSecret(private.private_bytes_raw())
    wrapped = wrap(kept, _hardened(project, passphrase), _about(project, name), project.cost)
    with project.database.transaction() as connection:
        write_key(connection, APPROVER, wrapped, name, public)
        details = {"approver": name, "public": public.hex()}
        project.ledger.append(connection, EntryKind.APPROVER_ADDED, details)


def remove_approver(project: ProjectFile, name: str) -> None:
    """Let a person approve no more; what they approved lapses.

    Raises
    ------
    ReleaseError
        If there is no such person.
    """
    _require_known(project, name)
    with project.database.transaction() as connection:
        connection.execute("DELETE FROM keys WHERE kind = ? AND name = ?", (APPROVER, name))
        project.ledger.append(connection, EntryKind.APPROVER_REMOVED, {"approver": name})


# ----- approving


def approve(
    project: ProjectFile, recipients: Iterable[str], name: str, passphrase: str
) -> tuple[Approval, ...]:
    """Approve what would be released to recipients now.

    Parameters
    ----------
    project
        Open for writing; its saved document is what is approved.
    recipients
        Whose releases; ``the public`` for a generalized table.
    name, passphrase
        Who approves, and their own passphrase.

    Raises
    ------
    ReleaseError
        If there is no such person or recipient, or no source table.
    WrongPassphrase
        If the passphrase is not theirs.
    """
    _require_known(project, name)
    document = project.document
    contents = [content_of(project, document, recipient) for recipient in recipients]
    return approve_contents(project, contents, name, passphrase)


def approve_contents(
    project: ProjectFile, contents: Iterable[Mapping[str, Any]], name: str, passphrase: str
) -> tuple[Approval, ...]:
    """Approve what is described: a release by `content_of`, or what tells itself from these.

    Raises
    ------
    ReleaseError
        If there is no such person.
    WrongPassphrase
        If the passphrase is not theirs.
    """
    public, wrapped = _require_known(project, name)
    try:
        hardened = _hardened(project, passphrase)
        secret = unwrap(wrapped, hardened, _about(project, name))
    except WrongPassphrase:
        raise WrongPassphrase(
            "The passphrase is not that of {name}, who approves.",
            "Let {name} type their own, which is not the project's.",
            name=name,
        ) from None
    private = Ed25519PrivateKey.from_private_bytes(secret.reveal())
    made = []
    for content in contents:
        with project.database.transaction() as connection:
            entries = project.ledger.entries
            previous = entries[-1].digest if entries else FIRST_LINK
            signed = _signed(content, name, previous)
            details = {
                **content,
                "approver": name,
                "public": public.hex(),
                "signature": private.sign(signed).hex(),
            }
            entry = project.ledger.append(connection, EntryKind.RELEASE_APPROVED, details)
        made.append(Approval(name, entry.recorded_at, entry.number))
    return tuple(made)


def content_of(project: ProjectFile, document: Document, recipient: str) -> dict[str, Any]:
    """Return what an approval is of: project, recipient, and digests of decisions and table.

    Raises
    ------
    ReleaseError
        If there is no such recipient, or no source table.
    """
    source = source_in(document)
    own = tuple(each for each in document.recipients if each.name == recipient)
    if not own and (document.recipients or document.generalization is None):
        raise ReleaseError(
            "The project has no recipient called {name}.",
            "Its recipients are: {known}.",
            name=recipient,
            known=listed([each.name for each in document.recipients]),
        )
    decided = replace(document, recipients=own, source=source.unread)
    text = canonical_json(to_plain(decided))
    return {
        "project": project.project_id,
        "recipient": recipient,
        "policy": hashlib.sha256(text.encode()).hexdigest(),
        "table": [source.digest, source.rows],
    }


def source_in(document: Document) -> TableSource:
    """Return the source table of what is approved.

    Raises
    ------
    ReleaseError
        If there is none.
    """
    if document.source is None:
        raise ReleaseError(
            "The project has no source table.", "Open the table under Data, then release."
        )
    return document.source


def approvals(
    project: ProjectFile, document: Document, recipients: Iterable[str]
) -> dict[str, Approval | None]:
    """Return who approved what would be released to each of some recipients.

    Parameters
    ----------
    project
        Whose ledger counts.
    document
        What is decided.
    recipients
        Their names.
    """
    found: dict[str, Approval | None] = {}
    for name in recipients:
        try:
            found[name] = approval_of(project, content_of(project, document, name))
        except ReleaseError:
            found[name] = None
    return found


def require_approval(
    project: ProjectFile, recipient: str, content: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return what the ledger keeps of a release's approval; nothing where none is asked for.

    Parameters
    ----------
    project
        Whose ledger counts.
    recipient
        Whose release.
    content
        What is released, where it is no release of records.

    Raises
    ------
    NotApproved
        If the project asks for one, and there is none that stands.
    """
    document = project.document
    if not document.needs_approval:
        return {}
    if content is None:
        found = approvals(project, document, [recipient])[recipient]
    else:
        found = approval_of(project, content)
    if found is None:
        raise NotApproved(
            "{lacking}",
            "{advice}",
            lacking=lacking_sentence(project, recipient, content),
            advice=_advice(project),
        )
    return {"approval": {"name": found.name, "at": found.recorded_at, "entry": found.number}}


def lacking_sentence(
    project: ProjectFile, recipient: str, content: Mapping[str, Any] | None = None
) -> Sentence:
    """Say that a release is not approved, or not as it would be made now."""
    columns = None if content is None else content.get(COLUMNS)
    earlier = [
        entry
        for entry in project.ledger.entries
        if entry.kind == EntryKind.RELEASE_APPROVED
        and entry.details.get("recipient") == recipient
        and entry.details.get(COLUMNS) == columns
    ]
    if earlier:
        return Sentence(
            "What {name} approved for {recipient} is not what would be released now.",
            name=str(earlier[-1].details.get("approver", "")),
            recipient=recipient,
        )
    if columns is not None:
        return Sentence(
            "No second person has approved a table of counts by {columns} for {recipient}.",
            columns=listed(columns),
            recipient=recipient,
        )
    return Sentence(
        "No second person has approved the release to {recipient}.", recipient=recipient
    )


def _advice(project: ProjectFile) -> Sentence:
    names = approvers(project)
    if not names:
        return Sentence(
            "Name a person who approves, under Releases or by sfumato approvers PROJECT --add NAME."
        )
    return Sentence(
        "Who can approve it, under Releases or by sfumato approve PROJECT RECIPIENT: {names}.",
        names=listed(names),
    )


def approval_of(project: ProjectFile, content: Mapping[str, Any]) -> Approval | None:
    """Return who approved just this, where that still stands."""
    try:
        entries = project.ledger.entries
    except LedgerTampered:
        return None
    keys = _keys(project)
    for entry in reversed(entries):
        if entry.details.get("recipient") != content["recipient"]:
            continue
        if entry.kind in (EntryKind.RELEASE_WITHDRAWN, EntryKind.COUNTS_WITHDRAWN):
            return None  # what was approved before turned out to be wrong
        if entry.kind == EntryKind.RELEASE_APPROVED and _holds(entry, content, keys):
            return Approval(str(entry.details["approver"]), entry.recorded_at, entry.number)
    return None


def _holds(entry: Entry, content: Mapping[str, Any], keys: tuple[Row, ...]) -> bool:
    """Return whether an entry approves just this, signed by somebody who still approves."""
    details = entry.details
    if any(details.get(name) != value for name, value in content.items()):
        return False
    name = details.get("approver")
    found = key_in(keys, APPROVER, name) if isinstance(name, str) else None
    if found is None:
        return False
    try:
        signature = bytes.fromhex(details.get("signature", ""))
        signed = _signed(content, str(name), entry.previous)
        Ed25519PublicKey.from_public_bytes(found[0]).verify(signature, signed)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _signed(content: Mapping[str, Any], name: str, previous: str) -> bytes:
    return canonical_json({**content, "approver": name, "previous": previous}).encode()


def _keys(project: ProjectFile) -> tuple[Row, ...]:
    return tuple(project.database.rows("SELECT * FROM keys ORDER BY rowid"))


def _require_known(project: ProjectFile, name: str) -> tuple[bytes, Any]:
    found = key_in(_keys(project), APPROVER, name)
    if found is None:
        raise ReleaseError(
            "Nobody called {name} approves releases of this project.",
            "{advice}",
            name=name,
            advice=_advice(project),
        )
    return found


def _opens(project: ProjectFile, passphrase: str) -> bool:
    try:
        project.check_passphrase(passphrase)
    except WrongPassphrase:
        return False
    return True


def _hardened(project: ProjectFile, passphrase: str) -> str:
    """Return a passphrase together with the secret: the file alone lets nobody try any."""
    typed = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass")
    if not typed:
        return ""
    return hmac.new(project.secret.derive("approver"), typed, hashlib.sha256).hexdigest()


def _about(project: ProjectFile, name: str) -> str:
    return f"{project.project_id} approver {name}"
