"""Sfumato from Python: make, check, release and verify as the commands do, and read bundles.

``import sfumato as sf`` offers all of it. The commands do their work by the same functions; neither
Qt nor a screen is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

import pandas as pd

from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.releasing import (
    ReleaseOrder,
    check_project,
    make_releases,
    worth_of_releases,
)
from sfumato.analysis.tables.generalized_table import PUBLIC
from sfumato.analysis.utility.worth import RecipientWorth
from sfumato.commands.init import MemoryRoom, document_for
from sfumato.commands.shared.groups import names_of_recipients
from sfumato.commands.shared.opening import read_text
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.formats.bundles.datapackage import descriptor_from
from sfumato.formats.bundles.packages import description_at, package_at, table_file
from sfumato.formats.options import typed_options
from sfumato.formats.reading import read_table
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.source import create_project, open_table
from sfumato.project.verification.found import verify_file
from sfumato.project.verification.leak import read_leak, trace_file
from sfumato.project.verification.verify import VerificationReport
from sfumato.resources import resource_path

if TYPE_CHECKING:
    from sfumato.project.verification.leak import LeakReport

MEMORY = 1e9
"""How much memory a table may take before it is read in parts, in bytes."""


class Project:
    """A project that is open, with its source table; see `open` and `create`.

    It is closed by `close` or at the end of a ``with``. While one that is open for writing is, no
    other program can open it so.

    Parameters
    ----------
    file
        The project.
    memory
        How much memory the table may take before it is read in parts, in bytes.
    context
        Told the progress of everything that takes long; whatever it raises stops the work.
    """

    def __init__(self, file: ProjectFile, memory: float, context: Context) -> None:
        self._file, self._memory, self._context = file, memory, context

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the project. Doing it twice does no harm."""
        self._file.close()

    @property
    def path(self) -> Path:
        """Where the project is."""
        return self._file.path

    @property
    def recipients(self) -> tuple[str, ...]:
        """The recipients' names."""
        return tuple(each.name for each in self._file.document.recipients)

    @property
    def columns(self) -> pd.DataFrame:
        """The table's columns: ``column``, ``role`` and ``kind``, a row each."""
        told = [(spec.name, str(spec.role), str(spec.kind)) for spec in self._file.document.columns]
        return pd.DataFrame(told, columns=["column", "role", "kind"])

    @property
    def releases(self) -> tuple[ReleaseRecord, ...]:
        """What the ledger has of every release, the earliest first."""
        return tuple(self._file.releases)

    @cached_property
    def _table(self) -> BatchedTable:
        return open_table(self._file, self._memory, self._context)

    @cached_property
    def _prepared(self) -> PreparedTable:
        return PreparedTable(self._file, self._table)

    def check(self, *recipients: str) -> tuple[Readiness, ...]:
        """Return what stands in the way of releases, as ``sfumato check`` tells it.

        Parameters
        ----------
        *recipients
            For whom; for all where none is named.

        Returns
        -------
        tuple of Readiness
            The most exposed recipient first: ``recipient``, ``findings``, ``standing`` (what
            keeps the release from being made) and ``worthless``.

        Raises
        ------
        SfumatoError
            If a recipient is unknown, the table is missing or changed, or doesn't fit the policy.
        """
        wanted = names_of_recipients(self._file, recipients)
        if self._file.document.is_published_only:
            wanted = frozenset({PUBLIC})
        found = check_project(self._file, self._table, self._context, wanted)
        return tuple(each for each in found if each.recipient in wanted)

    def worth(self, *recipients: str) -> tuple[RecipientWorth, ...]:
        """Return what releases are worth to recipients, as ``sfumato worth`` tells it.

        Parameters
        ----------
        *recipients
            To whom; to all where none is named.

        Returns
        -------
        tuple of RecipientWorth
            ``columns`` that are randomised, each worth so many true records, and ``details``:
            the shares kept of those that are coarsened.

        Raises
        ------
        SfumatoError
            As `check` does, and if the project has no recipients.
        """
        found = worth_of_releases(self._file, self._table, self._context)
        wanted = names_of_recipients(self._file, recipients)
        return tuple(each for each in found if each.recipient in wanted)

    def release(
        self,
        recipient: str,
        out: str | Path,
        *,
        format: str = "csv",
        zip: bool = False,
        accept: str = "",
        override: str = "",
        keep_formulas: bool = False,
        dcat: bool = False,
    ) -> Path:
        """Check the project, and make a recipient's release.

        Parameters
        ----------
        recipient
            For whom.
        out
            The folder that the bundle is put into; made where it is missing.
        format
            ``csv``, ``parquet``, ``sav`` or ``dta``.
        zip
            Whether the bundle is one zip file in place of a folder.
        accept
            The reason why what `check` calls grave is acceptable. The ledger keeps it.
        override
            The reason for releasing a column otherwise than before. The ledger keeps it.
        keep_formulas
            Whether texts that a spreadsheet would run stay as they are in CSV files.
        dcat
            Whether the bundle is described for data catalogues too.

        Returns
        -------
        Path
            The bundle.

        Raises
        ------
        ReleaseError
            If the check finds something grave and no reason is given, there is no such recipient,
            or something stands under the bundle's name.
        SfumatoError
            If the project is open for reading alone, the table is missing or changed, or the
            folder doesn't take the bundle. Nothing of the release is left then.
        """
        names_of_recipients(self._file, [recipient])
        order = ReleaseOrder(
            (recipient,), Path(out), format, zip, override, not keep_formulas, dcat
        )
        releases = make_releases(self._file, self._prepared, order, accept, self._context)
        return next(releases).path

    def verify(self, bundle: str | Path) -> VerificationReport:
        """Examine a bundle, or any file of one, against the project, its ledger and its table.

        Parameters
        ----------
        bundle
            The folder, the zip file, or a file for itself.

        Returns
        -------
        VerificationReport
            ``holds`` tells whether all ``checks`` do; ``only_table_differs`` that the bundle is as
            it was released, and the table another one by now; ``recipient`` whom it was made for.

        Raises
        ------
        LedgerTampered
            If the project's ledger is not as it was sealed.
        """
        return verify_file(self._file, self._table, Path(bundle), self._context)

    def trace(self, file: str | Path) -> LeakReport:
        """Tell from which releases a file comes that turned up somewhere.

        Parameters
        ----------
        file
            A table or a bundle, also zipped, whole or in part.

        Returns
        -------
        LeakReport
            ``verdict`` says it in words; ``traced.suspects`` are the releases, each with its
            probability.

        Raises
        ------
        SfumatoError
            If the file can't be read, or has nothing in common with a release.
        """
        leak = read_leak(Path(file), Part(self._context, 0.0, 0.3))
        return trace_file(self._file, self._table, leak, Part(self._context, 0.3, 1.0))


def open(
    path: str | Path,
    passphrase: str,
    *,
    read_only: bool = False,
    memory: float = MEMORY,
    context: Context = Silent(),  # noqa: B008
) -> Project:
    """Open a project.

    Parameters
    ----------
    path, passphrase
        The file, and what it was saved with. Don't write the passphrase into a program: ask for
        it, or take it from the environment.
    read_only
        Whether to leave the file as it is: it may be open elsewhere, and nothing can be released.
    memory
        How much memory the table may take before it is read in parts, in bytes.
    context
        Told the progress of everything that takes long, see `Context`.

    Raises
    ------
    ProjectError
        If the file can't be used, the passphrase is wrong, or the file is not as it was sealed.
    """
    return Project(ProjectFile.open(Path(path), passphrase, read_only=read_only), memory, context)


def create(
    path: str | Path,
    table: str | Path,
    passphrase: str,
    *,
    rules: str | Path | None = None,
    record_key: str | None = None,
    units: Sequence[str] = (),
    unit_rows: int | None = None,
    reading: Mapping[str, Any] | None = None,
    memory: float = MEMORY,
    context: Context = Silent(),  # noqa: B008
) -> Project:
    """Make a project from a table, as ``sfumato init`` does, and open it.

    Parameters
    ----------
    path, table, passphrase
        The new file, the table's, and what opens the project from now on.
    rules
        A rules file: roles, policy, recipients and their levels. Without one, columns have the
        roles that are proposed.
    record_key
        The column by which records are known again.
    units, unit_rows
        The columns that say which rows belong to one person or household, and how many rows of
        each leave at most.
    reading
        How the table is read where that is not found out, by the keys of ``[reading]``.
    memory, context
        See `open`.

    Raises
    ------
    ProjectExists
        If there is a file already.
    SfumatoError
        If the table can't be read, or the rules don't fit it.
    """
    chosen = typed_options(dict(reading or {}))
    made = document_for(
        Path(table),
        None if rules is None else read_text(Path(rules)),
        record_key,
        Part(context, 0.0, 0.9),
        None if rules is None else Path(rules).parent,
        units=units,
        unit_rows=unit_rows,
        chosen=chosen,
        room=MemoryRoom(Path(path).parent, memory),
    )
    rest = Part(context, 0.9, 1.0)
    created = create_project(Path(path), passphrase, made.document, made.table, rest)
    return Project(created, memory, context)


def verify(bundle: str | Path, project: str | Path, passphrase: str) -> VerificationReport:
    """Examine a bundle against a project that is opened for that alone.

    Parameters
    ----------
    bundle
        See `Project.verify`.
    project, passphrase
        See `open`.

    Raises
    ------
    SfumatoError
        As `open` and `Project.verify` do.
    """
    with open(project, passphrase, read_only=True) as opened:
        return opened.verify(bundle)


@dataclass(frozen=True)
class ReceivedBundle:
    """A release as a recipient has it; see `read_bundle`.

    Parameters
    ----------
    data
        The released rows. Texts are texts, dates ``datetime64``, missing values missing.
    description
        What ``datapackage.json`` tells.
    column_labels
        For a column, the sentence that describes it, where there is one.
    value_labels
        For a column, what its values stand for, where they have labels.
    """

    data: pd.DataFrame = field(repr=False)
    description: Mapping[str, Any] = field(repr=False)
    column_labels: Mapping[str, str]
    value_labels: Mapping[str, Mapping[Any, str]] = field(repr=False)

    @cached_property
    def estimators(self) -> ModuleType:
        """The functions of ``perturbed.py``, for these data: Sfumato's own, not the bundle's."""
        made = ModuleType("perturbed")
        path = resource_path("recipient", "perturbed.py")
        made.__file__ = str(path)
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), made.__dict__)
        made.__dict__["_package"] = lambda: self.description
        return made

    def crosstab(self, columns: Sequence[str], sample: bool = False) -> pd.DataFrame:
        """Estimate how many records truly have each combination of values.

        Parameters
        ----------
        columns
            Up to some 2,000 combinations of their values.
        sample
            Whether errors refer to the population that these records were drawn from.

        Returns
        -------
        DataFrame
            A row a combination: the columns, ``count``, ``standard_error``, and ``low`` and
            ``high`` of a 95 % interval.

        Raises
        ------
        ValueError
            If a column can't be estimated from, or there are too many combinations.
        """
        found: pd.DataFrame = self.estimators.crosstab(self.data, columns, sample)
        return found

    def regression(
        self, outcome: str | tuple[str, Any], predictors: Sequence[str], kind: str = "linear"
    ) -> pd.DataFrame:
        """Estimate the coefficients of a regression of the true values.

        Parameters
        ----------
        outcome
            A numeric column, or a column and the value that is the event.
        predictors
            Columns: numbers enter as they are, others as indicators of their values.
        kind
            ``linear`` or ``logistic``.

        Returns
        -------
        DataFrame
            A row a coefficient, with 95 % intervals for the population.

        Raises
        ------
        ValueError
            If a column can't be estimated from, or these records are too few.
        """
        found: pd.DataFrame = self.estimators.regression(self.data, outcome, predictors, kind)
        return found

    def impute(
        self, column: str, given: Sequence[str] = (), times: int = 20, seed: int = 1
    ) -> list[pd.DataFrame]:
        """Return the rows several times, a perturbed column replaced by draws of the true values.

        Parameters
        ----------
        column
            The column; those that were perturbed with it are drawn with it.
        given
            What the analysis relates to it, none of them perturbed.
        times, seed
            How often, and by which stream of chance.

        Returns
        -------
        list of DataFrame
            To be analysed one by one; ``estimators.combine`` brings together what is found.

        Raises
        ------
        ValueError
            If the column can't be drawn.
        """
        found: list[pd.DataFrame] = self.estimators.impute(self.data, column, given, times, seed)
        return found


def read_bundle(path: str | Path) -> ReceivedBundle:
    """Read a release as a recipient has it; no project is needed.

    Parameters
    ----------
    path
        The bundle's folder, its ``datapackage.json``, or the zip file.

    Raises
    ------
    FileError
        If it is no bundle, or can't be read.
    """
    found, description = package_at(Path(path)), description_at(Path(path))
    with table_file(found.path) as file:
        table = read_table(file, found.options, Silent())
    labels = {name: dict(labels) for name, labels in table.value_labels.items()}
    described = descriptor_from(description)  # of a package that is not ours it tells nothing
    for one in () if described is None else described.fields:
        if one.labels:
            labels.setdefault(one.name, {}).update(one.labels)
    return ReceivedBundle(table.frame, description, dict(table.column_labels), labels)
