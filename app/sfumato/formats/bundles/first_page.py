"""The first page of a README: terms, how each column leaves with an example, and what it is worth.

All of it follows from what the bundle publishes anyway, its mechanisms' parameters and its columns'
domains, and from no row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from sfumato.engine.core.columns import ColumnSpec, Leaves, Value, leaves_unperturbed
from sfumato.engine.core.values import rounded_down
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.worth import WORTHLESS
from sfumato.formats.bundles.contents import BundleContents, Perturbation
from sfumato.formats.language import said, worded
from sfumato.formats.terms import TERM_TITLES

_SHOWN: Final = 24
"""Characters of a value that are shown."""


def terms_table(contents: BundleContents) -> str:
    """Return what the recipient may do with the bundle, as a Markdown table or a sentence."""
    terms = contents.terms
    if terms is None:
        return worded(
            "Nothing is stated about what it may be used for and until when: ask whoever sent it"
            " to you."
        )
    lines = [f"| {worded('term')} | {worded('what is stated')} |", "|---|---|"]
    lines += [f"| {said(TERM_TITLES[name])} | {in_markdown(text)} |" for name, text in terms.stated]
    return "\n".join(lines)


def ways_table(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return a Markdown table of the columns: how each leaves, and an example.

    Parameters
    ----------
    contents
        The bundle's contents.
    names
        What each column is called in the data file, by its name.
    """
    heads = (worded("column"), worded("how it leaves"), worded("example"))
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|"]
    for spec in contents.columns:
        way, example = _way(contents, spec)
        lines.append(f"| {in_markdown(names[spec.name])} | **{way}** | {example} |")
    return "\n".join(lines)


def leaves_out(contents: BundleContents) -> bool:
    """Whether a column shows nothing in any row."""
    word = said(Leaves.LEFT_OUT.word)
    return any(_way(contents, spec)[0] == word for spec in contents.columns)


def worth_list(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return what each randomised column is worth, as a Markdown list; see `column_worth`."""
    lines = []
    for each in contents.perturbations:
        for name in each.attributes:
            called, worth = in_markdown(names[name]), column_worth(contents, each, name)
            if worth is None:
                told = worded("{column}: to be found from the data, see below", column=called)
            else:
                told = worded(
                    "{column}: about {records:,} true {records:record|records} of {rows:,}",
                    column=called,
                    records=int(worth),
                    rows=contents.rows,
                )
                told += worded("; **too few to rely on**") if worth < WORTHLESS else ""
            lines.append(f"- {told}")
    return "\n".join(lines)


def column_worth(contents: BundleContents, perturbation: Perturbation, name: str) -> float | None:
    """Return the N true records that a perturbed column is worth, from what is published alone.

    Of categories as if all values were equally frequent: Σ f(1 - f)/Σ var(f̂) times the records; of
    numbers Var/(Var + noise), as if the published variance were the column's. Rows that share a
    draw count once.

    Returns
    -------
    float or None
        None where what is published does not say.
    """
    share = _share_of_noise(perturbation, name)
    if share is None and len(perturbation.attributes) == 1:
        share = _share_of_matrix(perturbation.channel or {})
    if share is None:
        return None
    unit = contents.unit
    return contents.rows * share / (unit.most_rows if unit and name in unit.once else 1)


def in_markdown(text: str) -> str:
    """Return a text on one line, in which Markdown sees no markup, for the cell of a table."""
    line = " ".join(text.split())
    return "".join(f"\\{mark}" if mark in "\\`*_|<>[]#" else mark for mark in line)


# ----- how a column leaves


def _way(contents: BundleContents, spec: ColumnSpec) -> tuple[str, str]:
    """Return the word for how a column leaves, and an example of it."""
    perturbation = contents.perturbation_of(spec.name)
    if perturbation is not None and not _is_exact(perturbation, spec.name):
        return said(Leaves.RANDOMISED.word), _randomised(perturbation, spec.name)
    if spec.as_pseudonym is not None:
        return said(Leaves.PSEUDONYM.word), worded("a code in place of the identifier")
    if perturbation is not None:
        return said(Leaves.EXACT.word), worded("the source's value")
    level, highest, starred = _level(contents, spec.name)
    leaves = leaves_unperturbed(spec, level, highest)
    if leaves is Leaves.LEFT_OUT or 0 < contents.rows == starred:
        return said(Leaves.LEFT_OUT.word), worded("every row shows `*`")
    hidden = worded("suppressed in {rows:,} {rows:row|rows}: `*`", rows=starred) if starred else ""
    if leaves is Leaves.COARSENED:
        examples = (_coarsened(contents, spec, level, highest), hidden)
        return said(leaves.word), "; ".join(filter(None, examples))
    return said(leaves.word), hidden or worded("the source's value")


def _is_exact(perturbation: Perturbation, name: str) -> bool:
    """Whether every record shows its true value."""
    noise, channel = _noise(perturbation, name), perturbation.channel or {}
    if noise is not None:
        return noise[0] == 0.0
    matrix = np.asarray(channel.get("transition", ()), dtype=np.float64)
    return len(matrix) > 0 and bool(np.all(np.diagonal(matrix) == 1.0))


def _level(contents: BundleContents, name: str) -> tuple[int, int, int]:
    """Return a column's level, the highest, and in how many rows it is suppressed."""
    generalized, view = contents.generalized, contents.view
    if generalized is not None and name in generalized.levels:
        return (*generalized.levels[name], generalized.starred)
    if view is not None and name in view.levels:
        return (*view.levels[name], view.starred(name))
    return 0, 0, 0


def _coarsened(contents: BundleContents, spec: ColumnSpec, level: int, highest: int) -> str:
    """Return an example of a coarser value, from its bins, its ends or its hierarchy."""
    group = None if contents.view is None else contents.view.commonest.get(spec.name)
    known = {} if contents.generalized is None else contents.generalized.hierarchies
    if above := known.get(spec.name):  # they begin with the labels that are shown
        group = above[0][0]
    if level and group is not None:
        return worded(
            "a group of values, such as “{group}”: level {level} of {highest}",
            group=_value(group),
            level=level,
            highest=highest,
        )
    if level:
        return worded("groups of values: level {level} of {highest}", level=level, highest=highest)
    if spec.binning is not None:
        return worded("a bin, such as {bin}", bin=_value(spec.binning.names[0]))
    return "; ".join(in_markdown(said(one)) for one in spec.coded.sentences) if spec.coded else ""


def _randomised(perturbation: Perturbation, name: str) -> str:
    """Return an example of a perturbed value, from the mechanism's published parameters."""
    noise, channel = _noise(perturbation, name), perturbation.channel or {}
    if noise is not None:
        return worded(
            "the true number ± {spread} (the noise's standard deviation)",
            spread=rounded_down(noise[0]),  # as the promise tells it
        )
    if "transition" not in channel:
        return worded("a value may show another")
    first = [_first(domain) for domain in channel["domains"]]
    place = _place(channel, first)
    share = _of_rows(float(channel["transition"][place][place]))
    if len(first) == 1:
        return worded(
            "“{value}” stays so in {share}, and shows another value in the others",
            value=_value(first[0]),
            share=share,
        )
    return worded("“{values}” stay so together in {share}", values=_values(first), share=share)


def _values(values: list[Value | None]) -> str:
    return ", ".join(map(_value, values))


def _of_rows(share: float) -> Sentence:
    """Return a share as a count of 100 rows, or as one of more rows."""
    if 0.0 < share < 0.01:
        return Sentence("1 of {rows:,} {rows:row|rows}", rows=round(1.0 / share))
    return Sentence("{count} of 100 rows", count=round(100.0 * share))


def _first(domain: list[Value | None]) -> Value | None:
    return next((value for value in domain if value is not None), None)


def _place(channel: Mapping[str, Any], values: list[Value | None]) -> int:
    """Return the place of a combination of values, the last attribute's counted through first."""
    place = 0
    for domain, value in zip(channel["domains"], values, strict=True):
        place = place * len(domain) + domain.index(value)
    return place


# ----- figures from what is published


def _noise(perturbation: Perturbation, name: str) -> tuple[float, float | None] | None:
    """Return the noise's standard deviation and the column's published variance, if any."""
    channel = perturbation.channel or {}
    if "noise_covariance" not in channel:
        return None
    place = perturbation.attributes.index(name)
    known = perturbation.published.parameters.get("covariance")
    variance = None if known is None else float(known[place][place])
    return math.sqrt(float(channel["noise_covariance"][place][place])), variance


def _share_of_noise(perturbation: Perturbation, name: str) -> float | None:
    found = _noise(perturbation, name)
    if found is None or found[1] is None or found[1] <= 0.0:
        return None
    return found[1] / (found[1] + found[0] ** 2)


def _share_of_matrix(channel: Mapping[str, Any]) -> float | None:
    """Return N/n of a matrix, P[released, true], where all values are equally frequent."""
    matrix = np.asarray(channel.get("transition", ()), dtype=np.float64)
    if len(matrix) < 2:
        return None
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return None
    true = np.full(len(matrix), 1.0 / len(matrix))
    variances = np.square(inverse) @ (matrix @ true) - np.square(true)
    return float(np.sum(true * (1.0 - true)) / np.sum(variances))


def _value(value: Value | None) -> str:
    text = "" if value is None else str(value)
    if isinstance(value, bool):
        text = text.lower()  # as the file, its labels and its description write it
    return in_markdown(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…")
