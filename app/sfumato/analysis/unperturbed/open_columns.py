"""What columns released unchanged tell of the sensitive attributes, without and with a release.

One answer for the guarantee, the audit, the report and the command line. It is computed from the
exact table, and so for the custodian alone: nothing of it goes to outsiders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.analysis.answers import Answer, AnswerTable, CellKind
from sfumato.analysis.coalitions.holdings import Holding
from sfumato.analysis.shown_columns import ColumnView, ShownColumns, look_of
from sfumato.analysis.unperturbed.open_figures import (
    OpenFigure,
    WeighedRows,
    weighed_rows,
    whole_codes,
    whole_numbers,
)
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Integers, rounded_down
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.disclosure.best_guess import guessed_of_member, restored_alone
from sfumato.engine.disclosure.open_columns import (
    NumberEstimate,
    ValueEstimate,
    estimate_numbers,
    estimate_values,
    guessed_member_with,
    guessed_with,
)
from sfumato.engine.disclosure.open_features import (
    ColumnKnowledge,
    Sought,
    UnperturbedColumn,
    known_of,
)
from sfumato.engine.matrices.retention_matrix import RetentionMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, members, sizes_of
from sfumato.engine.table.relations import (
    LinearRelation,
    Relation,
    Whole,
    determined,
    holds,
    linear_relations,
)
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    encode_column,
    proposed_domain,
)
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.document.model import Document, Recipient, canonical_json, to_plain

MOST_ROWS: Final = 12_000
"""Of larger tables, so many records are estimated."""
_LEAST_ROWS: Final = 3_000
_MANY: Final = 3
"""Of more attributes, fewer records each are estimated."""


@dataclass(frozen=True)
class OpenColumnsKey:
    """What an answer depends on beside the rows.

    Parameters
    ----------
    shown
        The columns that every recipient sees as they are, or binned.
    sensitive
        The sensitive ones.
    unit
        The columns that name the unit of protection.
    """

    shown: tuple[ColumnSpec, ...]
    sensitive: tuple[ColumnSpec, ...]
    unit: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Document) -> OpenColumnsKey:
        """Return what is asked of a document's columns."""
        hidden = (Role.IDENTIFYING, Role.SENSITIVE)
        # What somebody has confirmed of a domain, or how it is called, is of no account.
        plain = [replace(spec, from_rows=False) for spec in document.columns]
        return cls(
            tuple(spec for spec in plain if spec.role not in hidden),
            tuple(spec for spec in plain if spec.role is Role.SENSITIVE),
            () if document.unit is None else document.unit.columns,
        )


@dataclass(frozen=True, eq=False)
class OpenFindings:
    """What the open columns tell without any release.

    Parameters
    ----------
    asked
        Of which columns.
    records
        The table's records.
    rows
        Which of them were estimated, ascending.
    estimates
        For each sensitive attribute what was found; those that can't be estimated (too few
        records, values that don't fit) are left out.
    relations
        Sensitive columns that follow from others exactly.
    """

    asked: OpenColumnsKey
    records: int
    rows: npt.NDArray[np.intp] = field(repr=False)
    estimates: Mapping[str, NumberEstimate | ValueEstimate] = field(repr=False)
    relations: tuple[Relation, ...] = ()

    @property
    def sampled(self) -> int:
        """How many records were estimated."""
        return len(self.rows)

    @property
    def hidden_relations(self) -> tuple[str, ...]:
        """Say which sensitive columns follow from others that are not all open."""
        return tuple(
            joined(
                relation.sentence,
                Sentence(
                    "What is revealed about one is revealed about the others: protect them"
                    " together.",
                ),
            )
            for relation in self.relations_hidden
        )

    @property
    def relations_hidden(self) -> tuple[Relation, ...]:
        """Sensitive columns that follow from others that are not all open."""
        shown = {spec.name for spec in self.asked.shown}
        return tuple(each for each in self.relations if not set(each.columns) <= shown)

    def relation_of(self, name: str) -> Relation | None:
        """Return from which open columns an attribute follows exactly, the fewest first."""
        shown = {spec.name for spec in self.asked.shown}
        found = [r for r in self.relations if r.name == name and set(r.columns) <= shown]
        return min(found, key=lambda relation: len(relation.columns), default=None)


# ----- without any release


def weigh_open_columns(document: Document, columns: ShownColumns, context: Context) -> OpenFindings:
    """Find out what the columns released unchanged tell of every sensitive one.

    Parameters
    ----------
    document
        The columns with their roles, kinds, bins and domains.
    columns
        What is known of the table's columns; it keeps what is found.
    context
        Progress and cancelling.

    Raises
    ------
    TableError
        If the table lacks a column.
    """
    asked = OpenColumnsKey.of(document)
    return columns.latest("open columns", asked, lambda: _weighed(asked, columns, context))


def _weighed(asked: OpenColumnsKey, columns: ShownColumns, context: Context) -> OpenFindings:
    context.report(0.0, "Reading the columns released unchanged")
    specs = {spec.name: spec for spec in asked.shown}
    count = len(asked.sensitive)
    most = max(MOST_ROWS * _MANY // max(count, _MANY), _LEAST_ROWS)
    weighed = weighed_rows(columns, asked.shown, most)
    table, rows = weighed.table, weighed.sample
    found = [weighed.open_column(columns, spec) for spec in asked.shown]
    shown = [column for column in found if column is not None]
    units = units_of(table, asked.unit) if asked.unit else None
    estimates: dict[str, NumberEstimate | ValueEstimate] = {}
    hidden: list[UnperturbedColumn] = []
    for place, spec in enumerate(asked.sensitive):
        part = Part(context, 0.1 + 0.7 * place / count, 0.1 + 0.7 * (place + 1) / count)
        part.report(0.0, "Weighing the columns released unchanged")
        try:
            attribute = _encoded(columns, weighed, spec)
        except SfumatoError:
            continue  # the guarantee's next steps say what is wrong with it

        told = canonical_json(to_plain(spec))

        def look(column: UnperturbedColumn, sought: Sought, told: str = told) -> ColumnKnowledge:
            key = ("open column", told, most, asked.unit, look_of(specs[column.name]))
            return columns.keep(key, lambda: known_of(column, sought))

        domain = attribute.attribute.domain
        estimate: NumberEstimate | ValueEstimate | None
        if domain is None:
            numbers = np.asarray(attribute.values, dtype=np.float64)
            codes = weighed.codes(columns, ColumnView(ColumnSpec(spec.name)))
            hidden.append(weighed.numbers(spec, codes, numbers))
            estimate = estimate_numbers(spec.name, numbers, shown, rows, part, units, look)
        else:
            codes = np.asarray(attribute.values, dtype=np.int64)
            hidden.append(UnperturbedColumn(spec.name, None, codes))
            size = domain.size
            estimate = estimate_values(spec.name, codes, size, shown, rows, part, units, look)
        if estimate is not None:
            estimates[spec.name] = estimate
    if weighed.rows is not None:
        places = weighed.rows
        estimates = {
            name: replace(each, sample=places[each.sample]) for name, each in estimates.items()
        }
    relations = _relations(asked, columns, weighed, shown, hidden, units, Part(context, 0.8, 1.0))
    return OpenFindings(asked, columns.rows, weighed.places, estimates, relations)


def _encoded(columns: ShownColumns, weighed: WeighedRows, spec: ColumnSpec) -> EncodedColumn:
    """Encode a sensitive attribute of the rows that are weighed, by the domain of all rows."""
    if spec.domain is None and (spec.kind is not Kind.NUMERIC or spec.binning is not None):
        spec = replace(spec, domain=proposed_domain(columns.table, spec))
    return encode_column(weighed.table, spec)


def _relations(
    asked: OpenColumnsKey,
    columns: ShownColumns,
    weighed: WeighedRows,
    shown: Sequence[UnperturbedColumn],
    hidden: Sequence[UnperturbedColumn],
    units: Integers | None,
    context: Context,
) -> tuple[Relation, ...]:
    """Return from which columns sensitive ones follow exactly, in all rows."""
    specs = {spec.name: spec for spec in (*asked.shown, *asked.sensitive)}
    order = {name: place for place, name in enumerate(columns.table.columns)}
    everything = sorted([*shown, *hidden], key=lambda column: order[column.name])
    wanted = [column.name for column in hidden]
    numbers = {c.name: c.numbers for c in everything if c.numbers is not None}
    codes = {c.name: c.codes for c in everything if c.codes is not None}
    linear = [
        relation
        for relation in linear_relations(numbers, wanted, Part(context, 0.0, 0.4))
        if {relation.name, *relation.columns} & set(wanted)
        and (weighed.rows is None or _holds(columns, relation, specs))
    ]
    solved = {relation.name for relation in linear}
    others = [name for name in wanted if name not in solved]
    whole = None if weighed.rows is None else _whole(columns, specs, asked.unit)
    found = determined(codes, others, Part(context, 0.4, 1.0), units=units, whole=whole)
    return (*linear, *found)


def _whole(columns: ShownColumns, specs: Mapping[str, ColumnSpec], unit: Sequence[str]) -> Whole:
    """Return what looks a column's codes up in all rows, and the units of all."""

    def codes(name: str) -> Integers:
        return whole_codes(columns, look_of(specs[name]))

    return codes, units_of(columns.table, unit) if unit else None


def _holds(
    columns: ShownColumns, relation: LinearRelation, specs: Mapping[str, ColumnSpec]
) -> bool:
    """Whether a relation that holds in a part of the rows holds in all."""
    names = (relation.name, *relation.columns)
    return holds(relation, {n: whole_numbers(columns, look_of(specs[n])) for n in names})


# ----- with releases


def open_figures(
    findings: OpenFindings, plan: EntryPlan | None, recipient: str, attributes: Sequence[Attribute]
) -> tuple[OpenFigure, ...]:
    """Return what is told of attributes without a release and with one.

    Parameters
    ----------
    findings
        What the open columns tell.
    plan
        The release of the policy entry that these attributes belong to; None for no release.
    recipient
        Who gets it.
    attributes
        The entry's attributes.

    Raises
    ------
    SfumatoError
        If the plan's settings don't fit the attributes.
    """
    if all(attribute.numbers is not None for attribute in attributes):
        return _number_figures(findings, plan, recipient, attributes)
    return _value_figures(findings, plan, recipient, attributes)


def _number_figures(
    findings: OpenFindings, plan: EntryPlan | None, recipient: str, attributes: Sequence[Attribute]
) -> tuple[OpenFigure, ...]:
    found = {a.name: findings.estimates.get(a.name) for a in attributes}
    released = both = None
    if plan is not None:
        mechanism = mechanism_called(plan.mechanism)
        numbers = np.stack([a.numbers for a in attributes if a.numbers is not None])
        rows = findings.rows
        left = numbers[:, rows]
        for place, attribute in enumerate(attributes):
            estimate = found[attribute.name]
            if isinstance(estimate, NumberEstimate):
                left[place] = np.nan
                left[place, np.searchsorted(rows, estimate.sample)] = estimate.left
        chosen = tuple(attributes)
        released = mechanism.widths_in_table(plan.level, numbers, chosen, plan.settings)
        both = mechanism.widths_in_table(plan.level, left, chosen, plan.settings)
    figures = []
    for place, attribute in enumerate(attributes):
        estimate = found[attribute.name]
        if not isinstance(estimate, NumberEstimate):
            continue
        follows = isinstance(findings.relation_of(attribute.name), LinearRelation)
        best = 0.0 if follows else estimate.best
        alone_with = estimate.without if released is None else float(released[place])
        together = best if both is None else float(both[place])
        if np.isnan(alone_with) or np.isnan(together):
            alone_with, together = estimate.without, best
        figures.append(
            OpenFigure(
                attribute.name,
                "" if plan is None else recipient,
                True,
                estimate.without,
                best,
                0.0 if follows else min(estimate.linear, estimate.without),
                alone_with,
                min(together, alone_with, best),
                *_reasons(findings, estimate),
                len(estimate.sample),
                findings.records,
            )
        )
    return tuple(figures)


def _value_figures(
    findings: OpenFindings, plan: EntryPlan | None, recipient: str, attributes: Sequence[Attribute]
) -> tuple[OpenFigure, ...]:
    figures, matrix = [], None
    if plan is not None:
        mechanism = mechanism_called(plan.mechanism)
        matrix = mechanism.matrix(plan.level, tuple(attributes), plan.settings)
    whole = combined(attributes)
    for place, attribute in enumerate(attributes):
        estimate = findings.estimates.get(attribute.name)
        if not isinstance(estimate, ValueEstimate):
            continue
        released, both = estimate.without, estimate.best
        if matrix is not None and len(attributes) == 1:
            released = float(restored_alone(matrix, whole.frequencies, Silent()).guessed)
            both = max(guessed_with(estimate, matrix), released, both)
        elif isinstance(matrix, RetentionMatrix) and whole.codes is not None:
            member, shares = members(sizes_of(attributes), place), whole.frequencies
            released = guessed_of_member(matrix, shares, member)
            together = guessed_member_with(estimate, matrix, shares, member, whole.codes)
            both = max(together, released, both)
        figures.append(
            OpenFigure(
                attribute.name,
                recipient if matrix is not None else "",
                False,
                estimate.without,
                estimate.best,
                estimate.best,
                released,
                both,
                *_reasons(findings, estimate),
                len(estimate.sample),
                findings.records,
            )
        )
    return tuple(figures)


def _reasons(
    findings: OpenFindings, estimate: NumberEstimate | ValueEstimate
) -> tuple[tuple[str, ...], str]:
    """Return the columns that tell, and why the attribute follows from some exactly."""
    telling = tuple(name for name, _ in estimate.telling)
    relation = findings.relation_of(estimate.name)
    if relation is None:
        return telling, ""
    return relation.columns, relation.sentence


@dataclass(frozen=True, eq=False)
class OpenAnswer:
    """What open columns tell without releases, and beside every release that is planned.

    Parameters
    ----------
    findings
        What they tell without.
    figures
        By policy entry's key and recipient, the plan and what is told with it.
    unplanned
        What is told of attributes that no release is planned of.
    """

    findings: OpenFindings
    figures: Mapping[tuple[str, str], tuple[EntryPlan, tuple[OpenFigure, ...]]]
    unplanned: tuple[OpenFigure, ...] = ()

    def beside(
        self, entry: str, recipient: str, level: float | None = None
    ) -> tuple[OpenFigure, ...]:
        """Return what is told with one recipient's release of a policy entry.

        Nothing where it is not known, or only at another level than the one asked for.
        """
        plan, figures = self.figures.get((entry, recipient), (None, ()))
        fits = level is None or (plan is not None and plan.level == level)
        return figures if fits else ()

    @property
    def cautions(self) -> tuple[str, ...]:
        """Say what weakens promises, and what can be done: each attribute once, for the house."""
        first = {figure.attribute: figure for figure in reversed(self.all_figures)}
        told = tuple(figure.caution for figure in first.values() if figure.matters)
        return (*told, *self.findings.hidden_relations)

    def for_recipient(self, name: str) -> tuple[OpenFigure, ...]:
        """Return what is told with all that one recipient is given, attribute by attribute."""
        return tuple(
            figure
            for (_, recipient), (_, figures) in self.figures.items()
            if recipient == name
            for figure in figures
        )

    @property
    def all_figures(self) -> tuple[OpenFigure, ...]:
        """Every figure, by policy entry and recipient."""
        told = tuple(figure for _, figures in self.figures.values() for figure in figures)
        return (*told, *self.unplanned)


def answer_open_columns(
    document: Document,
    columns: ShownColumns,
    attributes: Mapping[str, Attribute],
    context: Context,
    recipients: Sequence[Recipient] | None = None,
) -> OpenAnswer:
    """Return what open columns tell without releases and beside each.

    Parameters
    ----------
    document
        The columns, the policy and the recipients, finished or not; what can't be planned is
        left out.
    columns
        What is known of the table's columns; it keeps what is found, so that another answer
        about them comes soon.
    attributes
        What is known of the policy's attributes, by name.
    context
        Progress and cancelling.
    recipients
        Whose releases are weighed; None for all of the document.
    """
    findings = weigh_open_columns(document, columns, Part(context, 0.0, 0.8))
    about = canonical_json([to_plain(findings.asked), to_plain(document.unit)])
    rest = Part(context, 0.8, 1.0)
    answer: dict[tuple[str, str], tuple[EntryPlan, tuple[OpenFigure, ...]]] = {}
    asked = document.recipients if recipients is None else recipients
    pairs = [(entry, recipient) for entry in document.policy for recipient in asked]
    for place, (entry, recipient) in enumerate(pairs):
        rest.report(place / len(pairs), "Weighing releases beside the open columns")
        if not set(entry.attributes) <= set(attributes):
            continue
        chosen = tuple(attributes[name] for name in entry.attributes)
        try:
            plan = plan_entry(document, entry, attributes, recipient)
            found = columns.keep(
                ("open figures", about, canonical_json(to_plain(plan))),
                partial(open_figures, findings, plan, recipient.name, chosen),
            )
        except SfumatoError:
            continue  # the guarantee's next steps say what is wrong with it
        told = tuple(_told_to(recipient, figure) for figure in found)
        answer[entry.key, recipient.name] = (plan, told)
    planned = {figure.attribute for _, figures in answer.values() for figure in figures}
    rest_of = [attributes[name] for name in attributes if name not in planned]
    unplanned = tuple(f for one in rest_of for f in open_figures(findings, None, "", (one,)))
    return OpenAnswer(findings, answer, unplanned)


def _told_to(recipient: Recipient, figure: OpenFigure) -> OpenFigure:
    levels = {} if recipient.view is None else recipient.view.levels
    coarser = tuple(name for name in figure.telling if levels.get(name, 0) > 0)
    name = recipient.name if figure.recipient else ""
    return replace(figure, recipient=name, coarser=coarser)


def figures_beside(
    findings: OpenFindings, held: Holding, attributes: Mapping[str, Attribute]
) -> tuple[OpenFigure, ...]:
    """Return what is told with what somebody holds of a policy entry, released or planned."""
    try:
        chosen = tuple(attributes[name] for name in held.plan.attributes)
        return open_figures(findings, held.plan, held.recipient, chosen)
    except (SfumatoError, KeyError):
        return ()  # of columns or settings that are no longer there


def figure_sentences(figures: Sequence[OpenFigure]) -> tuple[str, ...]:
    """Return what figures say, and what can be done about those that matter."""
    return tuple(joined(figure.sentence, figure.remedy) for figure in figures)


def answer_of(answer: OpenAnswer, recipients: Sequence[str] = ()) -> Answer:
    """Return what was found, in plain sentences without any value of the table, and in figures.

    Parameters
    ----------
    answer
        What was found.
    recipients
        Whose releases are told of; all if empty.
    """
    figures = [
        figure
        for figure in answer.all_figures
        if not recipients or not figure.recipient or figure.recipient in recipients
    ]
    told: list[str] = []
    for figure in figures:
        if figure.recipient:
            told.append(Sentence("{recipient}:", recipient=figure.recipient))
        told += [joined("  ", each) for each in (figure.sentence, figure.remedy) if each]
    if not told:
        told.append(Sentence("There are too few records to estimate anything from open columns."))
    told += answer.findings.hidden_relations
    facts = {
        "figures": [figure.plain() for figure in figures],
        "relations": [str(relation.sentence) for relation in answer.findings.relations],
        "records": answer.findings.records,
        "sampled": answer.findings.sampled,
    }
    return Answer((*told, *filter(None, [sampling_sentence(answer.findings)])), facts=facts)


def answer_of_entry(answer: OpenAnswer, entry: str, recipients: Sequence[str]) -> Answer | None:
    """Return what is told of one policy entry, recipient by recipient; None where nothing is."""
    figures = [figure for name in recipients for figure in answer.beside(entry, name)]
    if not figures:
        return None
    kind = CellKind.WIDTH if figures[0].numeric else CellKind.SHARE
    columns: dict[str, CellKind] = {
        Sentence("Attribute"): CellKind.TEXT,
        Sentence("Recipient"): CellKind.TEXT,
        Sentence("Nothing known"): kind,
        Sentence("Open columns"): kind,
        Sentence("Release"): kind,
        Sentence("Both"): kind,
    }
    rows = []
    for figure in figures:
        numbers = (figure.alone, figure.open, figure.released, figure.both)
        cells = map(rounded_down, numbers) if figure.numeric else numbers
        rows.append((figure.attribute, figure.recipient, *cells))
    first = {figure.attribute: figure for figure in reversed(figures)}
    told = Sentence(
        "What the columns released unchanged tell, by estimates that were tried on this table;"
        " somebody may know a better one."
    )
    unit = (
        Sentence("Half-widths that hold 90 in 100 people:")
        if figures[0].numeric
        else Sentence("Shares of the people whose value is guessed right:")
    )
    return Answer(
        (joined(told, unit),),
        entry=entry,
        tables=(AnswerTable(columns, rows),),
        remedies=tuple(
            Sentence("{attribute}: {remedy}", attribute=one.attribute, remedy=one.remedy)
            for one in first.values()
            if one.matters
        ),
        notes=tuple(filter(None, [sampling_sentence(answer.findings)])),
    )


def with_figures(answer: Answer, beside: Sequence[OpenFigure]) -> Answer:
    """Return an answer with what the most trusted member learns with the open columns."""
    facts = {**answer.facts, "open columns": [figure.plain() for figure in beside]}
    return replace(answer, sentences=(*answer.sentences, *figure_sentences(beside)), facts=facts)


def sampling_sentence(findings: OpenFindings) -> str:
    """Say on how many records figures rest; empty where it is all of them."""
    if findings.sampled >= findings.records:
        return ""
    return Sentence(
        "Computed on {sampled:,} of {records:,} {records:record|records}, drawn evenly: shares are"
        " within {error:.1f} in 100 of the table's.",
        sampled=findings.sampled,
        records=findings.records,
        error=100.0 / float(np.sqrt(findings.sampled)),
    )
