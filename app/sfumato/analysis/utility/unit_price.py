"""What it costs to protect persons, households or companies in place of single rows.

Where a unit's rows are drawn one by one, they share its ε: the more of them leave, the more noise
each gets. Fewer rows leave fewer records, and move figures in which large units differ. Between the
two lies the bound K on a unit's rows at which means and shares are known best; it is proposed, and
the price is told before anything is chosen, beside what pooling a unit's rows restores without it.

The bound follows from the true rows and recipients are told it, so it stays a proposal that the
custodian takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Final

import numpy as np

from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure.pooled_rows import pooled_rows, worst_pooled
from sfumato.analysis.utility.mechanism_choice import compare_mechanisms, in_records
from sfumato.analysis.utility.worth import columns_worth
from sfumato.analysis.utility.worth_figures import RecordsBehind, records_behind
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.repeated_units import repeated_unit, units_of
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.model import Document, Recipient, Unit
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.table_survey import (
    Survey,
    measured_for_unit,
    with_fixed_domains,
)
from sfumato.project.release.units import unit_of_columns

_MOST_ROWS: Final = 50_000
"""Of a longer table, so many rows are looked at, all rows of every unit among them."""
_MOST_BOUNDS: Final = 12


@dataclass(frozen=True)
class UnitPrice:
    """What columns are worth by how many rows of a unit leave.

    Parameters
    ----------
    unit
        The unit, with the bound that is proposed.
    largest
        The rows of the largest unit.
    recipient
        To whom; empty for a typical trusted partner.
    alone
        What each column is worth where every row stands alone, by the column's name.
    by_bound
        What it is worth where at most so many rows of a unit leave, by K.
    pooled
        What pooling a unit's rows restores where each stands alone, in sentences.
    mechanisms
        What was taken to protect columns that nothing protects yet, by the columns' names.
    """

    unit: Unit
    largest: int
    recipient: str
    alone: Mapping[str, float]
    by_bound: Mapping[int, Mapping[str, float]]
    pooled: tuple[str, ...] = ()
    mechanisms: Mapping[str, str] = field(default_factory=dict)

    @property
    def proposed(self) -> int:
        """K."""
        return self.unit.most_rows

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The price of each column, the proposal, and what pooling restores."""
        dearest = sorted(self.alone, key=self._left)
        told = [self._price(name) for name in dearest]
        if 1 <= self.proposed < self.largest:
            words = (
                "At most {rows:,} {rows:row|rows} of a {unit} {rows:is|are} proposed, of up to"
                " {largest:,}: then means and shares are known best."
            )
            named = self.unit.name
            told.insert(0, Sentence(words, rows=self.proposed, unit=named, largest=self.largest))
        pooled = [Sentence("Without it: {pooled}", pooled=one) for one in self.pooled]
        return (*told, *pooled)

    def _left(self, name: str) -> float:
        """Return which part of a column's worth protection by the unit leaves."""
        return self.by_bound[self.proposed][name] / max(self.alone[name], 1e-9)

    def _price(self, name: str) -> Sentence:
        alone, unit = self.alone[name], self.unit.name
        best, all_rows = (self.by_bound[rows][name] for rows in (self.proposed, self.largest))
        if self.unit.draws_once((name,)):
            words = "{column} is drawn once for a {unit}: worth {best}, and {alone} row by row."
        elif self.proposed == self.largest:
            words = "Protected by {unit}, {column} is worth {best}; row by row {alone}."
        else:
            words = (
                "Protected by {unit}, {column} is worth {best}; with all rows {all_rows}, row by"
                " row {alone}."
            )
        column: str = name
        if (mechanism := self.mechanisms.get(name)) is not None:
            title = Sentence(mechanism_called(mechanism).title)
            column = Sentence("{column} ({mechanism})", column=name, mechanism=title)
        return Sentence(
            words,
            column=column,
            unit=unit,
            best=in_records(best),
            all_rows=in_records(all_rows),
            alone=in_records(alone),
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "unit": list(self.unit.columns),
            "largest": self.largest,
            "proposed": self.proposed,
            "recipient": self.recipient,
            "columns": [
                {
                    "column": name,
                    "drawn_once": self.unit.draws_once((name,)),
                    "mechanism": self.mechanisms.get(name),
                    "worth_row_by_row": round(self.alone[name], 3),
                    "worth_by_bound": {
                        str(rows): round(found[name], 3) for rows, found in self.by_bound.items()
                    },
                }
                for name in self.alone
            ],
            "pooled": [str(one) for one in self.pooled],
        }


def price_of_unit(
    document: Document,
    table: Table,
    columns: Sequence[str],
    noise: KeyedNoise,
    context: Context,
    recipient: Recipient | None = None,
) -> UnitPrice:
    """Return what protecting by a unit costs, and the bound at which that is least.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    columns
        The columns that name the unit.
    noise
        What mechanisms measure their settings with.
    context
        Progress and cancelling.
    recipient
        To whom columns are worth what is told; None for the first, or a typical one.

    Raises
    ------
    SfumatoError
        If the columns can't name a unit, or the rows don't fit the document.
    """
    unit, _ = unit_of_columns(document, MemorySurvey(table), columns, None, context)
    some, share = _some_units(table, unit)
    recipient = recipient or next(iter(document.recipients), None)
    names = [spec.name for spec in document.sensitive if spec.name in table.columns]
    document = with_fixed_domains(document, MemorySurvey(table))
    weighed = _Weighed(document, some, share, recipient, names, noise)
    found = {unit.most_rows: weighed.worth(unit, Part(context, 0.0, 0.1))}
    alone = weighed.worth(None, Part(context, 0.1, 0.2))
    apart = [name for name in alone if not unit.draws_once((name,))]
    bounds = _bounds(unit.most_rows - 1) if apart else []
    for rows, part in one_by_one(Part(context, 0.2, 0.8), bounds):
        found[rows] = weighed.worth(replace(unit, most_rows=rows), part)
    price = UnitPrice(
        replace(unit, most_rows=_best(found, apart, unit.most_rows)),
        unit.most_rows,
        "" if recipient is None else recipient.name,
        {name: alone[name] for name in names if name in alone},
        {rows: {name: found[rows].get(name, 0.0) for name in alone} for rows in sorted(found)},
        mechanisms=dict(weighed.mechanisms),
    )
    pooled = tuple(_pooled(document, table, columns, recipient, Part(context, 0.8, 1.0)))
    return replace(price, pooled=pooled)


def price_in(
    document: Document,
    source: Survey,
    columns: Sequence[str],
    noise: KeyedNoise,
    context: Context,
) -> UnitPrice | None:
    """Return the price where all rows are at hand; None where only some are."""
    if source.sample.rows < source.rows:
        return None
    return price_of_unit(document, source.sample, columns, noise, context)


def _bounds(largest: int) -> list[int]:
    """Return the bounds that are tried: all small ones, and larger ones by equal factors."""
    if largest <= _MOST_BOUNDS:
        return list(range(1, largest + 1))
    return sorted({round(one) for one in np.geomspace(1, largest, _MOST_BOUNDS)})


def _best(found: Mapping[int, Mapping[str, float]], apart: Sequence[str], largest: int) -> int:
    """Return the bound at which the columns drawn row by row are worth most, by their mean factor.

    As many rows as there are where all columns are drawn once for a unit.
    """

    def gain(rows: int) -> float:
        return sum(math.log(max(found[rows].get(name, 0.0), 1e-9)) for name in apart)

    return max(sorted(found, reverse=True), key=gain) if apart else largest


def _some_units(table: Table, unit: Unit) -> tuple[Table, float]:
    """Return all rows of some units, and how many times as many rows there are."""
    if table.rows <= _MOST_ROWS:
        return table, 1.0
    codes = units_of(table, unit.columns)
    chosen = codes % (1 + table.rows // _MOST_ROWS) == 0  # numbered by their first rows
    some = replace(table, frame=table.frame[chosen].reset_index(drop=True))
    return some, table.rows / some.rows


@dataclass(frozen=True)
class _Weighed:
    """What is weighed, at one bound after the other."""

    document: Document
    table: Table
    share: float
    recipient: Recipient | None
    names: Sequence[str]
    noise: KeyedNoise
    mechanisms: dict[str, str] = field(default_factory=dict)
    """What is recommended for columns that nothing protects, at the first bound; kept from then on:
    the price of a unit is that of the same protection."""

    def worth(self, unit: Unit | None, context: Context) -> dict[str, float]:
        """Return what each column is worth where rows are protected by a unit, or alone."""
        context.report(0.0, "Weighing what protection costs")
        document = self.document.with_unit(unit)
        survey = MemorySurvey(self.table)
        document = measured_for_unit(document, survey, self.noise)
        known = {name: survey.attributes([document.column(name)], unit)[0] for name in self.names}
        behind = records_behind(document, self.table)
        behind = replace(
            behind,
            of=round(behind.of * self.share),
            leave=round(behind.leave * self.share),
            apart=behind.apart * self.share,
            by_unit=behind.by_unit * self.share,
        )
        found = dict(self._protected(document, known, behind))
        for name in self.names:
            if name not in found and document.entry_for(name) is None:
                recipe = document.hierarchies.get(name)
                attribute = replace(known[name], hierarchy=recipe)
                only = self.mechanisms.get(name, "")
                asked = (document, (attribute,), self.recipient, behind, self.noise, known, only)
                choice = compare_mechanisms(*asked)
                if name not in self.mechanisms and choice.best is not None:
                    self.mechanisms[name] = choice.best.mechanism
                option = choice.option(self.mechanisms.get(name, ""))
                if option is not None:
                    found[name] = option.records
        return found

    def _protected(
        self, document: Document, known: Mapping[str, Attribute], behind: RecordsBehind
    ) -> Iterator[tuple[str, float]]:
        """Yield what columns are worth that are protected already."""
        if self.recipient is not None:
            recipient = self.recipient
            entries = [e for e in document.policy if e.key in recipient.statements]
            part = replace(document, policy=tuple(entries))
            for one in columns_worth(part, recipient, known, behind, helping=False)[0]:
                yield one.column, one.records


def _pooled(
    document: Document,
    table: Table,
    columns: Sequence[str],
    recipient: Recipient | None,
    context: Context,
) -> Iterator[str]:
    """Yield what pooling the rows of a unit restores without protecting by it."""
    if len(columns) > 1 or recipient is None:
        return
    with suppress(SfumatoError):  # the policy says what is wrong with it
        unit = repeated_unit(table, columns[0], Part(context, 0.0, 0.5))
        names = {name for entry in document.policy for name in entry.attributes}
        survey = MemorySurvey(table)
        known = {name: survey.attributes([document.column(name)])[0] for name in names}
        pooling = Part(context, 0.5, 1.0)
        found = pooled_rows(document, known, (unit,), (), ReleaseBasis.PLANNED, pooling)
        first = [one for one in found if one.recipient == recipient.name]
        yield from (one.sentence for one in worst_pooled(first))
