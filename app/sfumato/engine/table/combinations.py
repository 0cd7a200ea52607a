"""Several columns seen as one: attributes whose values are combinations, and a number for each.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009, section 4:
sensitive attributes A1, …, Az are one attribute with the domain A1 × … × Az. A combination's code
counts through the last attribute's values first.

A *mark* is one 64-bit number for each record, the same where records agree on some columns. It is
the sum, over the columns, of a number that stands for the record's value; leaving a column
out is a subtraction. Nothing as long as the table is needed but the sum itself. Two groups of a
table with n groups share a number by accident with a probability below n²/2⁶⁵.
"""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Codes, Domain, Kind
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.values import (
    Indices,
    Integers,
    Words,
    count_codes,
    factorize,
    smallest_unsigned,
)
from sfumato.engine.core.wording import formatted
from sfumato.engine.table.table import (
    Attribute,
    Attributes,
    EncodedColumn,
    MeasuredRows,
    measured_rows,
)

MOST_COMBINATIONS: Final = 20_000
"""So many combinations of values are protected as one attribute at most."""

_BETWEEN: Final = " · "


def domains_of(attributes: Attributes) -> tuple[Domain, ...]:
    """Return the domains of categorical attributes.

    Raises
    ------
    PolicyError
        If one of them is numeric, or there are more than `MOST_COMBINATIONS` combinations.
    """
    domains = []
    for attribute in attributes:
        if attribute.domain is None:
            raise PolicyError(
                "Column {column} is numeric without bins, so its values can't be combined.",
                "Group its numbers into bins, or protect it by a mechanism for numbers.",
                column=attribute.name,
            )
        domains.append(attribute.domain)
    size = math.prod(domain.size for domain in domains)
    if len(domains) > 1 and size > MOST_COMBINATIONS:
        raise PolicyError(
            "{columns} have {size} {size:combination|combinations} of values; {most} can be"
            " protected together at most.",
            "Leave a column out, or group values of the largest domain ({largest}).",
            columns=key_of(attributes),
            size=formatted(size, ","),
            most=formatted(MOST_COMBINATIONS, ","),
            largest=max(attributes, key=lambda each: each.domain.size if each.domain else 0).name,
        )
    return tuple(domains)


def key_of(attributes: Attributes) -> str:
    """Return the names of attributes that are protected together, as one name."""
    return " + ".join(attribute.name for attribute in attributes)


def combined_domain(attributes: Attributes) -> Domain:
    """Return the domain of the combinations: their codes, each labelled by its values' names.

    One attribute's domain is itself; for errors see `domains_of`.
    """
    domains = domains_of(attributes)
    return domains[0] if len(domains) == 1 else _product(tuple(each.names for each in domains))


@lru_cache(maxsize=16)
def _product(names: tuple[tuple[str, ...], ...]) -> Domain:
    labels = {code: _BETWEEN.join(each) for code, each in enumerate(product(*names))}
    return Domain(tuple(labels), labels)  # type: ignore[arg-type]


def combined_fingerprint(attributes: Attributes) -> str:
    """Return a digest of the attributes' names and domains in their order, as JSON."""
    domains = domains_of(attributes)
    pairs = zip(attributes, domains, strict=True)
    return json.dumps([[attribute.name, domain.fingerprint] for attribute, domain in pairs])


def combined(attributes: Attributes) -> Attribute:
    """Return attributes that are protected together as one, with the combinations counted.

    One attribute is itself, and so is the first of several with numbers among them.

    Raises
    ------
    PolicyError
        If there are too many combinations.
    """
    first = attributes[0]
    if len(attributes) == 1 or any(each.domain is None for each in attributes):
        return first
    others = tuple(attributes[1:])
    # The same arrays are combined again and again while a level is dragged.
    known = first.combinations.get(tuple(map(id, others)))
    if known is not None:
        return known[1]
    domain = combined_domain(attributes)
    rows = [each.codes for each in attributes if each.codes is not None]
    codes = combined_codes(rows, sizes_of(attributes)) if len(rows) == len(attributes) else None
    once = all(each.counted is not None for each in attributes)
    counted = first.counted if once else None
    of_units = codes if codes is None or counted is None else codes[counted]
    counts = None if of_units is None else count_codes(of_units, domain.size)
    name = key_of(attributes)
    units = _measured_together(attributes)
    made = Attribute(
        name, Kind.CATEGORICAL, domain, counts, codes=codes, counted=counted, units=units
    )
    first.combinations[tuple(map(id, others))] = (others, made)
    return made


def _measured_together(attributes: Attributes) -> MeasuredRows | None:
    """Return the combinations in the rows that statistics are measured in."""
    rows, unit = measured_rows(attributes)
    return None if unit is None else MeasuredRows(unit, combined(rows))


def with_counts(attributes: Attributes, counts: Integers) -> None:
    """Let `combined` know how often combinations occur that were counted elsewhere, shape (m,)."""
    first, others = attributes[0], tuple(attributes[1:])
    domain, name = combined_domain(attributes), key_of(attributes)
    made = Attribute(name, Kind.CATEGORICAL, domain, counts, units=_measured_together(attributes))
    first.combinations[tuple(map(id, others))] = (others, made)


def combined_column(columns: Sequence[EncodedColumn]) -> EncodedColumn:
    """Return encoded columns that are protected together as one; see `combined`."""
    attributes = [column.attribute for column in columns]
    attribute = combined(attributes)
    if attribute is attributes[0]:
        return columns[0]
    codes = [cast(Codes, column.values) for column in columns]
    return EncodedColumn(attribute, combined_codes(codes, sizes_of(attributes)))


def combined_series(attributes: Attributes, columns: Mapping[str, pd.Series]) -> Codes:
    """Return the codes of the combinations that released columns show.

    Raises
    ------
    DomainError
        If a value is outside its domain, naming the column.
    """
    domains = domains_of(attributes)
    codes = [
        domain.encode(columns[attribute.name], attribute.name)
        for attribute, domain in zip(attributes, domains, strict=True)
    ]
    return combined_codes(codes, sizes_of(attributes))


def sizes_of(attributes: Attributes) -> tuple[int, ...]:
    """Return how many values each attribute has."""
    return tuple(domain.size for domain in domains_of(attributes))


def combined_codes(codes: Sequence[Codes], sizes: Sequence[int]) -> Codes:
    """Return the codes of combinations, in the smallest unsigned type.

    Parameters
    ----------
    codes
        Each attribute's codes, shape (n,).
    sizes
        How many values each has.
    """
    kind = smallest_unsigned(math.prod(sizes))
    whole = codes[0].astype(kind)
    for own, size in zip(codes[1:], sizes[1:], strict=True):
        whole *= kind.type(size)
        whole += own.astype(kind, copy=False)
    return whole


def separate_codes(codes: Codes, sizes: Sequence[int]) -> tuple[Codes, ...]:
    """Return each attribute's codes of combinations, the inverse of `combined_codes`."""
    places = np.unravel_index(np.arange(math.prod(sizes)), tuple(sizes))
    return tuple(
        cast(Codes, place.astype(smallest_unsigned(size)))[codes]
        for place, size in zip(places, sizes, strict=True)
    )


def members(sizes: Sequence[int], place: int) -> Indices:
    """Return each combination's value of the attribute at a place, shape (m,)."""
    return np.unravel_index(np.arange(math.prod(sizes)), tuple(sizes))[place]


_SAMPLE: Final = 100_000
"""Records an association is taken from, evenly spaced: enough for two digits."""


def association(first: Attribute, second: Attribute) -> float:
    """Return Cramér's V of two categorical attributes, corrected for chance, from 0 to 1.

    Bergsma, "A bias-correction for Cramér's V and Tschuprow's T", Journal of the Korean
    Statistical Society 42, 2013. 0 where the rows or the domains are not known, one of them is
    constant, or they have more than `MOST_COMBINATIONS` combinations.
    """
    if first.codes is None or second.codes is None or first.domain is None or second.domain is None:
        return 0.0
    sizes = first.domain.size, second.domain.size
    if math.prod(sizes) > MOST_COMBINATIONS:
        return 0.0
    step = max(len(first.codes) // _SAMPLE, 1)
    pairs = combined_codes([first.codes[::step], second.codes[::step]], sizes)
    seen = np.bincount(pairs, minlength=math.prod(sizes)).reshape(sizes).astype(np.float64)
    seen = seen[seen.any(axis=1)][:, seen.any(axis=0)]
    (rows, columns), total = seen.shape, seen.sum()
    if min(rows, columns) < 2 or total < 3:
        return 0.0
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / total
    spread = float(((seen - expected) ** 2 / expected).sum()) / total
    by_chance = (rows - 1) * (columns - 1) / (total - 1)
    left = [size - (size - 1) ** 2 / (total - 1) for size in (rows, columns)]
    return min(1.0, math.sqrt(max(0.0, spread - by_chance) / max(min(left) - 1.0, 1e-12)))


Marks = Words

_TILE: Final = 1 << 15
_STRETCH: Final = 1 << 18
_MISSING: Final = np.uint64(0x7FF8000000000000)
"""The bits of one of the many floats that are not a number."""


def marks_of(columns: Iterable[pd.Series], rows: int) -> Marks:
    """Return each record's mark by columns, shape (rows,); a column's name tells it apart.

    A missing value is a value like any other.
    """
    total = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        add_marks(total, column)
    return total


def add_marks(total: Marks, column: pd.Series) -> None:
    """Add a column's part to each record's mark; `ValueError` where the column has no name."""
    if column.name is None:
        raise ValueError("two columns without a name would count as one")
    seed = _seed(column.name)
    numbers = column.to_numpy() if isinstance(column.dtype, np.dtype) else None
    table = None
    if numbers is None or numbers.dtype.kind not in "biufmM":
        numbers, _ = factorize(column)
        # Codes are from −1, so the last number is that of missing values.
        codes = np.arange(-1, int(numbers.max(initial=-1)) + 1, dtype=np.int64)
        table = np.roll(_mark(codes.view(np.uint64), seed), -1)
    for start in range(0, len(total), _TILE):
        part = slice(start, start + _TILE)
        if table is None:
            total[part] += _mark(_bits_of(numbers[part]), seed)
        else:
            total[part] += table[numbers[part]]


def value_marks(column: pd.Series) -> tuple[Marks, npt.NDArray[np.integer] | None]:
    """Return marks of a column's values that are the same wherever a table is cut.

    Those of `add_marks` are cheaper, and hold for one table as it is in memory.

    Returns
    -------
    tuple
        The mark of each distinct value and at the end that of a missing one, with each row's place
        among them, −1 where missing; or the mark of each row, and None.
    """
    seed = _seed(column.name)
    numbers = column.to_numpy() if isinstance(column.dtype, np.dtype) else None
    if numbers is not None and numbers.dtype.kind in "biufmM":
        found = np.empty(len(numbers), dtype=np.uint64)
        for start in range(0, len(numbers), _TILE):
            part = slice(start, start + _TILE)
            found[part] = _mark(_bits_of(numbers[part]), seed)
        return found, None
    positions, uniques = factorize(column)
    values = uniques.to_numpy()
    bits = _bits_of(values) if values.dtype.kind in "biuf" else _hashed(values)
    return _mark(np.append(bits, _MISSING), seed), positions


def _hashed(values: npt.NDArray[np.generic]) -> Words:
    return pd.util.hash_array(values.astype(object), categorize=False)


def marks_of_numbers(name: Hashable, count: int) -> Marks:
    """Return the part in a record's mark of each of the numbers 0, 1, … that a column may hold."""
    return _mark(np.arange(count, dtype=np.uint64), _seed(name))


def mixed(numbers: Words) -> Words:
    """Return numbers whose bits depend on all bits of these ones (splitmix64)."""
    with np.errstate(over="ignore"):
        found = numbers + np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(30)
        found *= np.uint64(0xBF58476D1CE4E5B9)
        found ^= found >> np.uint64(27)
        found *= np.uint64(0x94D049BB133111EB)
        found ^= found >> np.uint64(31)
    return found


def class_counts(ordered: npt.NDArray[np.integer]) -> npt.NDArray[np.signedinteger]:
    """Return how often each mark, or another whole number, stands in a sorted list, in its order.

    It may be as long as the table, so it is of the smallest type that holds the list's length.
    """
    places = np.int32 if len(ordered) < 1 << 31 else np.int64
    if not len(ordered):
        return np.empty(0, places)
    ends = ordered[1:] != ordered[:-1]
    counts: npt.NDArray[np.signedinteger] = np.empty(np.count_nonzero(ends) + 1, places)
    done, last = 0, -1
    for start in range(0, len(ends), _STRETCH):
        found = np.flatnonzero(ends[start : start + _STRETCH])
        if len(found):
            found += start
            counts[done : done + len(found)] = np.diff(found, prepend=last)
            done, last = done + len(found), int(found[-1])
    counts[done] = len(ordered) - 1 - last
    return counts


@lru_cache(maxsize=1024, typed=True)
def _seed(name: Hashable) -> Words:
    """Return the number that tells a column apart."""
    names = np.array([name], dtype=object)
    return np.frombuffer(pd.util.hash_array(names).tobytes(), "<u8")


def _mark(bits: Words, seed: Words) -> Marks:
    with np.errstate(over="ignore"):
        return mixed(mixed(bits) + seed)


def _bits_of(numbers: npt.NDArray[np.generic]) -> Words:
    """Return numbers, moments or yes/no values as 64 bits, the same for equal ones."""
    if numbers.dtype.kind == "f":
        decimals = numbers.astype(np.float64) + 0.0  # so that -0 is 0
        bits = decimals.view(np.uint64)
        bits[np.isnan(decimals)] = _MISSING
        return bits
    if numbers.dtype.kind in "mM":
        return numbers.view(np.uint64)
    return numbers.astype(np.int64).view(np.uint64)
