"""Cross-tables, regressions and imputations from perturbed columns, with their errors.

Leave this file beside ``datapackage.json``, which tells how columns were perturbed, and write
``from perturbed import code_counts, combine, crosstab, impute, regression``. It needs numpy and
pandas; ``perturbed.R`` gives the same figures in R. Columns that were not perturbed can be used as
well.

Let P be the matrix by which values were replaced. A record's column of P⁻¹ is an unbiased
substitute for the indicator of its true value, whatever that is; sums of products of such
substitutes estimate cross-tables, and scores of regressions weighted by them have expectation 0 at
the true coefficients (Akazawa, Kinukawa and Nakamura, "A note on the corrected score function
adjusting for misclassification", 1998). For numbers the known covariance of the noise is
subtracted from squares and products.

Where symbols stand for the codes of a long list, `code_counts` adds up what every symbol says of
every code, by one Walsh-Hadamard transform (Acharya, Sun and Zhang, "Hadamard response", 2019).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

MOST_CELLS = 2000
Z = 1.959964
_LOST = (
    "The noise of a column hides how far its true values spread beside the other columns, so these"
    " records are too few to correct for it. Leave the column out."
)


@lru_cache
def _package() -> Any:
    return json.loads(Path(__file__).with_name("datapackage.json").read_text(encoding="utf-8"))


def _told(name: str) -> Any:
    """Return how a column was perturbed; None where it was not."""
    fields = {field["name"]: field for field in _package()["resources"][0]["schema"]["fields"]}
    own = fields[name].get("sfumato", {})
    if "mechanism" not in own:
        return None
    if "channel" not in own:
        raise ValueError(f"{name} can't be used here: README.md tells what can be estimated of it.")
    if "symbols" in own["channel"]:
        raise ValueError(f"{name} shows symbols in place of codes: count them by code_counts.")
    return own


def _codes(column: pd.Series, domain: Sequence[Any]) -> np.ndarray:
    """Return the places of values in a list, in which None stands for missing ones."""
    codes = np.full(len(column), -1)
    for place, value in enumerate(domain):
        here = column.isna() if value is None else (column == value).fillna(False)
        codes[here.to_numpy(dtype=bool)] = place
    if (codes < 0).any():
        raise ValueError(f"{column.name} has values that datapackage.json does not list.")
    return codes


def _values(column: pd.Series) -> list[Any]:
    """Return a column's values in the order in which they first occur."""
    return [None if pd.isna(value) else value for value in column.drop_duplicates()]


def _released(data: pd.DataFrame, own: Mapping[str, Any]) -> np.ndarray:
    """Return which released value, or combination of values, each record shows."""
    codes = np.zeros(len(data), dtype=int)
    for name, domain in zip(own["attributes"], own["channel"]["domains"], strict=True):
        codes = codes * len(domain) + _codes(data[name], domain)
    return codes


class _Part(NamedTuple):
    """Columns that were perturbed together, or one that was not, with all their values.

    For m combinations of these values: each record's substitutes for them, shape (n, m), the mean
    squares of these, shape (m, m), by the records' true combination, and by how much one record
    can change the count of each. Where nothing was perturbed, squares is None.
    """

    names: list[str]
    domains: list[Sequence[Any]]
    substitutes: np.ndarray
    squares: np.ndarray | None
    step: np.ndarray


def _parts(data: pd.DataFrame, columns: Sequence[str]) -> Iterator[_Part]:
    left = list(dict.fromkeys(columns))
    while left:
        own = _told(left[0])
        if own is None:
            names, values = left[:1], _values(data[left[0]])
            indicators = np.eye(len(values))
            shown = indicators[_codes(data[left[0]], values)]
            yield _Part(names, [values], shown, None, np.ones(len(values)))
        else:
            every = dict(zip(own["attributes"], own["channel"]["domains"], strict=True))
            names = [name for name in every if name in left]
            sizes = [len(domain) for domain in every.values()]
            asked = [place for place, name in enumerate(every) if name in left]
            places = np.indices(sizes).reshape(len(sizes), -1)[asked]
            target = np.ravel_multi_index(tuple(places), [sizes[place] for place in asked])
            member = np.eye(target.max() + 1)[:, target]
            matrix, released = np.array(own["channel"]["transition"]), _released(data, own)
            inverse = np.linalg.inv(matrix)
            count = inverse @ np.bincount(released, minlength=len(matrix))
            within = member * _smoothed(count, np.array(len(data)), (0,))
            within = within / within.sum(axis=1, keepdims=True)
            inverse = member @ inverse
            squares, step = inverse**2 @ matrix @ within.T, np.ptp(inverse, axis=1)
            domains = [every[name] for name in names]
            yield _Part(names, domains, inverse.T[released], squares, step)
        left = [name for name in left if name not in names]


def _smoothed(count: np.ndarray, records: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Return shares that estimated counts stand for: none is 0, and over the axes they sum to 1."""
    kept, size = np.maximum(count, 0), math.prod(count.shape[axis] for axis in axes)
    share = kept / np.maximum(kept.sum(axis=axes, keepdims=True), 1e-300)
    smoothed: np.ndarray = (records * share + 1 / size) / (records + 1)
    return smoothed


def _spread(
    parts: Sequence[_Part], rows: int
) -> tuple[list[str], list[tuple[Any, ...]], np.ndarray]:
    """Return columns, combinations of their values, and each record's substitutes for them."""
    order: list[str] = []
    cells: list[tuple[Any, ...]] = [()]
    shares = np.ones((rows, 1))
    for part in parts:
        order += part.names
        cells = [cell + more for cell in cells for more in product(*part.domains)]
        if len(cells) > MOST_CELLS:
            raise ValueError("There are too many combinations. Use fewer columns.")
        shares = (shares[:, :, None] * part.substitutes[:, None, :]).reshape(rows, -1)
    return order, cells, shares


def _widening(columns: Sequence[str]) -> float:
    """Return by what errors grow at most where rows share a draw."""
    unit = _package()["sfumato"].get("unit", {})
    shared = set(unit.get("drawn_once", ())) & set(columns)
    return math.sqrt(unit["most_rows"]) if shared else 1.0


def crosstab(data: pd.DataFrame, columns: Sequence[str], sample: bool = False) -> pd.DataFrame:
    """Estimate how many records truly have each combination of values, with 95 % intervals.

    Standard errors refer to these records. If they are a sample, and you ask about the population
    that they were drawn from, pass sample=True.
    """
    parts = list(_parts(data, columns))
    order, cells, shares = _spread(parts, len(data))
    count, spread = shares.sum(axis=0), _widening(columns) ** 2
    room, step, of_own, of_others = _variances(parts, count)
    constant = spread * room * of_others
    linear = spread * (of_own - of_others - (0.0 if sample else 1.0))
    square = -spread / len(data) if sample else 0.0
    held = np.clip(count, 0, room)  # an estimate can lie where no truth does
    table = pd.DataFrame(cells, columns=order).astype(object)
    table = table.where(table.notna(), "(missing)")
    table["count"] = count
    table["standard_error"] = np.sqrt(np.maximum(constant + linear * held + square * held**2, 0))
    most = len(data) if sample else room
    table["low"], table["high"] = _interval(count, step, constant, linear, square, room, most)
    return table


def _variances(parts: Sequence[_Part], count: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return how large the variances of estimated counts are, four arrays of shape (cells,).

    How many records show the values of columns that were not perturbed; by how much one of them
    changes the count; and the square of what it adds, on average of those that truly belong to the
    cell, and of the others. These are mixed by estimated counts, of which none is below 0: so the
    variance is not small where, by chance, the count is.
    """
    shape = [part.substitutes.shape[1] for part in parts]
    noisy = tuple(axis for axis, part in enumerate(parts) if part.squares is not None)
    table = count.reshape(shape)
    room = np.broadcast_to(table.sum(axis=noisy, keepdims=True), shape)
    share = _smoothed(table, room, noisy)
    own, every, step = np.ones(shape), share, np.ones(shape)
    for axis in noisy:
        squares = parts[axis].squares
        assert squares is not None
        along = [-1 if place == axis else 1 for place in range(len(shape))]
        own = own * np.diag(squares).reshape(along)
        step = step * parts[axis].step.reshape(along)
        every = np.moveaxis(np.tensordot(squares, every, (1, axis)), 0, axis)
    others = np.divide(every - share * own, 1 - share, out=np.zeros(shape), where=share < 1)
    step = step if len(noisy) < 2 else np.zeros(shape)  # of several, sums lie close together
    return room.ravel(), step.ravel(), own.ravel(), others.ravel()


def _interval(
    count: np.ndarray,
    step: np.ndarray,
    constant: np.ndarray,
    linear: np.ndarray,
    square: float,
    n: np.ndarray,
    most: Any,
) -> list[np.ndarray]:
    """Return the counts that the estimate does not contradict.

    By Wilson's interval, corrected for continuity: constant + linear * t + square * t**2 is the
    variance where t is the truth.
    """
    step = step * (constant + linear * n / 2 + square * n**2 / 4 > 1e-9 * step**2)
    ends = []
    for side in (-1, 1):
        moved = count + side * step / 2
        scale, middle = 1 - Z**2 * square, moved + Z**2 * linear / 2
        root = np.sqrt(np.maximum(middle**2 - scale * (moved**2 - Z**2 * constant), 0))
        end = side * np.maximum(side * (middle + side * root) / scale, side * moved)
        ends.append(np.clip(end, 0, most))
    return ends


def _transformed(table: np.ndarray) -> np.ndarray:
    """Return each row's Walsh-Hadamard transform: sums over y of numbers times (-1)^|j and y|."""
    result, half = table.astype(float), 1
    while half < result.shape[1]:
        pairs = result.reshape(len(result), -1, 2, half)
        sums = [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]]
        result, half = np.stack(sums, axis=2).reshape(result.shape), 2 * half
    return result


def code_counts(
    data: pd.DataFrame, column: str, sample: bool = False, weights: str | None = None
) -> pd.DataFrame:
    """Estimate how many records truly have each code of a column of symbols, with 95 % intervals.

    Standard errors refer to these records. If they are a sample, and you ask about the population
    that they were drawn from, pass sample=True. weights names a column of sampling weights: then
    the counts and their errors are the population's.
    """
    fields = {field["name"]: field for field in _package()["resources"][0]["schema"]["fields"]}
    rule = fields[column].get("sfumato", {}).get("channel", {}).get("symbols")
    if rule is None:
        raise ValueError(f"{column} shows no symbols: README.md tells how to count it.")
    p, blocks, size = (rule[k] for k in ("retention_probability", "blocks", "symbols_in_block"))
    codes, shown = rule["codes"], data[column].to_numpy()
    if not len(shown):
        raise ValueError("There are no records to estimate from.")
    if pd.isna(shown).any() or not np.isin(shown, np.arange(blocks * size)).all():
        raise ValueError(f"{column} has symbols that datapackage.json does not list.")
    places = np.arange(len(codes))
    block, row = places % blocks, places // blocks + 1

    def summed(power: int) -> tuple[np.ndarray, np.ndarray]:
        weight = None if weights is None else data[weights].to_numpy(dtype=float) ** power
        table = np.bincount(shown.astype(int), weight, blocks * size).reshape(blocks, size)
        return _transformed(table)[block, row] / p, table.sum(axis=1)[block]

    count, in_block = summed(1)
    table = pd.DataFrame({"code": ["(missing)" if c is None else c for c in codes], "count": count})
    n = len(shown)
    if weights is not None:
        weight = data[weights].to_numpy(dtype=float)
        (squared, squares), share = summed(2), count / weight.sum()
        spread = squares / p**2 - 2 * share * squared + share**2 * (weight**2).sum()
        error = np.sqrt(np.maximum(spread, 0) * n / max(n - 1, 1)) * _widening([column])
        table["standard_error"] = error
        reach = _student(max(weight.sum() ** 2 / (weight**2).sum() - 1, 1.0)) * error
        table["low"], table["high"] = count - reach, count + reach
        return table
    wide = _widening([column]) ** 2
    share = np.minimum((np.maximum(count, 0) + 1 / len(codes)) / (n + 1), 1 - 1e-9)
    of_own = (p + (1 - p) / blocks) / p**2
    of_others = ((in_block + 1 / blocks) / (n + 1) / p**2 - share * of_own) / (1 - share)
    constant = wide * n * of_others
    linear = wide * (of_own - of_others - (0.0 if sample else 1.0))
    square, held = (-wide / n if sample else 0.0), np.clip(count, 0, n)
    table["standard_error"] = np.sqrt(np.maximum(constant + linear * held + square * held**2, 0))
    step = np.full(len(codes), 2 / p)
    table["low"], table["high"] = _interval(count, step, constant, linear, square, np.array(n), n)
    return table


def _noise(numbers: Sequence[str]) -> np.ndarray:
    """Return the covariance of the noise in numeric columns; 0 where there is none."""
    noise = pd.DataFrame(0.0, list(numbers), list(numbers))
    for name in numbers:
        own = _told(name)
        if own is None:
            continue
        row = own["channel"]["noise_covariance"][own["attributes"].index(name)]
        for other, covariance in zip(own["attributes"], row, strict=True):
            if other in noise.columns:
                noise.loc[name, other] = covariance
    return noise.to_numpy()


def _is_number(data: pd.DataFrame, name: str) -> bool:
    own = _told(name)
    if own is not None:
        return "noise_covariance" in own["channel"]
    kind = data[name].dtype
    return pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind)


def regression(
    data: pd.DataFrame,
    outcome: str | tuple[str, Any],
    predictors: Sequence[str],
    kind: str = "linear",
) -> pd.DataFrame:
    """Estimate the coefficients of a regression, with 95 % intervals for the population.

    The outcome is a numeric column, or a pair of a column and a value: the event that the column
    truly has this value. Numbers enter as they are, other columns as indicators of their values
    but the first. kind is "linear" or "logistic"; a logistic regression needs an event, or a
    numeric column of 0 and 1 without noise, and predictors without noise. Records in which a
    number is missing are left out.
    """
    event = not isinstance(outcome, str)
    response = outcome if isinstance(outcome, str) else outcome[0]
    numbers = [name for name in predictors if _is_number(data, name)]
    measured = numbers if event else [*numbers, response]
    data = data.dropna(subset=measured) if measured else data
    noise = np.zeros((len(numbers) + 1,) * 2)
    noise[: len(measured), : len(measured)] = _noise(measured)
    if kind == "logistic" and noise.any():
        raise ValueError(
            "A logistic regression can't correct for the noise of numbers. Leave them out, or use"
            " impute with the outcome and the other predictors as given, and combine."
        )
    listed = [name for name in predictors if name not in numbers]
    parts = list(_parts(data, [*([response] if event else []), *listed]))
    order, cells, shares = _spread(parts, len(data))
    terms = [
        (name, value)
        for name in listed
        for value in dict.fromkeys(cell[order.index(name)] for cell in cells)
    ]
    terms = [term for place, term in enumerate(terms) if place and terms[place - 1][0] == term[0]]
    fixed = [[1.0, *(float(cell[order.index(n)] == v) for n, v in terms)] for cell in cells]
    own = data[numbers].to_numpy(dtype=float)
    y = (
        np.array([[float(cell[order.index(response)] == outcome[1])] for cell in cells])
        if event
        else np.tile(data[response].to_numpy(dtype=float), (len(cells), 1))
    )
    names = [f"{n}: {'(missing)' if v is None else v}" for n, v in terms]
    estimate, covariance = _solved(shares, fixed, own, y, noise, kind == "logistic")
    error = np.sqrt(np.diag(covariance)) * _widening([response, *predictors])
    return pd.DataFrame(
        {
            "term": ["(intercept)", *names, *numbers],
            "estimate": estimate,
            "standard_error": error,
            "low": estimate - Z * error,
            "high": estimate + Z * error,
        }
    )


def _solved(
    shares: np.ndarray,
    fixed: Sequence[Sequence[float]],
    own: np.ndarray,
    y: np.ndarray,
    noise: np.ndarray,
    logistic: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return where the corrected score is 0, and the covariance of that (a sandwich)."""
    size = len(fixed[0]) + own.shape[1]
    inside, beside = np.zeros((size, size)), np.zeros(size)
    inside[len(fixed[0]) :, len(fixed[0]) :] = noise[:-1, :-1]
    beside[len(fixed[0]) :] = noise[:-1, -1]
    found = np.zeros(size)
    for _ in range(50):
        score, slope = np.zeros((len(shares), size)), np.zeros((size, size))
        for cell, constant in enumerate(fixed):
            x = np.hstack([np.tile(constant, (len(shares), 1)), own])
            fit, steepness = x @ found, np.ones(len(shares))
            if logistic:
                fit = 1 / (1 + np.exp(-fit))
                steepness = fit * (1 - fit)
            score += (shares[:, cell] * (y[cell] - fit))[:, None] * x
            slope += (x * (shares[:, cell] * steepness)[:, None]).T @ x
        score += inside @ found - beside
        slope -= len(shares) * inside
        try:
            step = np.linalg.solve(slope, score.sum(axis=0))
        except np.linalg.LinAlgError:
            break
        if logistic:  # Far from the solution the slope leads too far.
            step *= min(1.0, 1 / np.abs(step).max())
        found = found + step
        if np.abs(step).max() < 1e-9 * max(1.0, np.abs(found).max()):
            inverse = np.linalg.inv(slope)
            _check_noise(shares, fixed, own, inside, inverse)
            return found, inverse @ (score.T @ score) @ inverse.T
    raise ValueError(
        "The regression has no solution: there are too few records for so many terms, or where"
        " predictors have some value, none or all of the records are estimated to have the outcome."
        " Take a frequent outcome, and fewer predictors or values of them, or join rare values."
    )


def _check_noise(
    shares: np.ndarray,
    fixed: Sequence[Sequence[float]],
    own: np.ndarray,
    inside: np.ndarray,
    inverse: np.ndarray,
) -> None:
    """Refuse noise in which a predictor's own spread, beside the other terms, is lost.

    The spread is found as the noisy one less the noise's. Where that is less than five standard
    errors above 0, intervals would hold the truth too rarely.
    """
    for place in np.flatnonzero(np.diag(inside) > 0):
        along = inverse[:, place] / inverse[place, place]
        spread = np.full(len(shares), -along @ inside @ along)
        for cell, constant in enumerate(fixed):
            rest = np.array(constant) @ along[: len(constant)] + own @ along[len(constant) :]
            spread += shares[:, cell] * rest**2
        if spread.sum() < 5 * math.sqrt(len(spread)) * spread.std(ddof=1):
            raise ValueError(_LOST)


@lru_cache
def _powers(base: int, modulus: int) -> np.ndarray:
    powers = np.empty(modulus - 1, dtype=np.int64)
    power = 1
    for place in range(modulus - 1):
        powers[place] = power
        power = power * base % modulus
    return powers


def _uniforms(first: int, count: int, seed: int) -> np.ndarray:
    """Return random numbers of Wichmann and Hill's generator, the same in R, without states."""
    steps, total = np.arange(first + 1, first + count + 1), np.zeros(count)
    for place, (base, modulus) in enumerate(((171, 30269), (172, 30307), (170, 30323))):
        start = 1 + (seed * 7919 + place * 104729) % (modulus - 1)
        total += start * _powers(base, modulus)[steps % (modulus - 1)] % modulus / modulus
    return np.maximum(total % 1, 1e-12)


def impute(
    data: pd.DataFrame, column: str, given: Sequence[str] = (), times: int = 20, seed: int = 1
) -> list[pd.DataFrame]:
    """Return the table several times, a perturbed column replaced by draws of the true values.

    Analyse each as if nothing had been perturbed, and combine what you find. given names the
    columns that the analysis relates to it, none of them perturbed; what is not among them seems
    unrelated. Columns that were perturbed together are drawn together.

    The shares of categories are drawn by weighting records at random (Rubin's Bayesian bootstrap)
    and found by expectation-maximization, for each combination of given values by itself.
    Numbers follow a normal model given those columns (Blackwell, Honaker and King, "A unified
    approach to measurement error and missing data", 2017): whatever their distribution, means,
    variances and linear relations to the given columns are right. Quantiles, shares and logistic
    regressions are as far as numbers are normal around what the given columns explain.
    """
    own = _told(column)
    if own is None:
        raise ValueError(f"{column} was not perturbed.")
    if any(_told(name) is not None for name in given):
        raise ValueError("given can't name perturbed columns.")
    if "noise_covariance" in own["channel"]:
        return _imputed_numbers(data, own, given, times, seed)
    matrix, shown, rows = np.array(own["channel"]["transition"]), _released(data, own), len(data)
    _, _, groups = _spread(list(_parts(data, given)), rows)
    group = groups.argmax(axis=1)
    tables = []
    for time in range(times):
        random = _uniforms(2 * rows * time, 2 * rows, seed)
        weights = -np.log(random[:rows])
        counts = np.zeros((groups.shape[1], len(matrix)))
        np.add.at(counts, (group, shown), weights / weights.mean())
        shares = np.full_like(counts, 1 / len(matrix))
        for _ in range(300):
            expected = shares @ matrix.T
            ratio = np.divide(counts, expected, out=np.zeros_like(counts), where=expected > 0)
            shares = shares * (ratio @ matrix)
            shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-300)
        chance = np.cumsum(shares[group] * matrix[shown], axis=1)
        drawn = (chance < (random[rows:] * chance[:, -1])[:, None]).sum(axis=1)
        drawn = np.minimum(drawn, len(matrix) - 1)
        made = data.copy()
        pairs = list(zip(own["attributes"], own["channel"]["domains"], strict=True))
        for name, domain in reversed(pairs):
            values = pd.Series(list(domain), dtype=object)
            made[name] = values.take(drawn % len(domain)).to_numpy()
            drawn = drawn // len(domain)
        tables.append(made)
    return tables


def _imputed_numbers(
    data: pd.DataFrame, own: Mapping[str, Any], given: Sequence[str], times: int, seed: int
) -> list[pd.DataFrame]:
    """Return the table with draws of numbers given what was released; missing where any is."""
    names, noise = list(own["attributes"]), np.array(own["channel"]["noise_covariance"])
    beside = [name for name in given if _is_number(data, name)]
    whole = data[[*names, *beside]].notna().all(axis=1).to_numpy()
    used = data[whole]
    listed = [name for name in given if name not in beside]
    _, _, groups = _spread(list(_parts(used, listed)), len(used))
    x = np.hstack([groups[:, groups.any(axis=0)], used[beside].to_numpy(dtype=float)])
    y = used[names].to_numpy(dtype=float)
    rows, count = y.shape
    _, _, rest = _explained(x, y, np.ones(rows))
    for spread in (rest**2 - np.diag(noise)).T:
        if spread.sum() < 5 * math.sqrt(rows) * spread.std(ddof=1):
            raise ValueError(_LOST)
    tables = []
    for time in range(times):
        random = _uniforms((1 + 2 * count) * rows * time, (1 + 2 * count) * rows, seed)
        weights = -np.log(random[:rows])
        fit, square, rest = _explained(x, y, weights / weights.mean())
        true = _power(square - noise, 1.0)
        share = np.linalg.solve(true + noise, true)
        first, second = random[rows:].reshape(2, count, rows)
        normal = (np.sqrt(-2 * np.log(first)) * np.cos(2 * math.pi * second)).T
        drawn = np.full((len(data), count), np.nan)
        drawn[whole] = fit + rest @ share + normal @ _power(true - true @ share, 0.5)
        tables.append(data.assign(**dict(zip(names, drawn.T, strict=True))))
    return tables


def _explained(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what a linear model explains, the covariance of the rest, and the rest."""
    try:
        fit = x @ np.linalg.solve(x.T @ (x * weights[:, None]), x.T @ (y * weights[:, None]))
    except np.linalg.LinAlgError:
        raise ValueError("A given column follows from the others. Leave it out.") from None
    rest = y - fit
    return fit, (rest * weights[:, None]).T @ rest / max(len(y) - x.shape[1], 1), rest


def _power(square: np.ndarray, exponent: float) -> np.ndarray:
    """Return a power of a covariance, in which what is negative by chance is 0."""
    values, vectors = np.linalg.eigh((square + square.T) / 2)
    power: np.ndarray = (vectors * np.maximum(values, 0) ** exponent) @ vectors.T
    return power


def _student(freedom: Any) -> Any:
    """Return Student's 97.5 % quantile, to within 1 % for 5 or more degrees of freedom."""
    t = Z + (Z**3 + Z) / (4 * freedom)
    return t + (5 * Z**5 + 16 * Z**3 + 3 * Z) / (96 * freedom**2)


def combine(estimates: Any, errors: Any) -> pd.DataFrame:
    """Combine what was estimated from each imputed table, with 95 % intervals (Rubin, 1987).

    Both are lists of equally many numbers for each table: estimates, and their standard errors.
    """
    found = np.atleast_2d(np.array(estimates, dtype=float).T).T
    within = (np.atleast_2d(np.array(errors, dtype=float).T).T ** 2).mean(axis=0)
    between = found.var(axis=0, ddof=1) * (1 + 1 / len(found))
    error = np.sqrt(within + between)
    freedom = (len(found) - 1) * (1 + within / np.maximum(between, 1e-300)) ** 2
    t, mean = _student(freedom), found.mean(axis=0)
    return pd.DataFrame(
        {
            "estimate": mean,
            "standard_error": error,
            "low": mean - t * error,
            "high": mean + t * error,
        }
    )
