"""What a bundle is made from: released rows and all that a recipient is told about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from sfumato.engine.core.columns import ColumnSpec, Domain, find_column
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.mechanisms.base import Promise, PublishedFacts
from sfumato.engine.table.table import Table
from sfumato.formats.errors import FileError
from sfumato.formats.formulas import needs_escape
from sfumato.formats.language import ENGLISH
from sfumato.formats.table_format import Rows, RowStream
from sfumato.formats.terms import ReleaseTerms

KEYED_ORDER: Final = "keyed"
TABLE_ORDER: Final = "table"
"""How a release's rows stand: in a random order of its own, or in the source table's."""

ROWS_AS_IN_TABLE: Final = Sentence(
    "The rows are in the source table's order: anyone with a register sorted like the table can"
    " match it to the file row by row, and tell whose row is whose."
)


class BundleError(FileError):
    """A file or folder is not a bundle, or not a whole one."""


@dataclass(frozen=True)
class Perturbation:
    """How some of the released columns were perturbed, and what that promises.

    Parameters
    ----------
    attributes
        The columns, in the order in which the mechanism takes them.
    mechanism
        The mechanism's identifier.
    title, summary
        Its name and one sentence about it, in plain words.
    published
        What the recipient is told; nothing in it is secret.
    promise
        What the release promises.
    channel
        What recipients' programs are told, see `Mechanism.channel`.
    symbols
        What the column shows, where that is not the attribute's own values.
    """

    attributes: tuple[str, ...]
    mechanism: str
    title: str
    summary: str
    published: PublishedFacts
    promise: Promise
    channel: Mapping[str, Any] | None = None
    symbols: Domain | None = None

    @property
    def relates(self) -> bool:
        """Whether recipients' programs relate the columns to others, and not count them alone."""
        return self.channel is not None and self.symbols is None


@dataclass(frozen=True)
class Generalized:
    """How a table was generalized, and what that promises; nothing in it is secret.

    Parameters
    ----------
    sensitive
        The column whose true values the table shows.
    levels
        For each generalized column, its level and the highest level of its hierarchy.
    promises
        What every equivalence class satisfies, in plain words.
    parameters
        The same for tools, as JSON values.
    suppression
        What became of records that stood out; empty where none did.
    limits
        What is not promised.
    hierarchies
        For each generalized column, how its labels become coarser still: rows of labels.
    starred
        How many records show "*" for all generalized columns since they stood out.
    counting
        What is to be known before its records are counted; empty where nothing is.
    """

    sensitive: str
    levels: Mapping[str, tuple[int, int]]
    promises: tuple[str, ...]
    parameters: Mapping[str, Any]
    suppression: str
    limits: tuple[str, ...]
    hierarchies: Mapping[str, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    starred: int = 0
    counting: str = ""


@dataclass(frozen=True)
class SeenView:
    """How coarsely a perturbed release shows the quasi-identifiers; nothing in it is secret.

    Parameters
    ----------
    levels
        For each of them, its level and the highest level of its hierarchy.
    k
        The records, or units, of the smallest class that was asked for.
    unit
        The columns that name the units that k counts; empty where it counts records.
    suppressed
        How many records show "*" for all of them.
    promise
        What that promises, in plain words.
    cells
        How many records show "*" for each of them, where single cells are suppressed.
    commonest
        The label that most records show of those that are coarser.
    """

    levels: Mapping[str, tuple[int, int]]
    k: int
    suppressed: int
    promise: str
    unit: str = ""
    cells: Mapping[str, int] | None = None
    commonest: Mapping[str, str] = field(default_factory=dict)

    def starred(self, name: str) -> int:
        """Return how many records show "*" for one of them."""
        return self.suppressed if self.cells is None else self.cells[name]

    @property
    def shown_cells(self) -> Mapping[str, int] | None:
        """How many records show "*" in place of a label; not of columns that show nothing else."""
        if self.cells is None:
            return None
        return {
            name: count
            for name, count in self.cells.items()
            if self.levels[name][0] < self.levels[name][1]
        }


@dataclass(frozen=True)
class UnitTold:
    """What a recipient is told of rows that belong together.

    Parameters
    ----------
    name
        The columns that name the unit; they are not released, or as pseudonyms.
    most_rows
        How many rows of a unit were released at most.
    once, apart
        The columns that were drawn once for a unit, and those that were drawn row by row.
    pseudonyms
        The columns of `name` that leave as pseudonyms.
    """

    name: str
    most_rows: int
    once: tuple[str, ...]
    apart: tuple[str, ...]
    pseudonyms: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """What it means for whoever estimates from the rows."""
        rows, unit = self.most_rows, self.name
        told: list[str] = [
            joined(
                Sentence("Rows with the same {unit} belong together.", unit=unit),
                self._names_told(),
                Sentence(
                    "At most {rows:,} of them {rows:is|are} in the file, chosen at random where"
                    " there are more, so shares and means are those of the rows that were"
                    " released.",
                    rows=rows,
                ),
            )
        ]
        if rows == 1:  # no two rows of a unit leave: rows are independent draws
            return tuple(told)
        if self.once:
            told.append(
                Sentence(
                    "{columns}: drawn once for all rows with the same {unit}, which show the same"
                    " value. Errors are by cluster: rows are no independent draws. The standard"
                    " errors and widths below hold for independent rows; multiply them by"
                    " {root:.3g} (the root of {rows:,}), which is enough whatever the sizes are,"
                    " since at most so many rows share a draw. Count units, not rows, where you"
                    " know which belong together.",
                    columns=", ".join(self.once),
                    unit=unit,
                    root=rows**0.5,
                    rows=rows,
                )
            )
            told.append(
                Sentence(
                    "What these columns are worth by the rule below, N, is that of independent"
                    " rows as well: divide it by {rows:,}.",
                    rows=rows,
                )
            )
        if self.apart:
            told.append(
                Sentence(
                    "{columns}: every row was drawn by itself, and the errors below hold for the"
                    " noise. Where you generalize beyond these rows, rows of one unit are a cluster"
                    " as in any survey.",
                    columns=", ".join(self.apart),
                )
            )
        return tuple(told)

    def _names_told(self) -> Sentence:
        """Say whether the file shows which rows belong together."""
        if not self.pseudonyms:
            return Sentence("The values of {unit} are not released.", unit=self.name)
        return Sentence(
            "{columns} {count:leaves as a pseudonym|leave as pseudonyms}, the same one in all rows"
            " of the same value: rows can be linked by it.",
            columns=listed(self.pseudonyms),
            count=len(self.pseudonyms),
        )


@dataclass(frozen=True)
class BundleContents:
    """All that the bytes of a bundle are a function of.

    Parameters
    ----------
    table
        The released table. It holds nothing that is not released.
    columns
        The specification of every released column, in the table's order.
    perturbations
        One for each policy entry.
    recipient
        For whom the release was made.
    title
        The title of the custodian's project; may be empty.
    release_id
        The release's identifier in the ledger.
    version
        The version of Sfumato that made the release.
    generalized
        How it was generalized; None for a release that was not.
    limits
        What no perturbation promises, because of the columns that were not perturbed.
    escape_formulas
        Whether texts that a spreadsheet would run as formulas are made harmless in CSV files.
    rows_as_in_table
        Whether rows stand in the source table's order, and not in a random one of the release.
    view
        How coarsely the quasi-identifiers are shown; None where they are as in the source.
    unit
        What is told of rows that belong together; None where every row stands alone.
    order
        Which row of `table` leaves at each place, shape (n,), None for as they stand; or what
        makes the rows while they are written, of which `table` has some of every sort.
    language
        What the recipient is told in; programs read the same in every language.
    dcat
        Whether the bundle is described for data catalogues too.
    terms
        What the recipient may do with it; None where nothing is stated.
    """

    table: Table
    columns: tuple[ColumnSpec, ...]
    perturbations: tuple[Perturbation, ...]
    recipient: str
    title: str
    release_id: str
    version: str
    generalized: Generalized | None = None
    limits: tuple[str, ...] = ()
    escape_formulas: bool = True
    rows_as_in_table: bool = False
    view: SeenView | None = None
    unit: UnitTold | None = None
    order: Rows = field(default=None, repr=False)
    language: str = ENGLISH
    dcat: bool = False
    terms: ReleaseTerms | None = None

    @property
    def rows(self) -> int:
        """How many rows are released."""
        return self.order.rows if isinstance(self.order, RowStream) else self.table.rows

    def column(self, name: str) -> ColumnSpec:
        """Return the specification of a released column; `KeyError` where absent."""
        return find_column(self.columns, name)

    def escaped_in(self, format_name: str) -> bool:
        """Whether texts are escaped in a data file, see `sfumato.formats.formulas`."""
        if format_name != "csv" or not self.escape_formulas:
            return False
        domains = [spec.domain for spec in self.columns if spec.domain is not None]
        return needs_escape(self.table, domains)

    def perturbation_of(self, name: str) -> Perturbation | None:
        """Return how a column was perturbed, or None where it was not."""
        return next((p for p in self.perturbations if name in p.attributes), None)
