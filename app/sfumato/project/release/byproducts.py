"""What a bundle has beside perturbed values: pseudonyms, sampling weights, and what follows.

Identifying columns can leave as pseudonyms: for whom they are the same says what they link.
Sampling weights say how many of the population each record stands for. What in a bundle follows
from the true table is asked here by the guarantee, the README's list of what is not promised, the
report and the check before a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import LadderError, SfumatoError, TableError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.record_ids import pseudonyms
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

SHARED = "shared"


def pseudonymous(document: Document) -> tuple[ColumnSpec, ...]:
    """Return the identifying columns that leave as pseudonyms, in the table's order."""
    return tuple(column for column in document.columns if column.as_pseudonym is not None)


def scope_of(spec: ColumnSpec, recipient: str) -> str:
    """Return whose pseudonyms a recipient sees: those that several share, or their own.

    Two recipients see the same pseudonyms exactly when their scopes are the same text.
    """
    told = spec.as_pseudonym
    shares = told is not None and (told.shared_by is None or recipient in told.shared_by)
    return SHARED if shares else f"recipient {recipient}"


def scopes_for(document: Document, recipient: str) -> dict[str, str]:
    """Return the scope of each column that leaves as a pseudonym, by its name."""
    return {spec.name: scope_of(spec, recipient) for spec in pseudonymous(document)}


def pseudonym_column(
    table: Table, name: str, scope: str, keys: KeyRing, context: Context
) -> pd.Series:
    """Return an identifying column as it leaves.

    Raises
    ------
    TableError
        If there is no such column, or two values share a pseudonym.
    """
    return pseudonyms(table.column(name), keys.for_pseudonyms(name, scope), context)


def linking_cautions(document: Document) -> tuple[str, ...]:
    """Say what pseudonyms let recipients link, with their names, for the custodian."""
    said: list[str] = [*filter(None, [drawn_once_sentence(document)])]
    for spec in pseudonymous(document):
        sharing = [r.name for r in document.recipients if scope_of(spec, r.name) == SHARED]
        said.append(within_sentence(spec))
        if len(sharing) > 1:
            said.append(
                Sentence(
                    "{names} share the pseudonyms of {column}: together they can lay their rows"
                    " beside each other, and know of each {column} all that any of them was given.",
                    names=listed(sharing),
                    column=spec.name,
                )
            )
    return tuple(said)


def linking_limits(document: Document, recipient: str) -> tuple[str, ...]:
    """Say what pseudonyms let one recipient link, without naming others."""
    said: list[str] = [*filter(None, [drawn_once_sentence(document)])]
    for spec in pseudonymous(document):
        said.append(within_sentence(spec))
        others = [r.name for r in document.recipients if r.name != recipient]
        alike = [name for name in others if scope_of(spec, name) == SHARED]
        if alike and scope_of(spec, recipient) == SHARED:
            said.append(
                Sentence(
                    "Other recipients have the same pseudonyms of {column}: whoever pools releases"
                    " with theirs can lay the rows beside each other.",
                    column=spec.name,
                )
            )
    return tuple(said)


def numbers_drawn_once(document: Document) -> tuple[str, ...]:
    """Return the numbers that are drawn once for all rows of a unit, which nothing else links."""
    unit, pseudonyms_told = document.unit, {spec.name for spec in pseudonymous(document)}
    if unit is None or unit.most_rows == 1 or pseudonyms_told.issuperset(unit.columns):
        return ()
    once = (entry.attributes for entry in document.policy if unit.draws_once(entry.attributes))
    columns = [document.column(name) for names in once for name in names]
    return tuple(
        spec.name for spec in columns if spec.kind is Kind.NUMERIC and spec.binning is None
    )


def drawn_once_sentence(document: Document) -> str:
    """Say that rows of a unit show one noisy number, and so can be linked; empty without any."""
    names = numbers_drawn_once(document)
    if not names or document.unit is None:
        return ""
    return Sentence(
        "Rows with the same {unit} show the same {columns}, by which they can be put together, the"
        " more surely the fewer rows show a number. What they show together can be unique where"
        " none of them is by itself: no count of unique records and no size of a group includes"
        " that.",
        unit=document.unit.name,
        columns=listed(names),
    )


def within_sentence(spec: ColumnSpec) -> str:
    """Say that rows with one pseudonym belong together, in this release and in later ones."""
    return Sentence(
        "Rows with the same pseudonym of {column} belong together, in one release and in all later"
        " ones to the same recipient. What they show together can be unique where none of them is"
        " by itself: no count of unique records and no size of a group includes that.",
        column=spec.name,
    )


_REMEDY: Final = (
    "Correct these rows in the source table, or give the column another role than that of a weight."
)


def weight_column(document: Document) -> ColumnSpec | None:
    """Return the weight that risks are computed with: the first in the table's order, if any."""
    return next((column for column in document.columns if column.role is Role.WEIGHT), None)


def check_weights(document: Document, table: Table) -> None:
    """Refuse weights that say nothing, in any column of that role.

    Raises
    ------
    TableError
        If a weight is missing, no number, not above 0, or not finite. Rows are named, and never
        a value.
    """
    for column in document.columns:
        if column.role is Role.WEIGHT:
            released_weights(table, column)


def weights_of(document: Document, table: Table) -> Floats | None:
    """Return the weights that risks are computed with, as they are released; None without any.

    Weights that sum to fewer people than there are records, relative ones, make risks look as high
    as if the table were the whole population.

    Raises
    ------
    TableError
        See `check_weights`.
    """
    column = weight_column(document)
    if column is None:
        return None
    return released_weights(table, column)


def released_weights(table: Table, column: ColumnSpec) -> Floats:
    """Return one column of weights as it is released, shape (n,).

    Raises
    ------
    TableError
        See `check_weights`.
    DomainError
        If it is coded and not numeric.
    """
    series = table.column(column.name)
    try:
        numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        numbers = None
    if numbers is None or column.binning is not None:
        raise TableError(
            "The weights of column {column} are not numbers.",
            "Take its bins away or read it as numbers, or give it another role than that of a"
            " weight.",
            column=column.name,
        )
    _refuse(np.isnan(numbers), column.name, _MISSING)
    _refuse(~(numbers > 0.0), column.name, _NOT_POSITIVE)
    _refuse(np.isinf(numbers), column.name, _INFINITE)
    if column.coded is None:
        return numbers
    shown: Floats = column.coded.apply(series).to_numpy(dtype=np.float64)
    if not bool((shown > 0.0).all()):
        raise TableError(
            "Rounded to {step:g}, the weights of column {column} become 0 in {count}"
            " {count:row|rows}, first in row {row}.",
            "Round to less, or cut them off below at a number above 0.",
            step=column.coded.step or 0.0,
            column=column.name,
            count=int((shown <= 0.0).sum()),
            row=int((shown <= 0.0).argmax()) + 1,
        )
    return shown


_MISSING: Final = Sentence("missing")
_NOT_POSITIVE: Final = Sentence("zero or negative")
_INFINITE: Final = Sentence("infinite")


def _refuse(rows: npt.NDArray[np.bool_], name: str, fault: Sentence) -> None:
    """Name the first row with a weight that can't be one, where there is one."""
    if rows.any():
        raise TableError(
            "The weight in column {column} is {fault} in {count} {count:row|rows}, first in row"
            " {row}.",
            _REMEDY,
            column=name,
            fault=fault,
            count=int(rows.sum()),
            row=int(rows.argmax()) + 1,
        )


def population_uniques(alone: npt.NDArray[np.bool_], weights: Floats) -> float:
    """Return how many sample uniques are expected to be unique in the population.

    Nobody else is in a record's class with probability 1/w, where the class has the negative
    binomial distribution of Benedetti and Franconi (1998).

    Parameters
    ----------
    alone
        Whether each record is unique, shape (n,).
    weights
        Shape (n,).
    """
    # Rounded once, the sum does not depend on the order of the rows.
    return math.fsum(chances_in_population(weights[alone]).tolist())


def chances_in_population(weights: Floats) -> Floats:
    """Return how likely each of some sample uniques is unique in the population, shape (n,)."""
    return np.minimum(1.0 / weights, 1.0)


COUNTS_TOLD: Final = Sentence(
    "The number of records, and how many of them share values of the columns released unchanged,"
    " are disclosed exactly."
)


def byproduct_epsilon(entry: PolicyEntry) -> float:
    """Return ε0 of what recipients are told beside an entry's released values.

    0 where settings can't be read: the policy says what is wrong with them.
    """
    try:
        return mechanism_called(entry.mechanism).byproduct_epsilon(entry.settings)
    except SfumatoError:
        return 0.0


def exact_byproducts(document: Document) -> dict[str, str]:
    """Return the policy entries whose bundles would tell exact statistics of the table, and how.

    No limit of theirs is kept: whoever knows all other records learns the last one.
    """
    return {
        entry.key: Sentence(
            "The parameters that recipients get with {entry} were computed from the exact table,"
            " so anyone who knows all other records can work out a person's {entry}",
            entry=entry.key,
        )
        for entry in document.policy
        if math.isinf(byproduct_epsilon(entry))
    }


def columns_from_rows(document: Document) -> tuple[str, ...]:
    """Return the released columns whose values or bins were taken from the rows, unconfirmed."""
    perturbed = {name for entry in document.policy for name in entry.attributes}
    return tuple(
        column.name
        for column in document.columns
        if column.tells_rows
        and column.role is not Role.IDENTIFYING
        and (column.binning is not None or column.name in perturbed)
    )


def from_rows_sentence(document: Document) -> str:
    """Say which lists of values tell that somebody has each value; empty where none does."""
    names = columns_from_rows(document)
    if not names:
        return ""
    return Sentence(
        "The values or bins of {names} were taken from the table, so anyone who sees them can"
        " tell that somebody has each of them. No figure here includes that; it holds until they"
        " are confirmed as the values that could occur.",
        names=listed(names),
    )


def labels_from_rows(document: Document, levels: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """Return the columns whose labels at some levels name values that occur in the table.

    Parameters
    ----------
    document
        Its hierarchies.
    levels
        By column, once for each view or table that shows them.
    """
    shown = [(name, level) for each in levels for name, level in each.items()]
    found = {
        name
        for name, level in shown
        if (recipe := document.hierarchies.get(name)) is not None
        and not recipe.by_value
        and 0 < level < recipe.height
        and document.column(name).binning is None
        and (document.column(name).domain is None or document.column(name).from_rows)
    }
    return tuple(column.name for column in document.columns if column.name in found)


def labels_sentence(names: Sequence[str]) -> str:
    """Say what labels of `labels_from_rows` tell; empty where there are none."""
    if not names:
        return ""
    return Sentence(
        "Groups of {names} without a name of their own are called after the first and the last of"
        " their values that occur, rounded or cut off where the column is: anyone who sees the"
        " labels can tell that somebody has each of these values, the lowest and the highest among"
        " them.",
        names=listed(names),
    )


def seen_labels_sentence(document: Document, recipients: Iterable[Recipient]) -> str:
    """Say what the labels tell that views show to recipients; empty where it is nothing."""
    views = [recipient.view.levels for recipient in recipients if recipient.view is not None]
    return labels_sentence(labels_from_rows(document, views))


def byproducts_that_remain(document: Document, recipients: Iterable[Recipient]) -> tuple[str, ...]:
    """Return what recipients' bundles tell of the table beside its released values, uncounted.

    What mechanisms tell, exact or with noise, stands with their own promises
    (`Mechanism.byproducts`).
    """
    told = (from_rows_sentence(document), seen_labels_sentence(document, recipients))
    return (*filter(None, told), COUNTS_TOLD)


def check_byproducts(found: Mapping[str, str]) -> None:
    """Refuse the first of `exact_byproducts`.

    Raises
    ------
    LadderError
        Naming the policy entry and the way forward.
    """
    for sentence in found.values():
        raise LadderError(
            "{sentence}.",
            "Compute its settings again (per-value limits: solve them again with noisy counts),"
            " or state a reason for releasing anyway, which the ledger keeps.",
            sentence=sentence,
        )
