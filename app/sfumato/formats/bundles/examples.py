"""What a README shows of the recipients' programs: lines that run on the bundle beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sfumato.engine.core.columns import ColumnSpec, Kind, Value
from sfumato.formats.bundles.contents import BundleContents
from sfumato.formats.language import worded


@dataclass(frozen=True)
class _Column:
    """A column that an example can name.

    Parameters
    ----------
    name
        What it is called in the file.
    is_number
        Whether it enters a regression as it is.
    perturbed
        Whether the programs correct for its perturbation.
    event
        A value that it can have; None where it is a number, or nothing else than missing is known.
    """

    name: str
    is_number: bool
    perturbed: bool
    event: Value | None = None

    @property
    def quoted(self) -> str:
        """Its name as a text, valid in Python and R."""
        return json.dumps(self.name, ensure_ascii=False)


def example_rows(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return the lines of the README's table of examples: what, in Python, in R.

    Parameters
    ----------
    contents
        The bundle, of which some column is one that the programs correct for.
    names
        The columns' names in the file.
    """
    columns = list(_columns(contents, names))
    rows = [
        *_crosstab(columns),
        *_linear(columns),
        *_logistic(columns),
        *_imputed(columns),
    ]
    return "\n".join(f"| {what} | `{python}` | `{r}` |" for what, python, r in rows)


Row = tuple[str, str, str]


def _crosstab(columns: list[_Column]) -> Iterator[Row]:
    listed = [one for one in columns if not one.is_number][:2]
    if not listed or not any(one.perturbed for one in listed):
        return
    names = ", ".join(one.quoted for one in listed)
    what = worded("a cross-table with intervals")
    yield what, f"crosstab(data, [{names}])", f"crosstab(data, c({names}))"


def _linear(columns: list[_Column]) -> Iterator[Row]:
    numbers = [one for one in columns if one.is_number]
    outcome = next(iter(sorted(numbers, key=lambda one: not one.perturbed)), None)
    if outcome is None:
        return
    # Noise in a predictor may be more than its own spread, which the programs refuse.
    others = [one for one in columns if one != outcome and not (one.is_number and one.perturbed)]
    # One of them has to be perturbed, or any program would do.
    predictor = next((one for one in others if one.perturbed or outcome.perturbed), None)
    if predictor is None:
        return
    pair = outcome.quoted, predictor.quoted
    yield (
        worded("a linear regression"),
        "regression(data, {}, [{}])".format(*pair),
        "regression(data, {}, c({}))".format(*pair),
    )


def _logistic(columns: list[_Column]) -> Iterator[Row]:
    outcome = next((one for one in columns if one.perturbed and one.event is not None), None)
    others = (one for one in columns if one != outcome and not (one.is_number and one.perturbed))
    predictor = next(others, None)
    if outcome is None or predictor is None:
        return
    python, r = _literals(outcome.event)
    yield (
        worded("a logistic regression on whether a column truly has a value"),
        f'regression(data, ({outcome.quoted}, {python}), [{predictor.quoted}], "logistic")',
        f'regression(data, list({outcome.quoted}, {r}), c({predictor.quoted}), "logistic")',
    )


def _imputed(columns: list[_Column]) -> Iterator[Row]:
    hidden = next((one for one in columns if one.perturbed), None)
    if hidden is None:
        return
    # Numbers beside categories would be a group for each.
    usable = (one for one in columns if not one.perturbed and one.is_number <= hidden.is_number)
    given = next(usable, None)
    beside = (
        ("", "") if given is None else (f", given=[{given.quoted}]", f", given = {given.quoted}")
    )
    yield (
        worded("imputed tables, for methods of your own"),
        f"impute(data, {hidden.quoted}{beside[0]})",
        f"impute(data, {hidden.quoted}{beside[1]})",
    )
    yield (
        worded("what these tables say together"),
        "combine(estimates, errors)",
        "combine(estimates, errors)",
    )


def _columns(contents: BundleContents, names: Mapping[str, str]) -> Iterator[_Column]:
    """Yield the columns that examples can name, perturbed categories first."""
    usable = [each for each in contents.perturbations if each.relates]
    for each in sorted(usable, key=lambda one: "domains" not in (one.channel or {})):
        domains = (each.channel or {}).get("domains")
        for place, name in enumerate(each.attributes):
            event = None if domains is None else _event(domains[place])
            yield _Column(names[name], domains is None, perturbed=True, event=event)
    known = {name for each in contents.perturbations for name in each.attributes}
    seen = {} if contents.view is None else contents.view.levels
    free = [spec for spec in contents.columns if spec.name not in known]
    # Those of a view show few values, for each of which there are many rows.
    for spec in sorted(free, key=lambda spec: (_is_number(spec), spec.name not in seen)):
        if not _is_hidden(contents, spec) and _repeats(spec):
            yield _Column(names[spec.name], _is_number(spec), perturbed=False)


def _is_number(spec: ColumnSpec) -> bool:
    return spec.kind is Kind.NUMERIC and not spec.binning


def _repeats(spec: ColumnSpec) -> bool:
    """Whether a column's values can be expected to recur: free texts and exact dates hardly do."""
    kinds = (Kind.CATEGORICAL, Kind.NUMERIC)
    return spec.pseudonym is None and (spec.kind in kinds or spec.binning is not None)


def _is_hidden(contents: BundleContents, spec: ColumnSpec) -> bool:
    """Whether the column shows the same for everybody."""
    level, highest = (
        (0, 1) if contents.view is None else contents.view.levels.get(spec.name, (0, 1))
    )
    return level == highest


def _event(domain: list[Value | None]) -> Value | None:
    """Return a value that the column can have, whatever rows the bundle holds."""
    return next((value for value in domain if value is not None), None)


def _literals(value: Value | None) -> tuple[str, str]:
    """Return a value as Python and as R write it."""
    if isinstance(value, bool):
        return str(value), str(value).upper()
    text = json.dumps(value, ensure_ascii=False)
    return text, text
