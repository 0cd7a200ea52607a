"""What somebody who knows a few things of a neighbour finds out from the files of some recipients.

The custodian plays the attacker. Which rows remain follows from what the files show, what is then
believed of each sensitive value from the released values themselves, made again by key, and from
Bayes' rule over all rows that remain. For the custodian's eyes only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.coalitions.holdings import Holding, ReleaseBasis, members_of
from sfumato.analysis.coalitions.restored_files import covered_by, obstacle_to
from sfumato.analysis.disclosure.person_found import (
    Knowledge,
    NumberBelief,
    PersonBelief,
    PersonFound,
)
from sfumato.analysis.disclosure.person_rows import fitting_rows
from sfumato.analysis.other_holders.class_beliefs import belief_in
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.gaussian_attack import Prior, empirical_prior
from sfumato.engine.disclosure.record_risk import (
    ShownNumbers,
    TellingRelease,
    belief_about_numbers,
    belief_about_person,
    weights_of_records,
)
from sfumato.engine.generalization.others import HolderClasses, holder_classes
from sfumato.engine.matrices.retention_matrix import sums_by_member
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import (
    combined,
    combined_domain,
    members,
    sizes_of,
)
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.publication.generalization_pipeline import read_other
from sfumato.project.release.groups import check_knowledge
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.release.views import coarsening_of, finest_of

MOST_SHOWN: Final = 200
"""Of the rows that remain, so many are shown as the table has them."""
_INTERVAL: Final = (0.05, 0.95)
_MOST_NUMBERS: Final = 20_000
"""Of more records, so many are weighed against the numbers of the table, evenly spaced."""


def find_person(
    rows: AllRows,
    knowledge: Knowledge,
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
    context: Context,
) -> PersonFound:
    """Return which rows remain, and what is believed of each sensitive value before and after.

    Parameters
    ----------
    rows
        All rows of the table, by the policy that is weighed.
    knowledge
        What the attacker has.
    releases
        What the ledger tells of.
    basis
        Which releases are held, beside adopted ones.
    context
        Progress and cancelling.

    Raises
    ------
    PolicyError
        If nobody's files are held, a column is in no release, or a belief is none.
    TableError
        If more rows fit than can be weighed, or a known column has too many values.
    SfumatoError
        If the policy and the table don't fit together.
    """
    document = rows.document
    if not knowledge.holders:
        raise PolicyError("Nobody's files are held.", "Choose whose files the attacker has.")
    check_knowledge(document, [fact.column for fact in knowledge.facts])
    finest = finest_of(document, knowledge.holders)
    coarsening = None if finest is None else coarsening_of(document, finest)
    fitting = fitting_rows(rows, knowledge.facts, coarsening, Part(context, 0.0, 0.6))
    rows.attributes(Part(context, 0.6, 0.8))
    units, maker = rows.units(Part(context, 0.8, 0.8)), fitting.part.maker
    of_unit = None if units is None else maker.units[fitting.rows]
    weights = fitting.weights if of_unit is None else _by_unit(fitting.weights, of_unit)
    asker = _Asker(maker, knowledge, releases, basis, fitting.rows, weights)
    asker.look(Part(context, 0.8, 0.95))
    chances = asker.chances()
    order = np.argsort(-chances, kind="stable")
    return PersonFound(
        knowledge,
        fitting.records,
        units,
        fitting.places[order],
        chances[order],
        None if of_unit is None else of_unit[order],
        fitting.hidden,
        "" if coarsening is None else coarsening.own.recipient,
        asker.beliefs(Part(context, 0.95, 1.0)),
        fitting.part.table.frame.iloc[fitting.rows[order[:MOST_SHOWN]]],
        rows.sampled,
    )


def _by_unit(weights: Floats, of_unit: npt.NDArray[np.int64]) -> Floats:
    """Return rows' weights where each unit weighs as its best row, shared by its rows."""
    if not len(weights):
        return weights
    places = pd.factorize(of_unit)[0]
    best = np.zeros(int(places.max()) + 1)
    np.maximum.at(best, places, weights)
    total = np.bincount(places, weights=weights)
    shared = weights * np.divide(best, total, out=np.zeros_like(best), where=total > 0.0)[places]
    return np.asarray(shared / shared.sum(), dtype=np.float64)


@dataclass
class _EntryLook:
    """One policy entry: what its files show of the rows, and what was believed."""

    entry: PolicyEntry
    attributes: tuple[Attribute, ...]
    held: tuple[Holding, ...]
    reason: str
    common: Floats
    before: Floats
    shown: list[TellingRelease]
    numbers: list[ShownNumbers]
    weights: Floats


class _Asker:
    """Looks at the files' values of the rows that remain, entry by entry."""

    def __init__(
        self,
        regenerator: Regenerator,
        knowledge: Knowledge,
        releases: Sequence[ReleaseRecord],
        basis: ReleaseBasis,
        rows: npt.NDArray[np.intp],
        weights: Floats,
    ) -> None:
        self._regenerator, self._knowledge = regenerator, knowledge
        self._releases, self._basis = releases, basis
        self._rows, self._weights = rows, weights
        self._looked: list[_EntryLook] = []

    def look(self, context: Context) -> None:
        """Make the released values of the rows again."""
        document, attributes = self._regenerator.document, self._regenerator.attributes()
        self._check_beliefs(document)
        for entry, part in one_by_one(context, document.policy):
            chosen = {name: attributes[name] for name in entry.attributes}
            held = members_of(
                document, entry, chosen, self._releases, self._basis, self._knowledge.holders
            )
            self._looked.append(self._entry(entry, tuple(chosen.values()), held, part))

    def _check_beliefs(self, document: Document) -> None:
        for name in self._knowledge.believed:
            if document.entry_for(name) is None:
                raise PolicyError(
                    "{column} is not a sensitive attribute of the policy.",
                    "State what is believed of one that is.",
                    column=name,
                )

    def _entry(
        self,
        entry: PolicyEntry,
        attributes: tuple[Attribute, ...],
        held: tuple[Holding, ...],
        context: Context,
    ) -> _EntryLook:
        context.report(0.0, Sentence("Making {key} again", key=entry.key))
        reason = obstacle_to(self._regenerator, held)
        whole = combined(attributes)
        values = whole.counts is not None
        common = whole.frequencies if values else np.empty(0)
        before = self._before(attributes, common, context) if values else common
        looked = _EntryLook(
            entry, attributes, held, reason, common, before, [], [], np.ones(len(self._rows))
        )
        if not reason:
            for one, places in self._divided(held):
                self._see(looked, one, places, context)
        if values:
            looked.weights = weights_of_records(looked.shown, before, common, len(self._rows))
        return looked

    def _divided(self, held: Sequence[Holding]) -> list[tuple[Holding, npt.NDArray[np.intp]]]:
        """Return for each holding the rows of which it is the most telling one."""
        left = np.ones(len(self._rows), dtype=np.bool_)
        found = []
        for one in sorted(held, key=lambda each: -each.trust):
            covered = covered_by(self._regenerator, one)
            here = left if covered is None else left & covered[self._rows]
            if here.any():
                found.append((one, np.flatnonzero(here)))
            left = left & ~here
        return found

    def _see(
        self, looked: _EntryLook, one: Holding, places: npt.NDArray[np.intp], context: Context
    ) -> None:
        mechanism, plan = mechanism_called(one.plan.mechanism), one.plan
        request = self._regenerator.request(plan, self._rows[places])
        released = mechanism.release(request, context)
        attributes = looked.attributes
        if looked.common.size:
            matrix = mechanism.matrix(plan.level, attributes, plan.settings)
            if matrix is None:
                looked.reason = "its mechanism has no matrix."
                return
            shown = mechanism.shown_codes(attributes, released, plan.settings)
            looked.shown.append(TellingRelease(places, shown, matrix))
            return
        noise = mechanism.noise_law(plan.level, attributes, plan.settings)
        if noise is None:
            looked.reason = "its mechanism adds no noise."
            return
        numbers = np.stack(
            [released[each.name].to_numpy(np.float64, na_value=np.nan) for each in attributes]
        )
        told = np.flatnonzero(np.isfinite(numbers).all(axis=0))
        looked.numbers.append(ShownNumbers(places[told], numbers[:, told], noise))

    def _before(
        self, attributes: tuple[Attribute, ...], common: Floats, context: Context
    ) -> Floats:
        """Return what the attacker believes without the files, shape (m,).

        Of combinations: what is believed of each attribute, which else depend on one another as in
        the table.
        """
        if len(attributes) == 1:
            return self._before_of(attributes[0], common, context)
        before, sizes = common, sizes_of(attributes)
        for place, attribute in enumerate(attributes):
            member = members(sizes, place)
            shares = sums_by_member(before, member)
            believed = self._before_of(attribute, shares, context)
            # A value that does not occur is in all its combinations alike.
            within = np.where(shares[member] > 0.0, before, sizes[place] / len(before))
            weight = sums_by_member(within, member)
            before = within / weight[member] * believed[member]
        return before

    def _before_of(self, attribute: Attribute, common: Floats, context: Context) -> Floats:
        before = self._from_others(attribute, common, context)
        stated = self._knowledge.believed.get(attribute.name, {})
        if not stated:
            return before
        places, shares = list(stated), np.array(list(stated.values()))
        rest = np.ones(len(common), dtype=np.bool_)
        rest[places] = False
        others = before * rest
        if (
            (shares < 0.0).any()
            or shares.sum() > 1.0 + 1e-12
            or (shares.sum() < 1.0 - 1e-12 and others.sum() <= 0.0)
        ):
            raise PolicyError(
                "What is believed of {column} beforehand is no probability.",
                "Give shares from 0 to 1 that sum to no more than 1.",
                column=attribute.name,
            )
        if others.sum() > 0.0:
            others *= (1.0 - shares.sum()) / others.sum()
        others[places] = shares
        return others

    def _from_others(self, attribute: Attribute, common: Floats, context: Context) -> Floats:
        """Return what other holders' tables tell of the person, by equation (5) of the paper."""
        document, chosen = self._regenerator.document, self._knowledge.classes
        decided = document.generalization
        if not chosen or decided is None or decided.sensitive != attribute.name:
            return common
        tables = other_tables(document, attribute, context)
        used = [table for table in tables if table.holder in chosen]
        for table in used:
            if not 0 <= chosen[table.holder] < table.classes:
                raise PolicyError(
                    "The table of {holder} has no such class.",
                    "Choose one of its {count:,} {count:class|classes}.",
                    holder=table.holder,
                    count=table.classes,
                )
        found = belief_in(used, [chosen[table.holder] for table in used]) if used else None
        if found is None:
            return common
        if found.probabilities is None:
            raise PolicyError(
                "Nobody can be in these classes of the other tables at once: they share no value.",
                "Choose other classes, or leave a table out.",
            )
        return np.asarray(found.probabilities, dtype=np.float64)

    def chances(self) -> Floats:
        """Return how likely each row is the person's by everything, shape (k,)."""
        return self._without(None)

    def _without(self, left_out: _EntryLook | None) -> Floats:
        weights = self._weights.copy()
        for looked in self._looked:
            if looked is not left_out:
                weights *= looked.weights
        total = float(weights.sum())
        return weights / total if total > 0.0 else self._weights

    def beliefs(self, context: Context) -> tuple[PersonBelief | NumberBelief, ...]:
        """Return what is believed of each attribute in the end."""
        found: list[PersonBelief | NumberBelief] = []
        for place, looked in enumerate(self._looked):
            context.report(place / len(self._looked), "Weighing what is believed")
            holder = looked.held[0].recipient if looked.held else ""
            weights = self._without(looked)
            if not looked.common.size:
                found += _number_beliefs(looked, holder, weights)
                continue
            after = looked.before
            if not looked.reason:
                after = belief_about_person(looked.shown, weights, looked.before, looked.common)
            found += _beliefs(looked, holder, after)
        return tuple(found)


def _beliefs(looked: _EntryLook, holder: str, after: Floats) -> list[PersonBelief]:
    """Return what is believed of an attribute; of combinations, and of each attribute in them."""
    attributes = looked.attributes
    odds = looked.held[0].odds if looked.held else None
    whole = looked.common, looked.before, after
    names = combined_domain(attributes).names
    found = [PersonBelief(looked.entry.key, holder, names, *whole, odds, looked.reason)]
    for place, attribute in enumerate(attributes if len(attributes) > 1 else ()):
        member = members(sizes_of(attributes), place)
        common, before, believed = (sums_by_member(shares, member) for shares in whole)
        names = () if attribute.domain is None else attribute.domain.names
        found.append(
            PersonBelief(
                attribute.name, holder, names, common, before, believed, odds, looked.reason
            )
        )
    return found


def _number_beliefs(looked: _EntryLook, holder: str, weights: Floats) -> list[NumberBelief]:
    numbers = np.stack([each.numbers for each in looked.attributes if each.numbers is not None])
    prior = empirical_prior(numbers)
    after = prior.shares
    if not looked.reason:
        after = belief_about_numbers(*_fewer(looked, weights), prior)
    return [
        NumberBelief(
            attribute.name,
            holder,
            _told(prior, place, prior.shares),
            _told(prior, place, after),
            looked.reason,
        )
        for place, attribute in enumerate(looked.attributes)
    ]


def _fewer(looked: _EntryLook, weights: Floats) -> tuple[list[ShownNumbers], Floats]:
    """Return what is shown of some of the records, and their weights, where there are very many."""
    if len(weights) <= _MOST_NUMBERS:
        return looked.numbers, weights
    kept = np.zeros(len(weights), dtype=np.bool_)
    kept[np.linspace(0, len(weights) - 1, _MOST_NUMBERS).astype(np.intp)] = True
    some = np.where(kept, weights, 0.0)
    shown = []
    for each in looked.numbers:
        here = kept[each.records]
        shown.append(replace(each, records=each.records[here], numbers=each.numbers[:, here]))
    return shown, some / some.sum()


def _told(prior: Prior, place: int, shares: Floats) -> tuple[float, float, float]:
    order = np.argsort(prior.atoms[place], kind="stable")
    ranked, sums = prior.atoms[place][order], np.cumsum(shares[order])
    ends = [ranked[min(int(np.searchsorted(sums, end)), len(ranked) - 1)] for end in _INTERVAL]
    return float(prior.atoms[place] @ shares), float(ends[0]), float(ends[1])


def other_tables(
    document: Document, attribute: Attribute | None, context: Context
) -> tuple[HolderClasses, ...]:
    """Return the classes of other holders' tables; nothing where none is named.

    Parameters
    ----------
    document
        What is decided.
    attribute
        The sensitive attribute of the generalized table; None where the policy has it not.
    context
        Progress and cancelling.

    Raises
    ------
    DiversityError
        If a table does not tell of the attribute's values.
    SourceMissing, SourceChanged, FileError
        If another holder's file is gone, changed or can't be read.
    """
    decided = document.generalization
    others = () if decided is None or attribute is None else decided.others
    if not others or attribute is None or attribute.domain is None:
        return ()
    values, count = attribute.domain.values, len(others)
    return tuple(
        holder_classes(read_other(other, Part(context, place / count, (place + 1) / count)), values)
        for place, other in enumerate(others)
    )
