"""What a custodian has set for Gaussian noise beside the levels, and what is measured for it.

How numbers vary, alone and together, is measured so that it tells almost nothing of any record.
The covariance that noise is made from is public: recipients need it to use what they get. From the
exact rows it would tell whoever knows all records but one about that one. What is measured here is
ε0-differentially private instead: two tables of n records that differ in the numbers of one record
(with the same numbers missing, which every release shows) give any result with probabilities that
differ by a factor of at most e^ε0.

*Pairs.* The rows are paired by a permutation that everyone knows and that depends on no number.
All that follows is a function of the differences d of the m = n/2 pairs, of which one record
moves a single one. E[d²]/2 is the variance, and no mean is needed: it would cost as much again.
Products of the signs of two attributes' differences average to Kendall's τ.

Four questions are asked. Each is answered with its share of ε0, and what comes later may depend
on the answers before (sequential composition; Dwork and Roth 2014, theorem 3.14):

1. *How many differences are not 0*, for each attribute: N counts that move by 1 each, L1
   sensitivity N.
2. *How large differences are.* Of a grid of sizes t_k, the one with the best score
   −|100·#(0 < |d| ≤ t_k) − p·#(|d| > 0)|, for the p % quantile, after discrete Laplace noise on
   every score; only its place is kept. A pair that changes moves a score by at most 100. If the
   others' noise is held fixed, place k wins where its own noise is at least some integer r; in the
   other table r + 200 is enough, and Pr[z ≥ r] ≤ e^(200/b)·Pr[z ≥ r + 200] for the scale b = 200/ε
   (report noisy max; Dwork and Roth 2014, claim 3.9). Ties go to the first place.
3. *The mean of squares*, differences clipped to a bound B from question 2 and rounded to whole
   numbers u from −Q to Q: every u² lies between 0 and Q², L1 sensitivity N·Q².
4. *Signs s in {−1, 0, 1}*: with a = |s−s'|/2 and b = |s+s'|/2, a + b ≤ 1 and |s_i·s_j − s'_i·s'_j|
   ≤ 2(a_i·b_j + b_i·a_j); the sum over pairs of attributes is at most 2·Σa·Σb ≤ N²/2.

What is made of the four answers costs nothing further: spreads within the bounds that question
2 leaves, correlations sin(π·τ/2) (Greiner's relation, for numbers that follow a normal copula)
moved to the nearest correlation matrix, and a hundredth of noise of its own for each attribute.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Any, Final

import numpy as np
import scipy

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.adoption import ADOPTED_SPEC
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.setting_specs import (
    ChoiceSpec,
    ColumnsSpec,
    MatrixSpec,
    SettingSource,
    SettingSpec,
    UncheckedSpec,
    epsilon_spec,
    measured_unit_spec,
)
from sfumato.engine.randomness.keys import words
from sfumato.engine.randomness.noisy_statistics import LARGEST_EPSILON, KeyedNoise, check_epsilon
from sfumato.engine.table.covariance import (
    checked_numbers,
    factor_of,
    nearest_correlation,
    refuse_constant,
)
from sfumato.engine.table.table import (
    MEASURED_UNIT,
    Attributes,
    measured_rows,
    spent_by_unit,
)

LEAST_EPSILON: Final = 0.1
_PAIRING: Final = 0xC0
"""The public sequence that rows are paired by."""

_STEPS: Final = 1 << 10
"""Q: differences are counted in steps of a 1024th of the bound."""

_GRID: Final = np.array([m * 2.0**k for k in range(-50, 64) for m in (1.0, 1.4140625)])
"""The sizes t_k, half an octave apart: from 1e-15 to 1e19."""

_COUNT, _SIZE, _SQUARE, _SIGN = 15.0, 75.0, 85.0, 11.0
"""What the questions need of ε0·m: for each attribute, and the last for each pair of them.

Where few numbers are the same, they leave a size wrong by orders of magnitude less than once in
10,000 tables, a variance with a standard error of some 15 %, and a correlation with one of 0.1.
"""

_FAR: Final = 42.0
"""Some 228 sizes whose scores lie so many times 1/(2ε) behind win once in a million tables.

The usual ε0 leaves the median of the differences 34 of these, which is once in 10,000 tables.
"""

_ROOM: Final = 48.0
"""With less room for the scores than this nothing is measured: many numbers are the same, and at
this end the median is lost once in 200 tables."""

_OWN: Final = 0.01
"""The share of each attribute's noise that goes with no other's."""

_REACH: Final = 3.3
"""The bound in standard deviations, for differences that are normally distributed."""

_DIGITS: Final = 6


@dataclass(frozen=True)
class NoisyCovariance:
    """A covariance with noise.

    Parameters
    ----------
    covariance
        Positive definite, shape (N, N).
    epsilon
        ε0: what it tells of any record.
    """

    covariance: Floats
    epsilon: float


def usual_epsilon(records: int, attributes: int) -> float:
    """Return the ε0 that is enough to measure so many attributes of so many records well.

    From 0.1 up, rounded up to two digits; the smaller the table, the more.
    """
    needed = _need(attributes) / max(records // 2, 1)
    digits = 10.0 ** (1 - math.floor(math.log10(needed)))
    return min(max(math.ceil(needed * digits - 1e-9) / digits, LEAST_EPSILON), LARGEST_EPSILON)


def measure_covariance(
    attributes: Attributes, epsilon: float, noise: KeyedNoise
) -> NoisyCovariance:
    """Measure how attributes vary with noise; see the head of this file.

    Parameters
    ----------
    attributes
        N attributes with their numbers, each of shape (n,).
    epsilon
        ε0.
    noise
        Draws the noise.

    Raises
    ------
    PolicyError
        If a column holds no numbers, infinite ones or the same everywhere, or if there are too
        few records for this ε0.
    LevelError
        If ε0 is out of range.
    """
    check_epsilon(epsilon)
    names = [attribute.name for attribute in attributes]
    columns = [checked_numbers(attribute) for attribute in attributes]
    for column, name in zip(columns, names, strict=True):
        refuse_constant(column, name)
    apart = _differences(np.array(columns))
    known = ~np.isnan(apart)
    unit = epsilon / _need(len(names))
    what = json.dumps(["covariance", *names])
    differing = _differing(apart, known, names, unit, noise, what)
    sizes, percents = _sizes(apart, known, names, differing, unit, noise)
    spreads = _spreads(apart, known, sizes, percents, unit, noise, what)
    correlation = _correlations(apart, known, unit, noise, what)
    spreads, correlation = _short(spreads), _short(correlation)
    return NoisyCovariance(correlation * np.outer(spreads, spreads), epsilon)


def _need(attributes: int) -> float:
    """Return the ε0·m that all questions need together."""
    together = _SIGN * attributes**2 if attributes > 1 else 0.0
    return (_COUNT + _SIZE + _SQUARE) * attributes + together


def _differences(table: Floats) -> Floats:
    """Return the differences of paired rows, shape (N, m), not a number where one is missing.

    Rows with the same numbers missing are paired with one another.
    """
    rows = table.shape[1]
    shuffled = np.argsort(words(rows, _PAIRING), kind="stable")
    missing = np.isnan(table[:, shuffled])
    if missing.any():
        shuffled = shuffled[np.lexsort(missing)]
    pairs = shuffled[: rows - rows % 2].reshape(-1, 2)
    with np.errstate(over="ignore"):
        apart: Floats = table[:, pairs[:, 0]] - table[:, pairs[:, 1]]
    return apart


def _differing(
    apart: Floats, known: Flags, names: Sequence[str], unit: float, noise: KeyedNoise, what: str
) -> tuple[int, ...]:
    """Ask how many differences are not 0, and refuse where they tell no size."""
    exact = [int((row[there] != 0.0).sum()) for row, there in zip(apart, known, strict=True)]
    size = len(names)
    found = noise.integers(f"{what}: differing", exact, size, _COUNT * size * unit)
    for count, name in zip(found, names, strict=True):
        if count * _SIZE * unit < _ROOM:
            raise PolicyError(
                "Too few records differ in {column} to measure how it varies without telling about"
                " single ones.",
                "State the spread of the column, or measure with a larger ε0.",
                column=name,
            )
    return found


def _sizes(
    apart: Floats,
    known: Flags,
    names: Sequence[str],
    differing: Sequence[int],
    unit: float,
    noise: KeyedNoise,
) -> tuple[Floats, list[int]]:
    """Ask how large differences are: a quantile of each attribute's, and which, in percent."""
    found, asked = [], []
    for row, there, name, count in zip(apart, known, names, differing, strict=True):
        lengths = np.sort(np.abs(row[there & (row != 0.0)]))
        # As high a quantile as the noise of the scores leaves room for: skewed numbers need it.
        room = _FAR / (_SIZE * unit * count)
        percent = min(max(int(100.0 * (1.0 - room)), 50), 98)
        within = np.searchsorted(lengths, _GRID, side="right")
        scores = [-abs(100 * int(below) - percent * len(lengths)) for below in within]
        # Of all these only the place of the largest is used, which costs ε and no more.
        drawn = noise.integers(json.dumps(["size", name]), scores, 200, _SIZE * unit)
        found.append(_GRID[max(range(len(drawn)), key=drawn.__getitem__)])
        asked.append(percent)
    return np.array(found), asked


def _spreads(
    apart: Floats,
    known: Flags,
    sizes: Floats,
    percents: Sequence[int],
    unit: float,
    noise: KeyedNoise,
    what: str,
) -> Floats:
    """Ask for the mean of squares, and return standard deviations."""
    normal = [float(scipy.special.ndtri(0.5 + asked / 200.0)) for asked in percents]
    bounds = [
        size * max(2.0, _REACH / score) for size, score in zip(sizes.tolist(), normal, strict=True)
    ]
    sums = []
    for row, there, bound in zip(apart, known, bounds, strict=True):
        steps = np.rint(np.clip(row[there] / bound, -1.0, 1.0) * _STEPS).astype(np.int64)
        sums.append(int(np.square(steps).sum()))
    size = len(sums)
    drawn = noise.integers(f"{what}: squares", sums, size * _STEPS**2, _SQUARE * size * unit)
    spreads = []
    for total, there, bound, typical, score in zip(
        drawn, known, bounds, sizes.tolist(), normal, strict=True
    ):
        share = total / (max(int(there.sum()), 1) * _STEPS**2)
        # No less than half of what the quantile alone would make of normal numbers.
        least = 0.5 * typical / (score * math.sqrt(2.0))
        spreads.append(max(bound * math.sqrt(min(max(share, 0.0), 1.0) / 2.0), least))
    return np.array(spreads)


def _correlations(apart: Floats, known: Flags, unit: float, noise: KeyedNoise, what: str) -> Floats:
    """Ask for Kendall's τ of all pairs of attributes, and return a correlation matrix."""
    size = len(apart)
    correlation = np.eye(size)
    if size == 1:
        return correlation
    signs = np.where(known, np.sign(np.where(known, apart, 0.0)), 0.0)
    both = known.astype(np.float64) @ known.T.astype(np.float64)
    agreed = np.rint(signs @ signs.T)
    upper = np.triu_indices(size, 1)
    exact = [int(number) for number in agreed[upper]]
    drawn = noise.integers(f"{what}: signs", exact, size**2 // 2, _SIGN * size**2 * unit)
    shares = np.array(drawn, dtype=np.float64) / np.maximum(both[upper], 1.0)
    correlation[upper] = np.sin(0.5 * math.pi * np.clip(shares, -1.0, 1.0))
    correlation = correlation + correlation.T - np.eye(size)
    return (1.0 - _OWN) * nearest_correlation(correlation) + _OWN * np.eye(size)


def _short(numbers: Floats) -> Floats:
    """Round to few digits: the last bits of a root or an eigenvector differ between machines."""
    digits = [float(f"{number:.{_DIGITS}g}") for number in numbers.ravel().tolist()]
    return np.array(digits).reshape(numbers.shape)


_FINEST_STEP: Final = 2.0**-20
"""The finest rounding, in spreads of the column. Finer differences than that are noise."""


class CovarianceSource(StrEnum):
    """Where the covariance comes from that noise is made from."""

    NOISY = "noisy"
    """From the table, with noise whose ε0 the promise counts."""
    STATED = "stated"
    """From the custodian, who knows it without the table."""
    EXACT = "exact"
    """From the table as it is: settings of versions that knew nothing else, never made anew."""


class NoiseDependence(StrEnum):
    """How the noise of several attributes hangs together."""

    PROPORTIONAL = "proportional"
    """As the attributes do: covariance σ²·K_X. Nobody can filter it out."""
    SEPARATE = "separate"
    """Not at all: each attribute has noise of its own, σ² times its variance."""


_FROM_SIZE: Final = ("measured", "measured_epsilon", "spreads")
NOISE: Final = ChoiceSpec(
    name="noise",
    title="How the noise of several attributes hangs together",
    gloss="whether the noise of several columns varies as they do (proportional), or each has its"
    " own (separate)",
    usual=NoiseDependence.PROPORTIONAL,
    titles={
        NoiseDependence.PROPORTIONAL: "Varies as they do",
        NoiseDependence.SEPARATE: "Each its own",
    },
)
MEASURED: Final = ChoiceSpec(
    name="measured",
    title="Where the size of the noise comes from",
    gloss="whether the size of the noise is measured in the table with noise, or stated",
    source=SettingSource.MEASURED,
    follows=("measured_epsilon", "spreads"),
    usual=CovarianceSource.EXACT,
    titles={
        CovarianceSource.NOISY: "Measured with noise",
        CovarianceSource.STATED: Sentence("Stated"),
    },
)
MEASURED_EPSILON: Final = epsilon_spec(
    name="measured_epsilon",
    title="ε0 of the size of the noise",
    gloss="how much a measured size of the noise may disclose of one record, as a privacy loss",
    hint="How much the size of the noise may disclose of one record. It multiplies"
    " anyone's odds by at most e^ε0; a smaller ε0 measures the size less exactly.",
    source=SettingSource.MEASURED,
    follows=("measured", "spreads"),
)
SPREADS: Final = ColumnsSpec(
    name="spreads",
    title="Spreads of the columns",
    gloss="how far each column's numbers vary, known without this table, as a standard deviation",
    source=SettingSource.MEASURED,
    becomes="covariance",
)
COVARIANCE: Final = MatrixSpec(
    name="covariance",
    title="Covariance of the noise",
    gloss="the covariance of the noise at σ² = 1, with a row for each column of the entry",
    source=SettingSource.MADE,
    follows=_FROM_SIZE,
)
FORMS: Final[tuple[ColumnsSpec, ...]] = tuple(
    ColumnsSpec(name=name, title=title, gloss=gloss)
    for name, title, gloss in (
        ("rounding", "multiples of", "what each column's released numbers are multiples of"),
        ("lowest", "no less than", "what each column's released numbers are no less than"),
        ("highest", "no more than", "what each column's released numbers are no more than"),
    )
)
"""The settings that say what released numbers of single attributes may look like."""

FORM_SETTINGS: Final = tuple(spec.name for spec in FORMS)
_OLD: Final[tuple[SettingSpec, ...]] = tuple(
    UncheckedSpec(name=name, title=name, gloss=gloss, source=SettingSource.IGNORED)
    for name, gloss in (
        ("publish_covariance", "recipients need the covariance of the noise, and always get it"),
        ("mean", "nobody needs the means"),
    )
)
SETTINGS: Final[tuple[SettingSpec, ...]] = (
    NOISE,
    MEASURED,
    MEASURED_EPSILON,
    SPREADS,
    *FORMS,
    COVARIANCE,
    measured_unit_spec(_FROM_SIZE),
    ADOPTED_SPEC,
    *_OLD,
)


@dataclass(frozen=True)
class NumberForm:
    """What released numbers of one attribute may look like.

    Parameters
    ----------
    step
        They are multiples of it; None for no rounding.
    lowest, highest
        Smaller and larger ones become these; None for no bound.
    """

    step: float | None = None
    lowest: float | None = None
    highest: float | None = None

    @property
    def changes(self) -> bool:
        """Whether any number is changed."""
        return not (self.step is None and self.lowest is None and self.highest is None)

    def apply(self, numbers: Floats) -> Floats:
        """Return numbers rounded and clipped, NaN where missing."""
        if self.step is not None:
            numbers = rounded(numbers, self.step)
        if self.lowest is not None or self.highest is not None:
            numbers = np.clip(numbers, self.lowest, self.highest)
        # Adding 0 turns -0 into 0, which files would show as another number.
        return numbers + 0.0


def rounded(numbers: Floats, step: float) -> Floats:
    """Return multiples of a step, those of 0.1 and the like as near as floats come to them."""
    parts = round(1.0 / step)
    if parts > 1 and math.isclose(parts * step, 1.0, rel_tol=1e-12):
        return np.rint(numbers * parts) / parts
    return np.rint(numbers / step) * step


@dataclass(frozen=True)
class GaussianSettings:
    """The settings, checked.

    Parameters
    ----------
    covariance
        K, shape (N, N); kept, so that next month's table does not move the ladder.
    measured
        Where it comes from.
    epsilon
        ε0: by what it multiplies anyone's odds on a person's numbers at most, as a logarithm.
    noise
        How the noise of several attributes hangs together.
    forms
        What released numbers may look like, one for each attribute.
    """

    covariance: Floats
    measured: CovarianceSource
    epsilon: float
    noise: NoiseDependence
    forms: tuple[NumberForm, ...]

    @property
    def size(self) -> int:
        """The number of attributes, N."""
        return len(self.forms)

    @property
    def spreads(self) -> Floats:
        """The standard deviations of the noise at σ² = 1, shape (N,)."""
        return np.sqrt(np.diagonal(self.covariance))

    @cached_property
    def noise_covariance(self) -> Floats:
        """The covariance of the noise at σ² = 1, shape (N, N)."""
        if self.noise is NoiseDependence.SEPARATE:
            return np.diag(np.diagonal(self.covariance))
        return self.covariance

    @cached_property
    def factor(self) -> Floats:
        """L with L·Lᵀ the covariance of the noise at σ² = 1, shape (N, N)."""
        return factor_of(self.noise_covariance)


def chosen(settings: Settings) -> dict[str, Any]:
    """Return settings with all choices made but those that the table decides."""
    old = {spec.name for spec in _OLD}
    kept = {name: value for name, value in settings.items() if name not in old}
    return {"noise": NoiseDependence.PROPORTIONAL.value, **kept}


def completed(attributes: Attributes, settings: Settings, noise: KeyedNoise) -> dict[str, Any]:
    """Return settings with all choices made and a covariance; one that is there already stays.

    Stated spreads become a covariance of attributes that do not depend on one another.
    Otherwise it is measured with noise, with as much ε0 as the settings say or is usual.

    Raises
    ------
    PolicyError, LevelError
        If the settings are not valid, or the covariance can't be measured.
    """
    if "covariance" in settings:
        settings_of(attributes, settings)
        return dict(settings)
    made = chosen(settings)
    if "spreads" in made or made.get("measured") == CovarianceSource.STATED:
        made["covariance"] = np.diag(np.square(_stated_spreads(attributes, made))).tolist()
        made["measured"] = CovarianceSource.STATED.value
        made.pop("spreads", None)
    else:
        rows, unit = measured_rows(attributes)
        epsilon = made.get("measured_epsilon")
        if epsilon is None:
            known = rows[0].numbers
            epsilon = usual_epsilon(0 if known is None else len(known), len(attributes))
        found = measure_covariance(rows, epsilon, noise)
        made["covariance"] = found.covariance.tolist()
        made |= {"measured": CovarianceSource.NOISY.value, "measured_epsilon": found.epsilon}
        if unit is not None:
            made[MEASURED_UNIT] = unit.to_setting()
    settings_of(attributes, made)
    return made


def _stated_spreads(attributes: Attributes, settings: Settings) -> list[float]:
    names = [attribute.name for attribute in attributes]
    given = _numbers_in(settings, SPREADS, names)
    lacking = [name for name in names if not given.get(name, 0.0) > 0.0]
    if lacking:
        raise PolicyError(
            "No spread above 0 is stated for {columns}.",
            "State one for each column of the entry, or none, so that they are measured.",
            columns=", ".join(lacking),
        )
    return [given[name] for name in names]


def origin_of(settings: Settings) -> tuple[CovarianceSource, float]:
    """Return where a covariance comes from, and its ε0; without a word it is an old exact one."""
    measured = MEASURED.stated(settings)
    if measured is CovarianceSource.STATED:
        return measured, 0.0
    if measured is CovarianceSource.EXACT:
        return measured, math.inf
    epsilon = check_epsilon(settings.get("measured_epsilon", math.nan))
    return measured, spent_by_unit(epsilon, settings)


def settings_of(attributes: Attributes, settings: Settings) -> GaussianSettings:
    """Read settings, which may come from a file.

    Raises
    ------
    PolicyError
        If one is missing or not valid for these attributes.
    """
    noise = NOISE.stated(settings)
    covariance = _covariance(attributes, settings)
    spreads = np.sqrt(np.diagonal(covariance))
    forms = _forms(attributes, settings, spreads)
    return GaussianSettings(covariance, *origin_of(settings), noise, forms)


def _covariance(attributes: Attributes, settings: Settings) -> Floats:
    names = ", ".join(attribute.name for attribute in attributes)
    size = len(attributes)
    try:
        covariance = np.array(settings.get("covariance", ()), dtype=np.float64)
    except (TypeError, ValueError):
        covariance = np.zeros(0)
    sound = (
        covariance.shape == (size, size)
        and bool(np.isfinite(covariance).all())
        and bool((np.diagonal(covariance) > 0).all())
    )
    if sound:
        spreads = np.sqrt(np.diagonal(covariance))
        correlation = covariance / spreads / spreads[:, np.newaxis]
        sound = bool(np.abs(correlation - correlation.T).max() <= 1e-9)
        sound = sound and float(np.linalg.eigvalsh(correlation)[0]) >= -1e-9
    if not sound:
        raise PolicyError(
            "The settings hold no covariance that fits {columns}.",
            "Measure it in the table again, or state it.",
            columns=names,
        )
    return covariance


def _forms(attributes: Attributes, settings: Settings, spreads: Floats) -> tuple[NumberForm, ...]:
    known = [attribute.name for attribute in attributes]
    given = {spec.name: _numbers_in(settings, spec, known) for spec in FORMS}
    forms = []
    for name, spread in zip(known, spreads.tolist(), strict=True):
        step, low, high = (given[part].get(name) for part in FORM_SETTINGS)
        if step is not None and not step >= _FINEST_STEP * spread:
            raise PolicyError(
                "Column {column} can't be rounded to multiples of {step}.",
                "Give a step above 0 that is not tiny beside the column's spread, or none.",
                column=name,
                step=step,
            )
        if low is not None and high is not None and not low < high:
            raise PolicyError(
                "The lowest number of column {column} is not below the highest.",
                "Exchange them, or leave one out.",
                column=name,
            )
        forms.append(NumberForm(step, low, high))
    return tuple(forms)


def _numbers_in(settings: Settings, part: ColumnsSpec, known: Sequence[str]) -> Mapping[str, float]:
    """Return a setting that gives columns numbers."""
    given: Mapping[str, float] = part.stated(settings) or {}
    for name in given:
        if name not in known:
            raise PolicyError(
                "The setting {part} names {column}, which the entry does not cover.",
                "Name one of: {known}.",
                part=part.name,
                column=name,
                known=", ".join(known),
            )
    return {name: float(number) for name, number in given.items()}
