"""How likely somebody is found in the generalized table, by what is known of the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value, factorize, plain
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.generalization.coded import CodedTable, IntArray, QuasiIdentifier
from sfumato.engine.generalization.hierarchies import Hierarchy, value_text
from sfumato.engine.generalization.hierarchies.problems import widened
from sfumato.engine.generalization.publication import EquivalenceClasses, equivalence_classes
from sfumato.engine.generalization.risk import (
    Basis,
    Population,
    PopulationColumn,
    Risk,
    people_in,
    population_column,
    risk_of_classes,
)
from sfumato.engine.table.table import Table
from sfumato.formats.files import is_file
from sfumato.formats.options import BadValues, ReadOptions
from sfumato.formats.reading import detect_options, digest_of, preview, read_table
from sfumato.project.document.generalization import PopulationFile
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.generalization_pipeline import Prepared, decided_in
from sfumato.project.release.byproducts import weights_of
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
        By the values as they stand.
    unknown
        What the hierarchies don't know.
    """

    file: PopulationFile
    generalized: Population = field(repr=False)
    as_it_is: Population = field(repr=False)
    unknown: tuple[UnknownCells, ...]

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
    document: Document, table: Table, prepared: Prepared, context: Context
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
    frame = _read(file, context)
    names = dict(file.columns)
    generalized, raw, unknown = [], [], []
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
        raw.append(_as_it_is(table.column(spec.name), spec.name, frame[theirs]))
    return PopulationFound(
        file, Population(tuple(generalized)), Population(tuple(raw)), tuple(unknown)
    )


def risks_of(
    document: Document,
    table: Table,
    prepared: Prepared,
    classes: EquivalenceClasses,
    population: PopulationFound | None,
    node: Sequence[int],
) -> tuple[Risk, Risk]:
    """Measure how likely somebody is found in the table, before and after.

    Parameters
    ----------
    document, table, prepared
        What is decided, the rows, and what was made of them.
    classes
        The classes of the node that is published.
    population
        From `read_population`.
    node
        The levels that are published.

    Raises
    ------
    DiversityError
        If the table's people don't all belong to the population, or the sampling fraction is out
        of range.
    TableError
        If sampling weights can't be used (`sfumato.project.release.byproducts`).
    """
    decided = decided_in(document)
    fraction = decided.sampling_fraction if population is None else None
    as_it_is = CodedTable(
        tuple(
            QuasiIdentifier(name, codes, (np.arange(len(texts)),))
            for name in decided.quasi_identifiers
            for codes, texts in [_texts(table.column(name))]
        ),
        prepared.coded.sensitive,
        prepared.coded.values,
        units=prepared.coded.units,
    )
    bottom = as_it_is.lattice.bottom
    raw = equivalence_classes(as_it_is, bottom)
    before = after = None
    if population is not None:
        before = people_in(as_it_is, population.as_it_is, bottom)
        after = people_in(prepared.coded, population.generalized, tuple(node))
    stated = population is not None or fraction is not None
    weights = None if stated else weights_of(document, table)
    return (
        risk_of_classes(raw, decided.suppressed, before, fraction, _summed(raw, weights)),
        risk_of_classes(classes, decided.suppressed, after, fraction, _summed(classes, weights)),
    )


def _summed(
    classes: EquivalenceClasses, weights: npt.NDArray[np.float64] | None
) -> npt.NDArray[np.float64] | None:
    """Return the sum of the sampling weights in each class: the people it is estimated to have."""
    if weights is None:
        return None
    summed: npt.NDArray[np.float64] = np.bincount(
        classes.of_row, weights, minlength=len(classes.sizes)
    ).astype(np.float64)
    return summed


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
    elif risks[1].basis is Basis.SAMPLED:
        facts["sampling_fraction"] = fraction
    return facts


def basis_text(facts: Mapping[str, Any]) -> str:
    """Return in plain words what the risks rest on.

    Parameters
    ----------
    facts
        From `told`.
    """
    if not facts.get("unit"):
        return _population_text(facts)
    return joined(
        _population_text(facts),
        Sentence(
            "Records with the same {unit} are one unit, which is found by any of them: the chance"
            " is its share of a class's records.",
            unit=facts["unit"],
        ),
    )


def _population_text(facts: Mapping[str, Any]) -> Sentence:
    if facts["basis"] == Basis.COUNTED:
        return Sentence(
            "The journalist and the marketer look among the {people:,} {people:person|people} of"
            " the population, counted class by class.",
            people=facts["people"],
        )
    if facts["basis"] == Basis.SAMPLED:
        return Sentence(
            "The table is a sample of {share:g} % of the population; class sizes there are"
            " estimated (Benedetti and Franconi 1998): large classes are scaled up, small ones by"
            " less, since what is rare in the table may be rare in the population.",
            share=100 * facts["sampling_fraction"],
        )
    if facts["basis"] == Basis.WEIGHTED:
        return Sentence(
            "The sampling weights say how many people of the population a class stands for: the"
            " sum of its records' weights, from which the chance to find somebody is estimated"
            " (Benedetti and Franconi 1998)."
        )
    return Sentence(
        "Nothing is known of the population, so the table counts as all of it: the journalist's"
        " risk is the prosecutor's."
    )


def _read(file: PopulationFile, context: Context) -> pd.DataFrame:
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
    return read_table(path, options, Part(context, 0.2, 1.0)).frame


def _texts(series: pd.Series) -> tuple[IntArray, list[str | None]]:
    """Return each row's position among a column's distinct texts, and these; None for missing."""
    positions, uniques = factorize(series)
    known: dict[str | None, int] = {}
    places = [known.setdefault(value_text(plain(v)), len(known)) for v in uniques]
    if bool((positions < 0).any()):
        places.append(known.setdefault(None, len(known)))
    # A missing value has position -1, which is the last entry of the lookup.
    return np.array(places, dtype=np.intp)[positions], list(known)


def _as_it_is(ours: pd.Series, name: str, theirs: pd.Series) -> PopulationColumn:
    places = {text: code for code, text in enumerate(_texts(ours)[1])}
    codes, texts = _texts(theirs)
    classes = np.array([places.get(text, -1) for text in texts], dtype=np.intp)
    return PopulationColumn(name, codes, (classes,))


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
