"""How likely somebody is found in the generalized table, by what is known of the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from secrets import token_bytes
from typing import Any, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.core.wording import Sentence, as_sentence, joined
from sfumato.engine.generalization.coded import IntArray
from sfumato.engine.generalization.hierarchies import Hierarchy, value_text
from sfumato.engine.generalization.hierarchies.problems import widened
from sfumato.engine.generalization.publication import EquivalenceClasses
from sfumato.engine.generalization.risk import (
    Population,
    PopulationBasis,
    PopulationColumn,
    Risk,
    check_people,
    joined_risk,
    people_in,
    population_column,
    risk_of_classes,
    risk_of_sizes,
    unit_spread,
)
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey, KeyRing
from sfumato.engine.randomness.row_order import order_words
from sfumato.engine.table.combinations import Marks
from sfumato.formats.files import is_file
from sfumato.formats.options import BadValues, ReadOptions
from sfumato.formats.reading import (
    Note,
    ReadResult,
    detect_options,
    digest_of,
    preview,
    read_file,
)
from sfumato.project.document.generalization import PopulationFile
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.prepared import ClassedRows, Prepared, decided_in
from sfumato.project.release.batched_table import naming_rows
from sfumato.project.release.bucket_counts import (
    Buckets,
    RowsUnits,
    columns_of,
    put_marks,
    put_weights,
)
from sfumato.project.release.byproducts import released_weights, weight_column
from sfumato.project.release.units import row_marks, units_in
from sfumato.project.rules.text import suggestion

_NOWHERE: Final = object()
"""A value that no hierarchy of the column can know."""


@dataclass(frozen=True)
class UnknownCells:
    """Cells of the population that a column's hierarchy does not know.

    Parameters
    ----------
    column
        The column's name in the table.
    cells
        How many there are.
    row
        The first row, counted from 1.
    """

    column: str
    cells: int
    row: int

    @property
    def text(self) -> Sentence:
        """What is said of them; never their values."""
        return Sentence(
            "Column {column}: its hierarchy does not know {cells:,} {cells:cell|cells} of the"
            " population, first in row {row:,}; {cells:this person is|these people are} counted in"
            " no class.",
            column=self.column,
            cells=self.cells,
            row=self.row,
        )


@dataclass(frozen=True)
class PopulationFound:
    """A population, as the table's hierarchies see it.

    Parameters
    ----------
    file
        Where it is.
    generalized
        By the levels of the hierarchies.
    as_it_is
        The mark of each person by the values as they stand, shape (N,).
    unknown
        What the hierarchies don't know.
    notes
        What the reader remarked.
    """

    file: PopulationFile
    generalized: Population = field(repr=False)
    as_it_is: Marks = field(repr=False)
    unknown: tuple[UnknownCells, ...]
    notes: tuple[Note, ...] = ()

    @property
    def people(self) -> int:
        """The number of people in it."""
        return self.generalized.people


def open_population(path: Path, names: Sequence[str], context: Context) -> PopulationFile:
    """Look into a file with a population.

    Parameters
    ----------
    path
        Any table that can be read.
    names
        The quasi-identifiers; the population has columns of the same names, capitals aside.
    context
        Progress and cancelling.

    Raises
    ------
    FileError
        If it can't be read.
    DiversityError
        If a column is missing.
    """
    path = path.absolute()
    # A cell that does not fit its column is a cell that the hierarchy does not know.
    options = replace(detect_options(path), bad_values=BadValues.TEXT)
    columns = preview(path, options).columns
    alike = {name.casefold(): name for name in reversed(columns)}
    pairs = []
    for name in names:
        found = name if name in columns else alike.get(name.casefold())
        if found is None:
            raise DiversityError(
                "The population has no column {column}.",
                "Choose a list of people with a column for each of the columns that are"
                " generalized. {near}",
                column=name,
                near=suggestion(name, columns),
            )
        pairs.append((name, found))
    return PopulationFile(str(path), digest_of(path, context), options.to_dict(), tuple(pairs))


def read_population(
    document: Document, prepared: Prepared, context: Context
) -> PopulationFound | None:
    """Read the population that is decided on; None where there is none.

    Raises
    ------
    SourceMissing, SourceChanged
        If the file is not where it was, or is another.
    FileError
        If it can't be read.
    DiversityError
        If a column that is generalized now has none in it.
    """
    file = decided_in(document).population
    if file is None:
        return None
    read = _read(file, context)
    frame = read.table.frame
    names = dict(file.columns)
    generalized, unknown = [], []
    raw = np.zeros(len(frame), dtype=np.uint64)
    for hierarchy in prepared.hierarchies:
        theirs = names.get(hierarchy.column)
        if theirs is None or theirs not in frame.columns:
            raise DiversityError(
                "The population was chosen without the column {column}.",
                "Choose the population again.",
                column=hierarchy.column,
            )
        spec = document.column(hierarchy.column)
        column, lost = _by_hierarchy(document, hierarchy, spec, frame[theirs])
        generalized.append(column)
        unknown += lost
        raw += _text_marks(frame[theirs], spec.name)
    seen = Population(tuple(generalized))
    return PopulationFound(file, seen, raw, tuple(unknown), read.notes)


def risks_of(
    document: Document, made: ClassedRows, population: PopulationFound | None, context: Context
) -> tuple[Risk, Risk]:
    """Measure how likely somebody is found in the table, before and after, in one pass.

    Parameters
    ----------
    document
        What is decided about the population.
    made
        The classes of the node that is published, and the rows.
    population
        From `read_population`.
    context
        Progress and cancelling.

    Raises
    ------
    DiversityError
        If the table's people don't all belong to the population, or the sampling fraction is out
        of range.
    TableError
        If sampling weights can't be used (`sfumato.project.release.byproducts`).
    """
    decided, prepared = decided_in(document), made.prepared
    fraction = decided.sampling_fraction if population is None else None
    known = population is not None or fraction is not None
    weight = None if known else weight_column(document)
    table, unit, names = prepared.table, prepared.document.unit, decided.quasi_identifiers
    read = [*names, *(() if unit is None else unit.columns)]
    read += [] if weight is None else [weight.name]
    key, keys = AttributeKey(token_bytes(SECRET_BYTES)), KeyRing(token_bytes(SECRET_BYTES))
    summed = None if weight is None else np.zeros(len(made.classes.kept))
    with Buckets(table.folder, table.rows) as buckets:
        for batch, rows in table.read(
            list(dict.fromkeys(read)), "Measuring the risk", Part(context, 0.0, 0.9)
        ):
            part = columns_of(batch, list(dict.fromkeys(read)))
            marks, weights, whose = np.zeros(len(rows), dtype=np.uint64), None, None
            with naming_rows(rows):
                for name in names:
                    marks += _text_marks(part.column(name), name)
                if unit is not None:
                    whose = RowsUnits(units_in(batch, unit, keys), rows)
                if weight is not None and summed is not None:
                    weights = released_weights(part, weight)
                    summed += np.bincount(made.classes_of(part), weights, len(summed))
            put_marks(buckets, marks, key, weights, whose)
        before = _risk_as_it_is(buckets, key, population, fraction, made.classes)
    people = None
    if population is not None:
        people = people_in(prepared.coded, population.generalized, made.node)
    after = risk_of_classes(made.classes, decided.suppressed, people, fraction, summed)
    return before, after


def _risk_as_it_is(
    buckets: Buckets,
    key: AttributeKey,
    population: PopulationFound | None,
    fraction: float | None,
    classes: EquivalenceClasses,
) -> Risk:
    """Return the risk by rows' values as they stand, whose marks were put aside under a key."""
    found, lacking, counted = list[Risk](), 0, 0
    known = None
    if population is not None:
        known = np.unique(order_words(population.as_it_is, key)[:, 0], return_counts=True)
    for bucket in buckets:
        own, of_row, sizes = np.unique(
            bucket["mark"].to_numpy(), return_inverse=True, return_counts=True
        )
        people = weights = spread = None
        if known is not None:
            places = np.minimum(np.searchsorted(known[0], own), len(known[0]) - 1)
            people = np.where(known[0][places] == own, known[1][places], 0)
            lacking += int((people < sizes).sum())
            people = np.maximum(people, sizes)
        if "weight" in bucket.schema.names:
            weights = np.bincount(of_row, put_weights(bucket, key)).astype(np.float64)
        if "unit" in bucket.schema.names:
            units = pd.factorize(bucket["unit"].to_numpy())[0].astype(np.int64)
            spread = unit_spread(of_row, units, len(own))
        counted += len(own)
        found.append(risk_of_sizes(sizes, people, fraction, weights, spread))
    check_people(lacking, counted)
    whose = classes.whose
    return joined_risk(found, None if whose is None else int(whose.sizes.sum()))


def _text_marks(series: pd.Series, name: str) -> Marks:
    """Return each row's mark by a column's texts, the same in the table and in the population."""
    positions, texts = _texts(series)
    return row_marks(pd.Series(texts, dtype=object, name=name))[positions]


def told(
    risks: tuple[Risk, Risk],
    population: PopulationFound | None,
    fraction: float | None,
    unit: str = "",
) -> dict[str, Any]:
    """Return the risks as plain values, for the ledger and for tools."""
    named = ("prosecutor", "journalist", "marketer", "uniques", "population_uniques", "smallest")
    before, after = ({name: getattr(risk, name) for name in named} for risk in risks)
    facts: dict[str, Any] = {"before": before, "after": after, "basis": risks[1].basis.value}
    if unit:
        facts["unit"] = unit
    if population is not None:
        facts["people"] = population.people
        facts["population_digest"] = population.file.digest
        facts["unknown"] = [
            {"column": each.column, "cells": each.cells, "row": each.row}
            for each in population.unknown
        ]
        if cautions := [note.text for note in population.notes if note.caution]:
            facts["remarks"] = cautions
    elif risks[1].basis is PopulationBasis.SAMPLED:
        facts["sampling_fraction"] = fraction
    return facts


def basis_text(facts: Mapping[str, Any]) -> str:
    """Return in plain words what the risks rest on.

    Parameters
    ----------
    facts
        From `told`.
    """
    remarks = map(as_sentence, facts.get("remarks", ()))
    if not facts.get("unit"):
        return joined(_population_text(facts), *remarks)
    return joined(
        _population_text(facts),
        *remarks,
        Sentence(
            "Records with the same {unit} are one unit, which is found by any of them: the chance"
            " is its share of a class's records.",
            unit=facts["unit"],
        ),
    )


def _population_text(facts: Mapping[str, Any]) -> Sentence:
    if facts["basis"] == PopulationBasis.COUNTED:
        return Sentence(
            "The journalist and the marketer look among the {people:,} {people:person|people} of"
            " the population, counted class by class.",
            people=facts["people"],
        )
    if facts["basis"] == PopulationBasis.SAMPLED:
        return Sentence(
            "The table is a sample of {share:g} % of the population; class sizes there are"
            " estimated (Benedetti and Franconi 1998): large classes are scaled up, small ones by"
            " less, since what is rare in the table may be rare in the population.",
            share=100 * facts["sampling_fraction"],
        )
    if facts["basis"] == PopulationBasis.WEIGHTED:
        return Sentence(
            "The sampling weights say how many people of the population a class stands for: the"
            " sum of its records' weights, from which the chance to find somebody is estimated"
            " (Benedetti and Franconi 1998)."
        )
    return Sentence(
        "Nothing is known of the population, so the table counts as all of it: the journalist's"
        " risk is the prosecutor's."
    )


def _read(file: PopulationFile, context: Context) -> ReadResult:
    path = Path(file.path)
    if not is_file(path):
        raise SourceMissing(
            "The population is not at {path}.",
            "Choose the file again where it is now, or bring it back.",
            path=path,
        )
    if digest_of(path, Part(context, 0.0, 0.2)) != file.digest:
        raise SourceChanged(
            "The file with the population is another one than the one that was chosen.",
            "Bring the old file back, or choose the new one.",
        )
    options = ReadOptions.from_dict(dict(file.options))
    return read_file(path, options, Part(context, 0.2, 1.0))


def _texts(series: pd.Series) -> tuple[IntArray, list[str | None]]:
    """Return each row's position among a column's distinct texts, and these; None for missing."""
    positions, uniques = factorize(series)
    known: dict[str | None, int] = {}
    places = [known.setdefault(value_text(plain(v)), len(known)) for v in uniques]
    if bool((positions < 0).any()):
        places.append(known.setdefault(None, len(known)))
    # A missing value has position -1, which is the last entry of the lookup.
    return np.array(places, dtype=np.intp)[positions], list(known)


def _by_hierarchy(
    document: Document, hierarchy: Hierarchy, spec: ColumnSpec, theirs: pd.Series
) -> tuple[PopulationColumn, list[UnknownCells]]:
    """Return a column by the table's hierarchy, and what this does not know."""
    codes, texts = _texts(_in_bins(spec, theirs))
    own = {None if v is None else value_text(v): v for v in hierarchy.values}
    numeric = any(isinstance(v, int | float) and not isinstance(v, bool) for v in own.values())
    values = [own[text] if text in own else _typed(text, numeric) for text in texts]
    further = [v for v in values if v is not _NOWHERE]
    wide = widened(document.hierarchies[spec.name], hierarchy, further)  # type: ignore[arg-type]
    column = population_column(hierarchy, wide, codes, values)
    known = set(wide.values)
    strange = np.array([value not in known for value in values], dtype=np.bool_)[codes]
    if not strange.any():
        return column, []
    return column, [UnknownCells(spec.name, int(strange.sum()), int(strange.argmax()) + 1)]


def _typed(text: str | None, numeric: bool) -> Value | object:
    """Return a text of the population as a value of the table's column."""
    if not numeric or text is None:
        return text
    try:
        number = float(text)
    except ValueError:
        return _NOWHERE
    if not np.isfinite(number):
        return _NOWHERE
    return int(number) if number.is_integer() else number


def _in_bins(spec: ColumnSpec, series: pd.Series) -> pd.Series:
    """Return a column in the table's bins; what lies outside of them stays as it is."""
    if spec.binning is None:
        return series
    numbers = pd.to_numeric(series, errors="coerce")
    low, high = spec.binning.edges[0], spec.binning.edges[-1]
    inside = ((numbers >= low) & (numbers <= high)).fillna(False).astype(bool)
    bins = spec.binning.apply(numbers.where(inside).rename(spec.name).astype("float64"))
    return bins.astype(object).where(inside, series.astype(object))
