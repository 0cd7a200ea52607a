"""A whole plan in one step: what makes the releases to all recipients safe, and worth most.

What is decided stays. What is not is proposed: recipients, the mechanism that is worth most for
each sensitive column, hierarchies and levels of the quasi-identifiers; and then, as long as the
check finds something that keeps a release from being made, the remedy that leaves least of it.

Who can be found is looked at first, by the checks that take little time: what else leaves decides
what the others have to weigh, and each of them takes seconds where columns are many.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import copy as copied
from dataclasses import replace
from typing import Final

from sfumato.analysis.coarsening.columns_left import kept_columns
from sfumato.analysis.coarsening.undone_views import undone_views
from sfumato.analysis.coarsening.views import (
    FEW_COLUMNS,
    levels_found_anew,
    released_rows,
    with_importance,
    with_proposed_hierarchies,
    with_proposed_ks,
)
from sfumato.analysis.findings import (
    Examined,
    Finding,
    Remedy,
    RemedyKind,
    open_columns_of,
    telling_columns,
)
from sfumato.analysis.planning.board import Gauges, beside_open_columns, gauges_of
from sfumato.analysis.planning.plan import PlanStep, SafePlan, standing_in
from sfumato.analysis.planning.planned_views import (
    can_be_released,
    detail_kept_of,
    views_keeping_most,
)
from sfumato.analysis.readiness.column_checks import told_reasons
from sfumato.analysis.readiness.readiness import attributes_in, check_rows, looked_at, mended
from sfumato.analysis.readiness.readiness_checks import CHECKS_OF_ROWS
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.analysis.readiness.worth_checks import worth_of_columns
from sfumato.analysis.shown_columns import LeavingColumns, ShownColumns
from sfumato.analysis.steps import unprotected, without_level
from sfumato.analysis.unperturbed.open_figures import left_out
from sfumato.analysis.utility.mechanism_choice import choices_of, statements_like
from sfumato.analysis.utility.unit_price import price_in
from sfumato.analysis.utility.worth import weigh_worth
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.proposals import ANSWER, best_known
from sfumato.engine.table.table import Attribute, no_column
from sfumato.formats.language import ENGLISH, spoken, worded
from sfumato.project.document.edits import (
    met_statement,
    with_entry,
    with_marks,
    without_entry,
)
from sfumato.project.document.entry_plan import check_policy
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.document.promised import least_promised
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.release_columns import check_columns, material_of
from sfumato.project.release.table_survey import (
    Survey,
    measured_for_unit,
    survey_of_any,
    with_fixed_domains,
)
from sfumato.project.release.views import quasi_identifiers

TYPICAL: Final = (
    Sentence("Trusted partner"),
    Sentence("Contract recipient"),
    Sentence("Public file"),
)
"""To whom typical levels are given, most trusted first."""
MOST_REMEDIES: Final = 24
"""So many remedies are taken at most: each is a check of the whole table."""

_Checks = Sequence[Callable[[Examined], Iterable[Finding]]]
_SLOW: Final = (undone_views, worth_of_columns, telling_columns, told_reasons)
_QUICK: Final[_Checks] = tuple(one for one in CHECKS_OF_ROWS if one not in _SLOW)
"""The checks that are asked first, again after every remedy."""


def propose_plan(
    document: Document,
    table: BatchedTable,
    keys: KeyRing,
    releases: Sequence[ReleaseRecord],
    context: Context,
    sensitive: Sequence[str] = (),
) -> SafePlan:
    """Return a plan by which releases to all recipients can be made, and are worth most.

    Parameters
    ----------
    document, table, keys, releases
        The project: what is decided, the rows, its keys, and what was released.
    context
        Progress and cancelling.
    sensitive
        Columns that nobody else can know of a person: they leave randomised.

    Raises
    ------
    PolicyError
        If a column that is said to be sensitive names people; if no column is sensitive, nor
        seems to be by its name; or if a generalized table is to be published.
    TableError
        If the table has no column that is said to be sensitive.
    SfumatoError
        If a column's values don't fit what is decided or proposed for it.
    """
    if document.is_published_only:
        raise PolicyError(
            "The project publishes a generalized table, and a plan is one of releases to"
            " recipients: whoever has both can tell which perturbed values are true.",
            "Make a project of its own for releases to recipients.",
        )
    planner = _Planner(document, table, keys, releases, context)
    planner.report(0.0, "Checking what is decided")
    before, gauges_before = planner.check_now(), planner.gauges_now()
    source = survey_of_any(table, Part(context, 0.05, 0.15))
    planner.find_sensitive(source, sensitive)
    planner.add_recipients()
    planner.protect(source, Part(context, 0.15, 0.35))
    planner.coarsen(source, Part(context, 0.35, 0.5))
    planner.document = measured_for_unit(planner.document, source, KeyedNoise(keys))
    planner, after = _better_of_two(planner, source, Part(context, 0.5, 0.9))
    planner.tell_views()
    seen = planner.seen(Part(context, 0.9, 0.94))
    worth = weigh_worth(*seen, Part(context, 0.94, 0.98), KeyedNoise(keys))
    gauges = planner.gauges(Part(context, 0.98, 1.0))
    steps = tuple(planner.steps)
    return SafePlan(planner.document, steps, before, after, tuple(worth), gauges_before, gauges)


def _better_of_two(
    planner: _Planner, source: Survey, context: Context
) -> tuple[_Planner, tuple[Readiness, ...]]:
    """Return how the plan goes on, and what is found then.

    Each quasi-identifier more leaves less of the others. Where the plan adds any, it is made
    without them as well, and they are added only where that leaves more detail.
    """
    other = planner.without(RemedyKind.QUASI_IDENTIFIER)
    names = [one.name for one in planner.document.columns]
    after = planner.mend(source, Part(context, 0.0, 0.5))
    if RemedyKind.QUASI_IDENTIFIER not in planner.taken:
        return planner, after
    left = other.mend(source, Part(context, 0.5, 1.0))
    here, there = (
        (-standing_in(found), one.detail_of(names))
        for one, found in ((planner, after), (other, left))
    )
    return (planner, after) if here > there else (other, left)


class _Planner:
    """A document on its way, and what was done to it."""

    def __init__(
        self,
        document: Document,
        table: BatchedTable,
        keys: KeyRing,
        releases: Sequence[ReleaseRecord],
        context: Context,
    ) -> None:
        self.document, self.steps = document, list[PlanStep]()
        self._table, self._keys, self._releases = table, keys, releases
        self._viewless: frozenset[str] = frozenset()
        self._evenly, self._weighed = False, tuple[str, ...]()
        self._had_many, self._names_important = False, False
        self._decided = frozenset(one.key for one in document.policy)
        self._protecting: tuple[PlanStep, ...] = ()
        self._without = frozenset[RemedyKind]()
        self._private: Mapping[str, str] = {}
        self.taken = frozenset[RemedyKind]()
        # In rows that are at hand, what was found of columns that stay is not looked for again.
        at_hand = table.rows <= table.most_sampled
        self._leaving = LeavingColumns(table.in_memory(context), keys) if at_hand else None
        self.report: Callable[[float, str], None] = context.report

    def without(self, kind: RemedyKind) -> _Planner:
        """Return a planner at the same place that takes no remedy of a kind."""
        other = copied(self)
        other.steps, other._without = [*self.steps], frozenset({kind})
        return other

    def detail_of(self, names: Sequence[str]) -> float:
        """Return how much of columns' detail the plan leaves."""
        return detail_kept_of(self.document, names, self._looked)

    def _tell(self, words: str, **details: object) -> None:
        self.steps.append(PlanStep(Sentence(words, **details)))

    def check(
        self, document: Document, checks: _Checks = CHECKS_OF_ROWS, remedies: bool = True
    ) -> tuple[Readiness, ...]:
        """Return what the check finds in a document, or what some of its checks do."""
        looked = self._looked(document)
        found = check_rows(*looked, Silent(), checks=checks, remedies=remedies)
        return found.readiness(self._releases, document.accepted)

    def _looked(self, document: Document) -> tuple[Document, ShownColumns, Mapping[str, Attribute]]:
        """Return what is examined of a document; what is known of columns that stay is kept."""
        if self._leaving is None:
            return looked_at(document, self._table, self._keys, Silent())
        check_policy(document)
        check_columns(document, self._table.columns)
        columns = self._leaving.of(document)
        material = material_of(document, self._leaving.whole.table)
        return material.document, columns, material.attributes

    def seen(self, context: Context) -> tuple[Document, ShownColumns, Mapping[str, Attribute]]:
        """Return what is examined of the document as it is."""
        return looked_at(self.document, self._table, self._keys, context)

    def check_now(self) -> tuple[Readiness, ...]:
        """Return what is found today; nothing where the policy isn't whole."""
        if not self.document.recipients or unprotected(self.document):
            return ()
        try:
            return self.check(self.document)
        except SfumatoError:
            return ()

    def gauges_now(self) -> tuple[Gauges, ...]:
        """Return every recipient's figures today; nothing where they can't be told yet."""
        if not self.document.recipients:
            return ()
        try:
            return self.gauges(Silent())
        except SfumatoError:
            return ()

    def gauges(self, context: Context) -> tuple[Gauges, ...]:
        """Return every recipient's figures, as the board and the card show them."""
        seen = self._looked(self.document)
        told = gauges_of(*seen, Part(context, 0.0, 0.5))
        beside = open_columns_of(*seen, self.document.recipients, Part(context, 0.5, 1.0))
        return tuple(beside_open_columns(one, beside) for one in told)

    def find_sensitive(self, source: Survey, stated: Sequence[str]) -> None:
        """Mark what is stated, and where nothing was marked before, what seems to be private."""
        known = {each.name: each for each in self.document.columns}
        self._private = {
            one.spec.name: one.reason
            for one in source.proposals()
            if one.may_be_sensitive and one.spec.name in known
            if known[one.spec.name].role is not Role.IDENTIFYING and one.spec.name not in stated
        }
        marked = bool(self.document.sensitive)
        naming = {one.spec.name for one in source.proposals() if one.spec.role is Role.IDENTIFYING}
        for name in stated:
            if name not in known:
                raise no_column(name)
            if name in naming or name == self.document.record_key:
                raise PolicyError(
                    "{column} looks like something that names a person or numbers the records, so"
                    " it is not randomised.",
                    "Leave it out, or let it leave as a pseudonym.",
                    column=name,
                )
        if stated:
            self.document = _marked(self.document, stated)
            words = "Sensitive, since you say that nobody else can know {count:it|them}: {columns}."
            self._tell(words, count=len(stated), columns=listed(list(stated)))
        if marked or (stated and not self._private):
            return
        if not self._private:
            raise PolicyError(
                "No column is sensitive, so there is nothing to protect.",
                "Give what nobody should learn of a person the role sensitive.",
            )
        self.document = _marked(self.document, self._private)
        asked = [name for name, why in self._private.items() if why == ANSWER]
        named = [name for name in self._private if name not in asked]
        if named:
            words = "Sensitive, since their names suggest what people keep private: {columns}."
            self._tell(words, columns=listed(named))
        if asked:
            words = "Sensitive, since they look like answers to a questionnaire: {columns}."
            self._tell(words, columns=listed(asked))

    def add_recipients(self) -> None:
        """Add three typical recipients where there are none."""
        if self.document.recipients:
            return
        language = None if spoken() == ENGLISH else spoken()
        added = tuple(Recipient(worded(str(name)), {}, language=language) for name in TYPICAL)
        self.document = with_marks(replace(self.document, recipients=added))
        names = listed([each.name for each in added])
        self._tell("Three typical recipients: {names}.", names=names)

    def protect(self, source: Survey, context: Context) -> None:
        """Protect each sensitive column by what is worth most to the most trusted recipient."""
        self.document = with_fixed_domains(self.document, source)
        for entry in self.document.policy:
            specs = [self.document.column(name) for name in entry.attributes]
            known = source.attributes(specs, self.document.unit)
            self.document = _with_typical(self.document, entry, known)
        self.document, self._protecting = self._protected(self.document, source, context)
        self.steps += self._protecting

    def _protected(
        self, document: Document, source: Survey, context: Context
    ) -> tuple[Document, tuple[PlanStep, ...]]:
        """Return a document in which nothing waits for protection, and what was chosen."""
        steps, waiting = list[PlanStep](), unprotected(document)
        if not waiting:
            return document, ()
        first = document.recipients[:1]
        for choice in [*choices_of(document, source, self._keys, first, context, waiting)]:
            best = choice.best
            if best is None and not choice.fallback[0]:
                continue
            specs = [document.column(name) for name in choice.columns]
            attributes = [
                replace(one, hierarchy=document.hierarchies.get(one.name))
                for one in source.attributes(specs, document.unit)
            ]
            if best is None:
                name, why = choice.fallback
                noise = KeyedNoise(self._keys)
                bears = least_promised(document, attributes, {})
                levels: Mapping[str, Statement] = {}
                try:
                    settings = mechanism_called(name).first_settings(attributes, noise, bears)
                except SfumatoError as error:
                    document = left_out(document, choice.columns)
                    words = "Left out, since nothing that protects it can be made: {column}."
                    told = Sentence(words, column=listed(choice.columns))
                    steps.append(PlanStep(told, error.sentence))
                    continue
            else:
                name, why, settings = best.mechanism, choice.sentence, best.settings
                levels = statements_like(document, attributes, best)
            document = with_entry(document, attributes, name, settings, levels)
            title = Sentence(mechanism_called(name).title)
            words = "{column}: {mechanism}."
            told = Sentence(words, column=listed(choice.columns), mechanism=title)
            steps.append(PlanStep(told, why))
            steps += map(PlanStep, _above_typical(document, choice.columns, levels))
        return document, tuple(steps)

    def coarsen(self, source: Survey, context: Context) -> None:
        """Find levels of the quasi-identifiers for recipients who have no view."""
        document = self.document
        if not quasi_identifiers(document) or all(each.view for each in document.recipients):
            return
        self._viewless = frozenset(one.name for one in document.recipients if one.view is None)
        document, added = with_proposed_hierarchies(document, source)
        self._had_many = len(quasi_identifiers(document)) > FEW_COLUMNS
        document = self._with_important(document)
        attributes = attributes_in(document, self._table, self._keys, Part(context, 0.0, 0.4))
        document = with_proposed_ks(document, attributes, self._table)
        self.document = self._with_views(document, Part(context, 0.4, 1.0))
        if added:
            words = "Hierarchies for {columns}."
            self._tell(words, columns=listed(list(added)))

    def _with_important(self, document: Document) -> Document:
        """Return the document in which the best known of many columns are kept before others."""
        names = quasi_identifiers(document)
        important = best_known(names)
        if document.importance is not None or len(names) <= FEW_COLUMNS or not important:
            return document
        words = "Important, so that something of them is kept before others: {columns}."
        self._tell(words, columns=listed(important))
        self._names_important = True
        return with_importance(document, important)

    def _with_views(self, document: Document, context: Context) -> Document:
        """Return the document with levels found."""
        return levels_found_anew(document, self._table, self._keys, context, evenly=self._evenly)

    def choose_cells(self, context: Context) -> bool:
        """Suppress single cells where more is kept so; return whether the views are others now."""
        known = quasi_identifiers(self.document)
        if not known or known == self._weighed or len(self._viewless) < self._recipients:
            return False
        self._weighed = known
        left = released_rows(self.document, self._table, self._keys, Part(context, 0.0, 0.2))
        found = views_keeping_most(self.document, left, self._looked, Part(context, 0.2, 1.0))
        before, self.document, self._evenly = self.document, *found
        return self.document != before

    @property
    def _recipients(self) -> int:
        return max(len(self.document.recipients), 1)

    def _mended(
        self, remedy: Remedy, source: Survey, noise: KeyedNoise
    ) -> tuple[Document, tuple[PlanStep, ...]]:
        """Return the document with a remedy, and what protects the columns then.

        Levels are found anew where columns or units changed, and mechanisms where units did: what
        is worth most for single rows need not be for units.
        """
        document = mended(self.document, remedy, source, noise, Silent())
        protecting: tuple[PlanStep, ...] = ()
        unit, by_unit = document.unit, document.unit != self.document.unit
        if by_unit and unit is not None:
            for key in [one.key for one in document.policy if one.key not in self._decided]:
                document = without_entry(document, key)
            price = price_in(document, source, unit.columns, noise, Silent())
            if price is not None:
                document = document.with_unit(replace(unit, most_rows=price.proposed))
            document, protecting = self._protected(document, source, Silent())
            document = measured_for_unit(document, source, noise)
        elif remedy.deed in (RemedyKind.PROTECT, RemedyKind.TOGETHER):
            document, protecting = self._protected(self._unchosen(document), source, Silent())
        changed = by_unit or _quasi(document) != _quasi(self.document)
        if changed and self._viewless and quasi_identifiers(document):
            document, _ = with_proposed_hierarchies(document, source)
            document = self._with_views(document, Silent())
        return document, protecting

    def _unchosen(self, document: Document) -> Document:
        """Return the document without mechanisms of columns that are sensitive only since now."""
        before = {one.name for one in self.document.sensitive}
        for entry in document.policy:
            if before.isdisjoint(entry.attributes):
                document = without_entry(document, entry.key)
        return document

    def tell_views(self) -> None:
        """Say in which classes each recipient sees the quasi-identifiers, where they were found."""
        if not self._viewless:
            return
        views = [(each.name, each.view) for each in self.document.recipients]
        classes = [
            Sentence("{recipient} {k}", recipient=name, k=view.k) for name, view in views if view
        ]
        self._tell("Quasi-identifiers in classes of at least: {ks}.", ks=listed(classes))
        if any(view is not None and view.cells for _, view in views):
            self._tell("Single cells are suppressed: whole columns would tell less.")
        elif len(quasi_identifiers(self.document)) <= FEW_COLUMNS:
            left = released_rows(self.document, self._table, self._keys, Silent())
            kept = kept_columns(self.document, left, Silent())
            self.steps += [] if kept is None else map(PlanStep, kept.sentences)

    def leave_out(self, source: Survey) -> bool:
        """Leave out what nobody would see anything of; return whether there is any.

        What seems to be private, which others hardly know, is randomised instead.

        Of few columns it stays until single cells were weighed, which may tell something of each.
        What the custodian named as important stays, and shows "*"; what the plan did, until then.
        """
        known = quasi_identifiers(self.document)
        few = len(known) <= FEW_COLUMNS
        if not self._viewless or (few and known != self._weighed):
            return False
        left = released_rows(self.document, self._table, self._keys, Silent())
        kept = kept_columns(self.document, left, Silent())
        if kept is None:
            return False
        important = () if few and self._names_important else self.document.importance or ()
        left_over = tuple(one for one in kept.left if one.name not in important)
        names = [one.name for one in left_over]
        private = [name for name in names if name in self._private]
        if private:
            self._randomise(private, source)
            left_over = tuple(one for one in left_over if one.name not in private)
            names = [one.name for one in left_over]
        if names:
            without = left_out(self.document, names)
            if few:  # of fewer columns, fewer cells may be suppressed
                without = self._with_views(without, Silent()) if _quasi(without) else without
                if not (_quasi(without) and can_be_released(without, self._looked)):
                    return bool(private)
            self.document = without
            words = "Left out, since nobody would see anything of them: {columns}."
            if few and self._had_many:
                words = "Left out, too, since single cells would tell nothing of them: {columns}."
            told = Sentence(words, columns=listed(names))
            cost = "" if few else replace(kept, left=left_over).cost
            self.steps.append(PlanStep(told, cost, tuple(names)))
        return bool(names or private)

    def _randomise(self, names: Sequence[str], source: Survey) -> None:
        """Protect by a mechanism what nobody would see anything of, and hardly anybody knows."""
        words = "Randomised, since nobody would see anything of them otherwise: {columns}."
        self._tell(words, columns=listed(names))
        document = with_fixed_domains(_marked(self.document, names), source)
        self.document, protecting = self._protected(document, source, Silent())
        self._protecting += protecting
        self.steps += protecting

    def mend(self, source: Survey, context: Context) -> tuple[Readiness, ...]:
        """Take remedies until nothing stands or none is left; return what is found then."""
        self._mend(source, _QUICK, Part(context, 0.0, 0.2))
        self.leave_out(source)
        self.choose_cells(Part(context, 0.2, 0.3))
        found = self._mend(source, CHECKS_OF_ROWS, Part(context, 0.3, 0.8))
        # Of fewer columns, cells are weighed anew, until nothing is left to leave out.
        while (
            self.leave_out(source)
            | self.choose_cells(Part(context, 0.8, 0.9))
            | self.leave_out(source)
        ):
            found = self._mend(source, CHECKS_OF_ROWS, Part(context, 0.9, 1.0))
        return found

    def _mend(self, source: Survey, checks: _Checks, context: Context) -> tuple[Readiness, ...]:
        """Take remedies until some checks find nothing that stands, or none helps."""
        found = self.check(self.document, checks)
        noise = KeyedNoise(self._keys)
        for place in range(MOST_REMEDIES):
            standing = standing_in(found)
            part = Part(context, place / MOST_REMEDIES, (place + 1) / MOST_REMEDIES)
            words = "Trying remedies for {count} {count:danger|dangers}"
            part.report(0.0, Sentence(words, count=standing))
            best = None
            for remedies in _remedies(found, self._without):
                best = self._best_of(remedies, source, noise, checks)
                if best is not None and standing_in(best.found) < standing:
                    break
            if best is None or standing_in(best.found) >= standing:
                break
            by_unit = best.document.unit != self.document.unit
            self.document, found = best.document, best.found
            if standing_in(found):
                found = self.check(self.document, checks)
            self.taken |= {best.remedy.deed}
            self._tell("{told}.", told=best.remedy.words)
            if best.protecting:
                if by_unit:
                    self.steps = [one for one in self.steps if one not in self._protecting]
                    self._protecting = ()
                self._protecting += best.protecting
                self.steps += best.protecting
        return found

    def _best_of(
        self,
        remedies: Sequence[Remedy],
        source: Survey,
        noise: KeyedNoise,
        checks: _Checks,
    ) -> _Tried | None:
        """Return the remedy of one finding that leaves least; None where none can be taken."""
        tried = list[_Tried]()
        for remedy in remedies:
            try:
                document, protecting = self._mended(remedy, source, noise)
                found = self.check(document, checks, remedies=False)
                tried.append(_Tried(remedy, document, protecting, found))
            except SfumatoError:
                continue
            if not standing_in(tried[-1].found) and not _drops(remedy):
                break
        # What leaves a column out mends most, and costs most.
        return min(
            tried, key=lambda one: (standing_in(one.found), _drops(one.remedy)), default=None
        )


@dataclass(frozen=True)
class _Tried:
    """What a remedy makes of a document."""

    remedy: Remedy
    document: Document
    protecting: tuple[PlanStep, ...]
    found: tuple[Readiness, ...]


def _remedies(found: Sequence[Readiness], without: Container[RemedyKind]) -> Iterator[list[Remedy]]:
    """Yield the remedies for each finding that stands, however many recipients it is told for."""
    known: list[Remedy] = []
    for finding in (one for each in found for one in each.standing):
        own = list[Remedy]()
        for remedy in finding.remedies:
            bare = replace(remedy, words="", before=None, after=None, error=0)
            if remedy.deed in without:
                continue
            if remedy.deed is not RemedyKind.READ and bare not in known:
                known.append(bare)
                own.append(remedy)
        if own:
            yield own


def _marked(document: Document, names: Iterable[str]) -> Document:
    """Return the document in which columns are sensitive."""
    for name in names:
        spec = replace(document.column(name), role=Role.SENSITIVE)
        document = document.with_column(spec)
    return document


def _quasi(document: Document) -> list[ColumnSpec]:
    return [document.column(name) for name in quasi_identifiers(document)]


def _drops(remedy: Remedy) -> bool:
    return remedy.deed is RemedyKind.DROP or any(map(_drops, remedy.parts))


def _above_typical(
    document: Document, columns: Sequence[str], levels: Mapping[str, Statement]
) -> Iterator[Sentence]:
    """Yield who gets columns at another level than was asked for, since that can't be stated."""
    for each in document.recipients:
        entry = document.entry_for(columns[0])
        stated = {} if entry is None else each.statements.get(entry.key, {})
        asked = levels.get(each.name)
        if asked is not None and "epsilon" in stated and dict(stated) != dict(asked):
            words = (
                "{recipient} gets {column} at ε = {epsilon:.3g}: beside what is measured of it, its"
                " typical level can't be kept."
            )
            epsilon = stated["epsilon"]
            yield Sentence(words, recipient=each.name, column=listed(columns), epsilon=epsilon)


def _with_typical(
    document: Document, entry: PolicyEntry, attributes: Sequence[Attribute]
) -> Document:
    """Return the document with a typical level of an entry for recipients who have none."""
    waiting = {name for name, key in without_level(document) if key == entry.key}
    if not waiting:
        return document
    mechanism = mechanism_called(entry.mechanism)
    count = len(document.recipients)
    levels = mechanism.typical_statements or mechanism.default_statements(count)
    recipients = []
    for place, each in enumerate(document.recipients):
        if each.name in waiting:
            stated = dict(levels[min(place, len(levels) - 1)])
            level = met_statement(document, entry, stated, attributes)
            each = replace(each, statements={**each.statements, entry.key: level})  # noqa: PLW2901
        recipients.append(each)
    return replace(document, recipients=tuple(recipients))
