"""What becomes of releases that a crash, a kill or a power cut left unfinished.

A release that the ledger has as prepared, and whose staged files are whole, is finished. Every
other one is removed and recorded as abandoned. Where its files are gone although they were
recorded, someone may have them: it counts as made. Each step can be interrupted again.

Only what the project's seal covers is acted on, and only folders of the project's own making.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.project.ledger import EntryKind, Ledger
from sfumato.project.store.database import Database
from sfumato.project.store.files import Staging, digest_of_bundle, move_without_overwriting
from sfumato.project.store.kept_releases import KeptRelease, KeptReleases

AtStep = Callable[[str], None]
"""Told each step as it is done."""


@dataclass(frozen=True)
class Recovered:
    """What became of one unfinished release.

    Parameters
    ----------
    recipient, target
        Of the release.
    ending
        The ledger entry it ended with; None where it has to wait.
    explanation
        What happened, in plain words.
    """

    recipient: str
    target: str
    ending: EntryKind | None
    explanation: str


def no_step(name: str) -> None:
    """Pass over a step."""


def recover(
    database: Database, ledger: Ledger, stagings: Sequence[Staging], at_step: AtStep = no_step
) -> tuple[Recovered, ...]:
    """Finish or remove every unfinished release.

    Parameters
    ----------
    database, ledger
        Of the project, open for writing.
    stagings
        The unfinished releases, as the seal was found to cover them.
    at_step
        Told each step as it is done.

    Returns
    -------
    tuple of Recovered
        One for each unfinished release.
    """
    return tuple(_recover_one(database, ledger, staging, at_step) for staging in stagings)


def end_release(
    database: Database, ledger: Ledger, staging: Staging, kind: EntryKind, reason: str
) -> None:
    """Record a release's ending and forget its staging, in one transaction."""
    details = {
        "prepared": staging.prepared,
        "release_id": staging.release_id,
        "recipient": staging.recipient,
        "target": staging.target,
    }
    if reason:
        details["reason"] = reason
    with database.transaction() as connection:
        ledger.append(connection, kind, details)
        staging.clear(connection)


def finish(staging: Staging, at_step: AtStep) -> None:
    """Give the staged bundle its final name and remove what is left of the staging."""
    move_without_overwriting(staging.bundle_path, staging.target_path)
    at_step("renamed")
    staging.remove_files()
    at_step("cleared")


def record_kept(
    database: Database, ledger: Ledger, kept_releases: KeptReleases
) -> tuple[Recovered, ...]:
    """Record again what the ledger lacks of the releases that are kept on this computer.

    Returns
    -------
    tuple of Recovered
        One for each release that it lacked.
    """
    known = {entry.digest for entry in ledger.entries}
    known |= {str(entry.details.get("entry_before", "")) for entry in ledger.entries}
    lacking = [kept for kept in kept_releases.read() if kept.entry not in known]
    found = tuple(_record_again(database, ledger, kept) for kept in lacking)
    kept_releases.forget_all()
    return found


def _record_again(database: Database, ledger: Ledger, kept: KeptRelease) -> Recovered:
    before = {"entry_before": kept.entry, "recorded_before": kept.recorded_at}
    digest = kept.details["digest"]
    with database.transaction() as connection:
        entry = ledger.append(connection, EntryKind.RELEASE_PREPARED, {**kept.details, **before})
        staging = kept.staging.recorded(digest, entry.number)
        if kept.pending:
            staging.note(connection)
    if kept.pending:
        settled = _recover_one(database, ledger, staging, no_step)
    else:
        reason = "its project was replaced by another program"
        end_release(database, ledger, staging, EntryKind.RELEASE_UNTRACED, reason)
        settled = Recovered(staging.recipient, staging.target, EntryKind.RELEASE_UNTRACED, reason)
    told = Sentence(
        "The project's file was replaced by another program after this release was recorded, so it"
        " is recorded again from what this computer kept of it"
    )
    return replace(settled, explanation=told)


def _recover_one(
    database: Database, ledger: Ledger, staging: Staging, at_step: AtStep
) -> Recovered:
    try:
        kind, reason = _settle(staging, at_step) if staging.is_own else _given_up(staging)
    except OSError as error:
        return Recovered(
            staging.recipient,
            staging.target,
            None,
            Sentence(
                "Its folder can't be used now ({error}); it is settled at the next start.",
                error=type(error).__name__,
            ),
        )
    end_release(database, ledger, staging, kind, reason)
    at_step("settled")
    return Recovered(staging.recipient, staging.target, kind, reason)


def _given_up(staging: Staging) -> tuple[EntryKind, str]:
    """Touch nothing, because a link stands where the staging was; expect the worst of it."""
    recorded = staging.prepared is not None
    kind = EntryKind.RELEASE_UNTRACED if recorded else EntryKind.RELEASE_ABANDONED
    return kind, "interrupted, and a link stands in the place of its staged files"


def _settle(staging: Staging, at_step: AtStep) -> tuple[EntryKind, str]:
    """Bring the files into their last state; return how the release ended and why."""
    if not staging.target_path.parent.is_dir():
        raise FileNotFoundError(staging.target)
    if staging.prepared is None:
        staging.remove_files()
        return EntryKind.RELEASE_ABANDONED, "interrupted before it was recorded"
    if digest_of_bundle(staging.target_path) == staging.digest:
        staging.remove_files()
        return EntryKind.RELEASE_COMPLETED, "finished after an interruption"
    if digest_of_bundle(staging.bundle_path) == staging.digest:
        try:
            finish(staging, at_step)
        except FileExistsError:
            staging.remove_files()
            return EntryKind.RELEASE_ABANDONED, "interrupted, and its name was taken since"
        return EntryKind.RELEASE_COMPLETED, "finished after an interruption"
    staged = staging.bundle_path.exists()
    staging.remove_files()
    if staged:
        return EntryKind.RELEASE_ABANDONED, "interrupted, and its staged files were not whole"
    return EntryKind.RELEASE_UNTRACED, "interrupted, and its files are gone"
