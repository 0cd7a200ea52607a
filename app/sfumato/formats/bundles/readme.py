"""The README of a bundle: what a recipient needs to know to use a release.

The frame is ``resources/recipient/README.md``; how to estimate from a mechanism's
releases is in one guide per mechanism, ``resources/recipient/<guide>.md``, and how to
read the data in one text per format, ``resources/recipient/data-<format>.md``. In
other languages they are in a folder there of the language's name, with a line ``[code]`` for each
block of code, which is the same in all. All are `string.Template` texts:
a literal dollar sign is written ``$$``. A guide can use, beside the mechanism's own
`PublishedFacts.values`, these placeholders:

``$attribute``
    the first perturbed column's name, for a sentence;
``$attributes``
    all of them, for a sentence;
``$attribute_code``
    the first one's name as a quoted string, valid in Python and R;
``$rows``
    the number of records.

A guide's code runs after the code that reads the data: in Python and R, ``data`` is the table
and ``fields`` maps a column's name to its description in ``datapackage.json``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from string import Template
from typing import Final

from sfumato.engine.core.columns import ColumnSpec, Kind, Role, Value, names_of
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import NAMES
from sfumato.engine.core.wording import Sentence, set_apart
from sfumato.engine.mechanisms.base import PromiseFigure
from sfumato.formats.bundles.contents import (
    ROWS_AS_IN_TABLE,
    BundleContents,
    Generalized,
    Perturbation,
    SeenView,
)
from sfumato.formats.bundles.first_page import leaves_out, terms_table, ways_table, worth_list
from sfumato.formats.language import four_digits, listed, localized, page_path, said, worded
from sfumato.formats.tables import format_called
from sfumato.resources import resource_path

README_NAME = "README.md"
PROGRAM_RESOURCES: Final = {"analysis-python": "perturbed.py", "analysis-r": "perturbed.R"}
"""Programs for recipients, by the names of their resources."""

_CODE: Final = re.compile(r"^```\w+\n.*?^```$", re.MULTILINE | re.DOTALL)
_CODE_HERE: Final = re.compile(r"^\[code\]$", re.MULTILINE)
"""A line of a translated text where the next block of the English text's code stands."""

_NOTHING_PERTURBED = Sentence(
    "No column of this table was perturbed: count as you would in any table."
)
_SUPPRESSED: Final = (
    "In {rows:,} {rows:row|rows} these columns show `*`: their values would have stood out. The"
    " rows are kept so that counts over the whole table stay right; a count within a group misses"
    " them."
)
_CELLS_SUPPRESSED: Final = (
    "Single cells of these columns show `*` where too few records would have been alike; the table"
    " of columns says how many. `*` is a value of its own, not a missing one: whoever shows it can"
    " have any value there, and rare values are hidden more often than frequent ones. A count"
    " within a group misses such records."
)

_IN_RANDOM_ORDER = Sentence(
    "The rows are in a random order of this release's own. A row's position says nothing about"
    " whose it is: the row at the same position in another release is anybody's."
)


def readme_of(
    contents: BundleContents,
    names: Mapping[str, str],
    format_name: str,
    escapes: bool = False,
    losses: Sequence[Sentence] = (),
) -> str:
    """Return the README's text, in Markdown.

    Parameters
    ----------
    contents
        The bundle's contents.
    names
        What each column is called in the data file, by its name.
    format_name
        The format of the data file: ``csv``, ``parquet``, ``sav`` or ``dta``.
    escapes
        Whether texts are escaped in the data file, see `sfumato.formats.formulas`.
    losses
        What the data file doesn't hold of the table.
    """
    reading = _template(f"data-{format_name}").substitute().strip()
    if escapes:
        undoing = _template(f"data-{format_name}-escaped").substitute()
        reading = f"{reading}\n\n{undoing.strip()}"
    if losses:
        reading = "\n".join([reading, "", *(f"- {_told_of(contents, one)}" for one in losses)])
    if contents.generalized is not None:
        return _generalized(contents, contents.generalized, names, format_name, reading)
    return _template("README").substitute(
        heading=_plain(contents.title) or worded("A released table"),
        recipient=_plain(contents.recipient),
        **_of_any_table(contents, names, format_name),
        identifying=_identifying(contents),
        promises=_promises(contents) or said(_NOTHING_PERTURBED),
        reading=reading,
        guides=_guides(contents, names) or said(_NOTHING_PERTURBED),
        analysis=_analysis(contents, names),
        programs=_programs(contents),
        weights=_weights(contents, names),
    )


def _of_any_table(
    contents: BundleContents, names: Mapping[str, str], format_name: str
) -> dict[str, str]:
    """Return what the README of any table tells, by its places in the template."""
    return {
        "release_id": contents.release_id,
        "version": contents.version,
        "rows": localized(f"{contents.rows:,}"),
        "data_file": f"data.{format_name}",
        "data_format": said(format_called(format_name).title),
        "dcat": _catalogue(contents),
        **_first_page(contents, names),
        "columns": _columns(contents, names),
        "row_order": _row_order(contents),
    }


def _generalized(
    contents: BundleContents,
    generalized: Generalized,
    names: Mapping[str, str],
    format_name: str,
    reading: str,
) -> str:
    """Return the README of a generalized table."""
    promises = [f"- {_told_of(contents, promise)}" for promise in generalized.promises]
    if generalized.suppression:
        promises.append(f"- {_told_of(contents, generalized.suppression)}")
    counting = _told_of(contents, generalized.counting)
    return _template("README-generalized").substitute(
        heading=_plain(contents.title) or worded("A generalized table"),
        recipient=worded("the public"),
        **_of_any_table(contents, names, format_name),
        promises="\n".join(promises),
        limits="\n".join(f"- {_told_of(contents, limit)}" for limit in generalized.limits),
        reading=reading,
        counting=f"\n\n{counting}" if counting else "",
        sensitive_code=json.dumps(names[generalized.sensitive], ensure_ascii=False),
    )


def _first_page(contents: BundleContents, names: Mapping[str, str]) -> dict[str, str]:
    """Return what stands on the first page, by the names of the placeholders."""
    return {
        "terms": terms_table(contents),
        "ways": ways_table(contents, names),
        "left_out": f" {worded('Left out: `*` in every row.')}" if leaves_out(contents) else "",
        "worth": worth_list(contents, names) or said(_NOTHING_PERTURBED),
    }


def _catalogue(contents: BundleContents) -> str:
    """Return the list's line about the description for catalogues; empty where there is none."""
    if not contents.dcat:
        return ""
    told = worded("the same for data catalogues ([DCAT](https://www.w3.org/TR/vocab-dcat-3/))")
    return f"\n| `dcat.jsonld` | {told} |"


def _template(name: str) -> Template:
    """Return a text in the language spoken, its code that of the English one."""
    text = page_path("recipient", f"{name}.md").read_text(encoding="utf-8")
    if _CODE_HERE.search(text):
        english = resource_path("recipient", f"{name}.md").read_text(encoding="utf-8")
        blocks = iter(_CODE.findall(english))
        text = _CODE_HERE.sub(lambda _: next(blocks), text)
    return Template(text)


def _columns(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return a Markdown table of the columns and what was done to each."""
    heads = (worded("column"), worded("what it is"), worded("what was done"))
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|"]
    for spec in contents.columns:
        perturbation = contents.perturbation_of(spec.name)
        done = []
        if spec.binning is not None:
            done.append(worded("grouped into bins"))
        if spec.coded is not None and perturbation is None:
            done += [f"**{worded('coded')}**: {said(one)}" for one in spec.coded.sentences]
        if spec.as_pseudonym is not None:
            done.append(
                worded("**a pseudonym** in place of the identifier: the same for the same one")
            )
        if spec.role is Role.WEIGHT:
            done.append(worded("a sampling weight"))
        if perturbation is not None:
            done.append(f"**{worded('perturbed')}**: {_plain(said(perturbation.title))}")
        if contents.generalized is not None and spec.name in contents.generalized.levels:
            found = contents.generalized
            done = _generalized_to(*found.levels[spec.name], found.starred)
        if contents.view is not None and spec.name in contents.view.levels:
            done = _coarser(contents.view, spec)
        meaning = [] if names[spec.name] == spec.name else [spec.name]
        meaning += filter(None, [contents.table.column_labels.get(spec.name)])
        period = contents.table.periods.get(spec.name)
        meaning += [] if period is None else [worded("its values: {period}", period=NAMES[period])]
        lines.append(
            f"| {_plain(names[spec.name])} | {'; '.join(map(_plain, meaning))}"
            f" | {', '.join(done) or worded('as in the source')} |"
        )
    return "\n".join(lines)


def _coarser(view: SeenView, spec: ColumnSpec) -> list[str]:
    """Return what was done to a quasi-identifier of a perturbed release."""
    done = [worded("grouped into bins")] if spec.binning is not None else []
    return done + _generalized_to(*view.levels[spec.name], view.starred(spec.name))


def _generalized_to(level: int, highest: int, starred: int) -> list[str]:
    """Return to which level a column was generalized, and in how many rows it shows `*` instead."""
    done = []
    if level:
        done.append(
            worded("**generalized** to level {level} of {highest}", level=level, highest=highest)
        )
    if starred and level < highest:
        done.append(worded("`*` in {rows:,} {rows:row|rows}", rows=starred))
    return done


def _identifying(contents: BundleContents) -> str:
    """Say that identifying columns are left out, but for those that show pseudonyms."""
    if any(spec.as_pseudonym is not None for spec in contents.columns):
        return worded(
            "Columns that identify a person directly are not included, or show a pseudonym that"
            " says nothing of the identifier."
        )
    return worded("Columns that identify a person directly are not included.")


def _row_order(contents: BundleContents) -> str:
    """Say how rows stand, and what that tells."""
    told = said(ROWS_AS_IN_TABLE if contents.rows_as_in_table else _IN_RANDOM_ORDER)
    order = f"**{told}**" if contents.rows_as_in_table else told
    if contents.unit is None:
        return order
    return "\n\n".join([order, *(_told_of(contents, text) for text in contents.unit.texts)])


def _promises(contents: BundleContents) -> str:
    """Return every perturbation's promise, the view's, and what none of them covers."""
    perturbations, others = contents.perturbations, contents.limits
    parts: list[str] = []
    if contents.view is not None:
        parts += [
            f"### {_listed(contents.view.levels)}",
            _told_of(contents, contents.view.promise),
        ]
        if any((contents.view.shown_cells or {}).values()):
            parts.append(worded(_CELLS_SUPPRESSED))
        elif contents.view.suppressed:
            parts.append(worded(_SUPPRESSED, rows=contents.view.suppressed))
    for perturbation in perturbations:
        promise = perturbation.promise
        parts += [
            f"### {_listed(perturbation.attributes)}",
            _told_of(contents, perturbation.summary),
            _told_of(contents, promise.sentence),
        ]
        if promise.facts:
            parts.append(_facts(promise.facts))
    limits = dict.fromkeys((*others, *(one for p in perturbations for one in p.promise.limits)))
    if limits:
        parts.append(f"### {worded('What this does not promise')}")
        parts.append("\n".join(f"- {_told_of(contents, limit)}" for limit in limits))
    return "\n\n".join(parts)


def _facts(facts: Iterable[PromiseFigure]) -> str:
    lines = [f"| {worded('figure')} | | {worded('value')} |", "|---|---|---|"]
    for fact in facts:
        value = four_digits(fact.value)
        lines.append(f"| {_plain(fact.symbol)} | {_plain(said(fact.title))} | {value} |")
    return "\n".join(lines)


def _guides(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return the mechanisms' guides, and how to find what they leave a column worth."""
    found = [_guide(contents, names, each) for each in contents.perturbations]
    if found:
        rows = localized(f"{contents.rows:,}")
        found.append(_template("worth").substitute(rows=rows).strip())
    return "\n\n".join(found)


def _guide(contents: BundleContents, names: Mapping[str, str], perturbation: Perturbation) -> str:
    """Return one mechanism's guide, filled in for one perturbation."""
    columns = [names[name] for name in perturbation.attributes]
    chosen, chosen_in_r = _records_chosen(contents, names)
    values = {
        "attribute": _plain(columns[0]),
        "attributes": _listed(columns),
        "attribute_code": json.dumps(columns[0], ensure_ascii=False),
        "rows": localized(f"{contents.rows:,}"),
        "chosen": chosen,
        "chosen_in_r": chosen_in_r,
        **{name: _told(value) for name, value in perturbation.published.values.items()},
    }
    text = _template(perturbation.published.guide).substitute(values).strip()
    return f"### {_listed(columns)}\n\n{_below(text, level=4)}"


def _records_chosen(contents: BundleContents, names: Mapping[str, str]) -> tuple[str, str]:
    """Return a condition on a column that is not perturbed, in Python and in R.

    It tells of no row: the label that most records show of a coarser column, or whatever a number's
    median or the first record's value is.
    """
    known = {name for each in contents.perturbations for name in each.attributes}
    view = contents.view or SeenView({}, 0, 0, "")
    free = [spec for spec in contents.columns if spec.name in names and spec.name not in known]
    usable = [
        spec
        for spec in free
        if spec.role is not Role.WEIGHT
        and not _is_hidden(contents, spec)
        and _repeats(spec)
        and "`" not in names[spec.name]
    ]
    for spec in sorted(usable, key=lambda one: (one.name not in view.commonest, one.name)):
        quoted = json.dumps(names[spec.name], ensure_ascii=False)
        python, r = f"data[{quoted}]", f"data[[{quoted}]]"
        if label := view.commonest.get(spec.name):
            text = json.dumps(label, ensure_ascii=False)
            return f"{python} == {text}", f"{r} == {text}"
        if _is_number(spec) and spec.name not in view.levels:
            return f"{python} > {python}.median()", f"{r} > median({r}, na.rm = TRUE)"
        return f"{python} == {python}.iloc[0]", f"{r} == {r}[1]"
    return "condition", "condition"


def _told(value: str) -> str:
    """Return a figure or a sentence of a mechanism's in the recipient's language."""
    return said(value) if isinstance(value, Sentence) else localized(value)


def _weights(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return how to estimate with the sampling weights; empty where there are none."""
    columns = names_of(contents.columns, Role.WEIGHT)
    if not columns:
        return ""
    called = [names[name] for name in columns]
    values = {
        "weights": _listed(called),
        "weight_code": json.dumps(called[0], ensure_ascii=False),
    }
    return f"\n{_template('weights').substitute(values).strip()}\n"


def _programs(contents: BundleContents) -> str:
    """Return the list's line about the programs; empty without them."""
    return _template("programs").substitute() if has_programs(contents) else ""


def has_programs(contents: BundleContents) -> bool:
    """Whether the recipients' programs can do anything with a bundle's perturbed columns."""
    return any(each.channel is not None for each in contents.perturbations)


def _analysis(contents: BundleContents, names: Mapping[str, str]) -> str:
    """Return what the programs beside the data do, for some of its columns; empty without them."""
    usable = [each for each in contents.perturbations if each.relates]
    if not usable:
        return ""
    perturbed = [names[name] for each in usable for name in each.attributes]
    noisy = [each for each in usable if "noise_covariance" in (each.channel or {})]
    told = _largest_noise(contents.rows) if noisy else ""
    return _template("analysis").substitute(
        columns=_listed(perturbed), examples=example_rows(contents, names), imputable=told
    )


def _largest_noise(rows: int) -> str:
    """Say up to which noise the programs impute numbers.

    They refuse where the released variance beside the given columns, less the noise's, is not five
    of its standard errors above 0. Those are about √(2/n) of the released variance.
    """
    share = 1.0 - 5.0 * math.sqrt(2.0 / max(rows, 1))
    if share <= 0.0:
        return worded(" With so few records, they are refused.")
    return worded(
        " The program refuses where noise is more than about {share:.0%} of the released variance"
        " beside what the given columns explain: too little is left to draw from.",
        share=share,
    )


def _below(markdown: str, level: int) -> str:
    """Move a text's headings down so that its highest one is at `level`."""
    lines = markdown.splitlines()
    in_code = False
    headings: dict[int, int] = {}
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and (found := re.match(r"(#+) ", line)):
            headings[number] = len(found[1])
    shift = level - min(headings.values(), default=level)
    for number, depth in headings.items():
        lines[number] = "#" * min(6, depth + shift) + lines[number][depth:]
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    """Return names for a sentence: "a", "a and b", "a, b and c"."""
    return listed(*map(_plain, names))


def _told_of(contents: BundleContents, text: str) -> str:
    """Return what is said of a release, with the columns' names in quotation marks."""
    columns = {spec.name for spec in contents.columns}
    if contents.unit is not None:
        columns |= {contents.unit.name}  # named, although it may not leave
    return _plain(said(set_apart(text, columns)), cell=False)


def _plain(text: str, cell: bool = True) -> str:
    """Return a text on one line, in which Markdown sees no markup that would hide it.

    With `cell`, every character that starts markup is escaped; without, only what would begin
    an HTML tag.
    """
    line = " ".join(text.split())
    return re.sub(r"([\\`*_|<>\[\]#])" if cell else r"([<])", r"\\\1", line)


# ----- what a README shows of the recipients' programs: lines that run on the bundle beside it


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
    columns = list(_columns_examples(contents, names))
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


def _columns_examples(contents: BundleContents, names: Mapping[str, str]) -> Iterator[_Column]:
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
