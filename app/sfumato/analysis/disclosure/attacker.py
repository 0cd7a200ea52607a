"""What an attacker knows about the people of a table, and the groups that makes of them.

An attacker who looks for one person knows some of the columns that are released as they are.
Records that agree on them are a micro group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy

from sfumato.analysis.all_rows import AllRows, RowsPart
from sfumato.engine.core.columns import Codes, Domain
from sfumato.engine.core.errors import PolicyError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Integers, smallest_unsigned
from sfumato.engine.core.wording import Sentence, as_sentence, listed
from sfumato.engine.disclosure.group_tails import effective_draws
from sfumato.engine.disclosure.grouped_values import GroupedValues, grouped_values
from sfumato.engine.disclosure.resampled_law import (
    GroupParts,
    ResampledLaw,
    Resampling,
    Trials,
)
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.micro_groups import (
    AlikeRows,
    MicroGroups,
    PublicAttribute,
    largest_counts,
    regrouped,
    value_counts,
)
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.batched_views import BatchedView
from sfumato.project.release.groups import check_knowledge, public_columns
from sfumato.project.release.views import coarsening_of, finest_of

_OWN: Final = "\0"
"""Begins the names of what groups records beside the columns as an attacker sees them."""
MOST_CELLS: Final = 1 << 24
"""In parts, so many groups and values of theirs are counted in releases at most, 16 bytes each."""


@dataclass(frozen=True)
class Attacked:
    """A sensitive attribute as the attacker sees it: micro groups with their true values.

    All is known by rows that are alike in what the attacker sees, in what the mechanism groups
    records by, and in the true value: T of them, each of which stands for several records.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    groups
        The micro groups that the attacker tells apart, by the rows that are alike.
    protected
        The groups that the mechanism protects, likewise; None where it protects none.
    codes, records
        Each such row's true value, and how many records it stands for, shape (T,).
    grouped
        The values in each of the attacker's groups.
    seen
        The quasi-identifiers as the attacker's files show them; None for the values as they are.
    """

    attribute: Attribute
    groups: MicroGroups
    protected: MicroGroups | None
    codes: Codes = field(repr=False)
    records: Integers = field(repr=False)
    grouped: GroupedValues
    alike: _Alike = field(repr=False)
    seen: BatchedView | None = None

    @property
    def looked_up(self) -> str:
        """By which view people are looked up, in a sentence; empty for the values as they are."""
        if self.seen is None:
            return ""
        levels = [
            Sentence("{name} at level {level}", name=name, level=self.seen.coarsening.level(name))
            for name in self.grouped.names
            if name in self.seen.coarsening.hierarchies
        ]
        if not levels:
            return ""
        return Sentence(
            "People are looked up by what {recipient} sees: {levels}; {suppressed:,}"
            " {suppressed:record shows|records show} * instead.",
            recipient=self.seen.coarsening.own.recipient,
            levels=listed(levels),
            suppressed=self.seen.view.rows_with_cells,
        )

    def groups_of(self, part: RowsPart) -> Integers:
        """Return the attacker's group of some rows, shape (k,).

        Raises
        ------
        TableError
            If the table changed meanwhile.
        """
        found: Integers = self.groups.codes[self.alike.places(part)]
        return found


class _Alike:
    """Looks for rows that are alike in what is seen, what groups them, and the true value."""

    def __init__(
        self,
        rows: AllRows,
        attribute: Attribute,
        names: Sequence[str],
        protecting: Sequence[str],
        seen: BatchedView | None,
    ) -> None:
        self._rows, self._attribute, self._seen = rows, attribute, seen
        changed = frozenset[str]() if seen is None else seen.changed
        self._names = tuple(names)
        # What is shown otherwise to the attacker than it groups records is another column.
        self._protecting = {
            name: _OWN + name if name in changed or name not in names else name
            for name in protecting
        }
        own = [key for key in self._protecting.values() if key not in names]
        self.columns = (*names, *own, _OWN)
        called = dict.fromkeys([*names, *protecting, attribute.name])
        self._found = AlikeRows(self.columns, rows.most_alike, tuple(called))

    def look(self, context: Context) -> MicroGroups:
        """Group all rows."""
        for part in self._rows.parts(self.read, "Grouping records", context):
            with part.naming_rows():
                self._found.add(self._frame(part), Silent())
        return self._found.groups()

    @property
    def read(self) -> set[str]:
        """The columns that are looked at."""
        viewed = () if self._seen is None else self._seen.coarsening.hierarchies
        return {*self._names, *self._protecting, *viewed, self._attribute.name}

    def _frame(self, part: RowsPart) -> pd.DataFrame:
        """Return some rows as they are told apart."""
        shown = self._rows.shown(part, self._names, self._seen)
        own = [name for name, key in self._protecting.items() if key not in self._names]
        for name, column in self._rows.shown(part, own).items():
            shown[self._protecting[name]] = column
        codes = part.codes(self._attribute)
        plain = {name: column.reset_index(drop=True) for name, column in shown.items()}
        return pd.DataFrame({**plain, _OWN: codes}, copy=False)

    def places(self, part: RowsPart) -> npt.NDArray[np.int64]:
        """Return which of the rows that are alike each of some rows is, shape (k,)."""
        return self._found.places(self._frame(part))

    def of(self, attributes: Sequence[PublicAttribute], protecting: bool) -> list[PublicAttribute]:
        """Return the columns that the attacker sees, or those that the mechanism groups by."""
        keys = self._protecting if protecting else {name: name for name in self._names}
        known = {each.name: each for each in attributes}
        return [
            PublicAttribute(name, known[key].values, known[key].codes) for name, key in keys.items()
        ]


@dataclass(frozen=True)
class Exposure:
    """One recipient's release of the attribute, planned or made.

    Parameters
    ----------
    recipient
        The recipient.
    level, trust
        The level in the mechanism's unit, and from 0 to 1.
    matrix
        The perturbation matrix.
    trials
        What the estimates for the attacker's groups rest on where the release repeats records;
        None where every record is perturbed by itself.
    """

    recipient: str
    level: float
    trust: float
    matrix: PerturbationMatrix
    trials: Trials | None = None


def attacked(
    rows: AllRows,
    entry: PolicyEntry,
    names: Sequence[str],
    context: Context,
    recipients: Sequence[str] = (),
) -> Attacked:
    """Return a sensitive attribute as whoever knows some public columns sees it.

    Parameters
    ----------
    rows
        All rows of the table.
    entry
        The policy entry of the attribute.
    names
        The public columns that the attacker knows.
    context
        Progress and cancelling.
    recipients
        Whose files the attacker has, and so the finest of their views of the quasi-identifiers;
        nobody's for the values as they are.

    Raises
    ------
    PolicyError
        If the attribute has no domain, or a column is not released as it is.
    DomainError
        If a row does not fit a column's bins.
    TableError
        If too many rows of a table that is read in parts differ in these columns.
    """
    document, name = rows.document, entry.attributes[0]
    attribute = rows.attributes(Part(context, 0.0, 0.3))[name]
    domain = _listed(attribute)
    check_knowledge(document, names)
    finest = finest_of(document, recipients)
    coarsening = None if finest is None else coarsening_of(document, finest)
    seen = None if coarsening is None else rows.seen(coarsening, Part(context, 0.3, 0.6))
    grouping = None
    if attribute.groups is not None:
        grouping = public_columns(document, entry.settings, entry.mechanism)
    alike = _Alike(rows, attribute, names, grouping or (), seen)
    found = alike.look(Part(context, 0.6, 1.0))
    values = found.attributes[-1]
    codes = values.values.to_numpy(smallest_unsigned(domain.size))[values.codes]
    single = MicroGroups(np.arange(found.count), found.sizes)
    groups = regrouped(single, alike.of(found.attributes, False))
    protected = None
    if grouping is not None:
        protected = regrouped(single, alike.of(found.attributes, True))
    grouped = grouped_values(groups, codes, domain.size, found.sizes)
    context.report(1.0, "Groups are ready")
    return Attacked(attribute, groups, protected, codes, found.sizes, grouped, alike, seen)


def _listed(attribute: Attribute) -> Domain:
    """Return an attribute's values; refuse one that has no list of them."""
    if attribute.domain is None:
        raise PolicyError(
            "Column {column} is numeric without bins: its values have no shares to estimate.",
            "Choose an attribute with a list of values.",
            column=attribute.name,
        )
    return attribute.domain


def exposure(
    document: Document, entry: PolicyEntry, known: Attacked, recipient: Recipient
) -> Exposure:
    """Return what a recipient's level means for an attribute that is attacked.

    Raises
    ------
    PolicyError
        If the recipient has no level, or the mechanism no matrix.
    LevelError
        If the level can't be met.
    """
    mechanism = mechanism_called(entry.mechanism)
    attribute = known.attribute
    plan = plan_entry(document, entry, {attribute.name: attribute}, recipient)
    matrix = mechanism.matrix(plan.level, (attribute,), plan.settings)
    if matrix is None:
        raise PolicyError(
            "{mechanism} has no perturbation matrix, so shares can't be estimated from it.",
            "Choose another attribute.",
            mechanism=as_sentence(mechanism.title),
        )
    how = mechanism.resampling(plan.level, (attribute,), plan.settings)
    trials = None
    if how is not None and known.protected is not None:
        trials = trials_of(known, known.protected, how)
    return Exposure(recipient.name, plan.level, mechanism.trust(plan.level), matrix, trials)


def trials_of(known: Attacked, protected: MicroGroups, how: Resampling) -> Trials:
    """Return what estimates for an attacker's groups rest on in a resampled release.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    protected
        The groups that the mechanism protects, by the rows that are alike.
    how
        How their records are drawn and repeated.
    """
    parts = GroupParts.of(known.groups, protected, known.codes, how.size_of_domain, known.records)
    shares = largest_counts(parts.whole_counts) / protected.sizes
    draws = effective_draws(
        protected.sizes, shares, how.samples, how.retention, how.top, how.size_of_domain
    )
    counts = joined_draws(known.groups, protected, draws, known.records)
    return Trials(counts, how.draw, ResampledLaw(parts, how))


def joined_draws(
    known: MicroGroups, protected: MicroGroups, draws: Integers, records: Integers | int = 1
) -> Integers:
    """Return how many independent records the groups that an attacker knows amount to.

    Parameters
    ----------
    known
        The groups of whoever knows some public columns, G of them.
    protected
        The groups that the mechanism protects.
    draws
        How many independent records each of those amounts to.
    records
        How many records each row stands for whose groups these are.

    Returns
    -------
    numpy.ndarray
        Shape (G,). Where a group joins parts of several protected ones, the number that gives
        a sum of all its records the same variance (Kish's effective sample size).
    """
    repeats = records * (protected.sizes / draws)[protected.codes]
    weight = np.bincount(known.codes, weights=repeats, minlength=known.count)
    trials = np.rint(known.sizes.astype(np.float64) ** 2 / weight)
    counted: Integers = np.clip(trials, 1, known.sizes).astype(np.int64)
    return counted


def released_values(
    rows: AllRows, plans: Sequence[EntryPlan], known: Attacked, context: Context
) -> list[scipy.sparse.csr_array]:
    """Return how often each value, or symbol, is released in each group by some plans, (G, m) each.

    Exactly what releases show, also where they are fitted to adopted ones.

    Parameters
    ----------
    rows
        All rows of the table.
    plans
        What is released of the attribute.
    known
        The attribute as the attacker sees it.
    context
        Progress and cancelling.

    Raises
    ------
    TableError
        If there are too many groups and values to be counted in parts.
    SfumatoError
        As making the releases would.
    """
    chosen, name, size = (known.attribute,), known.attribute.name, _listed(known.attribute).size
    rows.draw(plans, Part(context, 0.0, 0.4))
    mechanisms = [mechanism_called(plan.mechanism) for plan in plans]
    symbols = [
        each.shown_domain(chosen, plan.settings)
        for each, plan in zip(mechanisms, plans, strict=True)
    ]
    sizes = [size if each is None else each.size for each in symbols]
    groups_known = known.groups.count
    counts = [scipy.sparse.csr_array((groups_known, each), dtype=np.int64) for each in sizes]
    read = known.alike.read | rows.read_for(plans)
    for part in rows.parts(read, "Counting released values", Part(context, 0.4, 1.0)):
        with part.naming_rows():
            groups = MicroGroups(known.groups_of(part), known.groups.sizes)
            for place, plan in enumerate(plans):
                released = part.maker.perturbed(plan, Silent())
                part.maker.forget()
                codes = mechanisms[place].shown_codes(chosen, released, plan.settings)
                counts[place] = counts[place] + value_counts(groups, codes, sizes[place])
        if sum(each.nnz for each in counts) > max(MOST_CELLS, rows.most_held(0) * len(counts)):
            raise TableError(
                "What is released of {attribute} has more than {most:,} different"
                " {most:value|values} in all groups together, too many to be counted in parts.",
                "Let the attacker know fewer columns, or let more memory be taken.",
                attribute=name,
                most=MOST_CELLS,
            )
    context.report(1.0, "Released values are counted")
    return counts
