"""What can go wrong with a project, its passphrase, its ledger and its source table.

Each is an expected error: it says what happened, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, joined


class ProjectError(SfumatoError):
    """A project file can't be used as asked."""


class ProjectMissing(ProjectError):
    """There is no file at the place where the project should be."""


class ProjectExists(ProjectError):
    """A file stands where a new project should go."""


class NotAProject(ProjectError):
    """The file is something else than a Sfumato project."""


class DamagedProject(ProjectError):
    """The file was a project, but parts of it can't be read any more."""


class NewerProject(ProjectError):
    """A later version of Sfumato wrote the project."""


class ProjectInUse(ProjectError):
    """Another window or command has the project open."""


class ReadOnlyProject(ProjectError):
    """The project is open for reading only."""


class ProjectReplaced(ProjectError):
    """The open project's file was moved, deleted or replaced by another program."""


class PassphraseError(ProjectError):
    """A passphrase can't be used."""


class WrongPassphrase(PassphraseError):
    """The passphrase does not open the project."""


class WrongRecoveryCode(PassphraseError):
    """A recovery code is mistyped, or does not open the project."""


class KeyFileError(ProjectError):
    """A plan and its keys can't be used for a release that is made elsewhere."""


class LedgerTampered(ProjectError):
    """The ledger is not the one that Sfumato wrote."""


class ProjectPart(StrEnum):
    """A part of a project that can turn out not to be sealed."""

    NEVER_SEALED = "never sealed"
    SEAL = "seal"
    SCHEMA = "schema"
    IDENTITY = "identity"
    WRAPPING = "wrapping"
    KEYS = "further keys"
    DOCUMENT = "document"
    PENDING = "pending work"
    LEDGER = "ledger"
    OLDER = "older state"


@dataclass(frozen=True)
class SealViolation:
    """One way in which a project is not as it was sealed.

    Parameters
    ----------
    part
        What is concerned.
    what
        What is wrong with it, in plain words.
    """

    part: ProjectPart
    what: Sentence


class NotSealed(ProjectError):
    """A project is not as Sfumato sealed it; nobody may write to it without accepting that.

    Parameters
    ----------
    path
        The project.
    findings
        What is not as it was sealed.
    """

    def __init__(self, path: Path, findings: Sequence[SealViolation]) -> None:
        self.findings = tuple(findings)
        super().__init__(
            "The project {path} does not match its seal. {changes}",
            "Restore an earlier copy, open it read-only to inspect and export its contents, or"
            " accept it as it stands and seal it again.",
            path=path,
            changes=joined(*(finding.what for finding in findings)),
        )

    @property
    def parts(self) -> frozenset[ProjectPart]:
        """The parts that are concerned."""
        return frozenset(finding.part for finding in self.findings)


class SourceMissing(ProjectError):
    """The source table is not where it was."""


class SourceChanged(ProjectError):
    """The source table is not the one that the project knows."""


class UnsavedUnreadable(ProjectError):
    """Work that was kept before it was saved in a project can't be read any more."""


class ReleaseError(ProjectError):
    """A release can't be made as asked."""


class NotApproved(ReleaseError):
    """A second person has to approve a release first."""


class TargetExists(ReleaseError):
    """Something stands under the name that a release should get; it is never overwritten."""


class NotTraceable(ProjectError):
    """A file has nothing in it by which releases could be told apart."""


class RulesError(ProjectError):
    """A rules file can't be read, or does not fit the table."""


class AdoptionError(ProjectError):
    """An earlier release that was made elsewhere can't be taken onto the ladder as asked."""
