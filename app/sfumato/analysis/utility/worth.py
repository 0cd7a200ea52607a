"""What each recipient's release is worth: true records by column, and detail of coarsened ones.

A release protects and tells. That it tells next to nothing is said in the place of a danger, with
what would help: the level at which it would be worth something, and another mechanism that
keeps the same ε and is worth more. What a figure means is said in
`sfumato.engine.matrices.worth`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from sfumato.analysis.answers import Answer, AnswerTable, CellKind, Severity
from sfumato.analysis.coarsening.view_checks import shown_to
from sfumato.analysis.shown_columns import ColumnView, ShownColumns
from sfumato.analysis.utility.mechanism_choice import WeighedColumns, in_records
from sfumato.analysis.utility.worth_figures import (
    ColumnFigures,
    RecordsBehind,
    worth_at_level,
)
from sfumato.analysis.utility.worth_helps import Help, helps_for
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.core.values import factorize
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.generalization.hierarchies.recipe import TOP
from sfumato.engine.matrices.worth import (
    USEFUL,
    WORTHLESS,
    detail_kept,
)
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.byproducts import weight_column

NOTHING_KEPT: Final = 0.005
"""A coarsened column that keeps a smaller share of its detail tells nothing any more."""
_NAMED: Final = 5


# ----- the answer


@dataclass(frozen=True)
class ColumnWorth:
    """What one column is worth to one recipient.

    Parameters
    ----------
    recipient, column, entry
        Whom, which, and the key of its policy entry.
    of
        The table's records.
    figures
        What it is worth.
    numeric
        Whether a mean is estimated, in place of shares.
    bound
        Whether it is worth this much at least: where rows of a unit may be less alike than is
        supposed.
    helps
        What would help.
    """

    recipient: str
    column: str
    entry: str
    of: int
    figures: ColumnFigures
    numeric: bool
    bound: bool = False
    helps: tuple[Help, ...] = ()

    @property
    def records(self) -> float:
        """N."""
        return self.figures.records

    @property
    def worthless(self) -> bool:
        """Whether the whole table is worth fewer than 30 true records.

        A table that has no 30 itself is worthless where it is worth less than one.
        """
        return self.records < (WORTHLESS if self.of >= WORTHLESS else 1.0)

    @property
    def best(self) -> float | None:
        """N_v of the value whose share is known best; None for numbers."""
        shares = self.figures.shares
        return None if shares is None else float(shares.by_value.max(initial=0.0))

    @property
    def sentence(self) -> Sentence:
        """What it is worth, in words."""
        words = "{column} is worth {worth} of {of:,}."
        if self.bound and not self.worthless:
            words = "{column} is worth at least {worth} of {of:,}."
        told = [Sentence(words, column=self.column, worth=in_records(self.records), of=self.of)]
        shares = self.figures.shares
        if shares is not None and shares.untold:
            places = ", ".join(str(place + 1) for place in shares.untold[:_NAMED])
            told.append(
                Sentence(
                    "{count} {count:value|values} of its domain can't be told apart ({entries}).",
                    count=len(shares.untold),
                    entries=f"{places}, …" if len(shares.untold) > _NAMED else places,
                )
            )
        elif self.best is not None and self.best >= 2.0 * self.records + 1.0:
            words = "The share that is known best is worth {best}."
            told.append(Sentence(words, best=in_records(self.best)))
        return Sentence("{told}", told=joined(*told))

    @property
    def as_danger(self) -> Sentence:
        """Why it is worthless, and what would help."""
        words = "This release tells the shares of {column} no more exactly than {worth} would."
        if self.numeric:
            words = "This release tells the mean of {column} no more exactly than {worth} would."
        said = Sentence(words, column=self.column, worth=in_records(self.records))
        told: list[str] = [said]
        shares = self.figures.shares
        if self.records < 0.5 and shares is not None and shares.untold:
            told = [self.sentence]
        return Sentence("{told}", told=joined(*told, *(each.sentence for each in self.helps)))

    @property
    def untold(self) -> bool:
        """Whether some values of its domain can't be told apart."""
        return self.figures.shares is not None and bool(self.figures.shares.untold)

    @property
    def advice(self) -> Sentence:
        """What it is worth, and what would help."""
        if self.worthless:
            return self.as_danger
        helping = (each.sentence for each in self.helps)
        return Sentence("{told}", told=joined(self.sentence, *helping))

    @property
    def cells(self) -> tuple[Any, ...]:
        """Its line in a table of columns."""
        worth = in_records(self.records)
        if self.bound:
            worth = Sentence("at least {worth}", worth=worth)
        best = None if self.best is None else in_records(self.best)
        verdict = Sentence("worthless") if self.worthless else None
        return self.column, worth, self.of, best, verdict

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        shares = self.figures.shares
        return {
            "column": self.column,
            "entry": self.entry,
            "worth": round(self.records, 3),
            "of": self.of,
            "at_least": self.bound,
            "worthless": self.worthless,
            "estimate": "mean" if self.numeric else "shares",
            "best_value_worth": None if self.best is None else round(self.best, 3),
            "not_told_apart": [] if shares is None else [place + 1 for place in shares.untold],
            "mean_moved_by_deviations": round(self.figures.shift, 6),
            "helps": [
                {
                    "mechanism": each.mechanism,
                    "level": dict(each.level),
                    "worth": round(each.records, 3),
                    "words": str(each.sentence),
                }
                for each in self.helps
            ],
        }


@dataclass(frozen=True)
class DetailKept:
    """What is left of a column that is coarsened or suppressed for a recipient.

    Parameters
    ----------
    recipient, column
        Whom, and which.
    kept
        Mutual information of view and column in the cells that are shown, over the column's
        entropy, from 0 to 1.
    hidden
        The share of cells that show "*".
    """

    recipient: str
    column: str
    kept: float
    hidden: float

    @property
    def worthless(self) -> bool:
        """Whether it tells nothing any more."""
        return self.kept < NOTHING_KEPT

    @property
    def sentence(self) -> Sentence:
        """What is left, in words."""
        if self.hidden >= 1.0:
            words = "{column} shows * everywhere: nothing of it is left."
            return Sentence(words, column=self.column)
        return Sentence(
            "{column} keeps {kept:.0f} % of its detail, and {hidden:.1f} % of its cells show *."
            if self.hidden
            else "{column} keeps {kept:.0f} % of its detail.",
            column=self.column,
            kept=100.0 * self.kept,
            hidden=100.0 * self.hidden,
        )

    @property
    def cells(self) -> tuple[Any, ...]:
        """Its line in a table of columns."""
        verdict = Sentence("worthless") if self.worthless else None
        return self.column, self.kept, self.hidden, verdict

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "column": self.column,
            "detail_kept": round(self.kept, 4),
            "worthless": self.worthless,
            "cells_hidden": round(self.hidden, 4),
        }


@dataclass(frozen=True)
class RecipientWorth:
    """What one recipient's release is worth.

    Parameters
    ----------
    recipient
        Whose.
    columns
        The randomised columns.
    details
        The coarsened and suppressed ones.
    problems
        Why a column has no figure.
    """

    recipient: str
    columns: tuple[ColumnWorth, ...]
    details: tuple[DetailKept, ...]
    problems: tuple[str, ...] = ()

    @property
    def worthless(self) -> tuple[str, ...]:
        """The columns that tell next to nothing, randomised or coarsened."""
        told = [one.column for one in self.columns if one.worthless]
        return (*told, *(one.column for one in self.details if one.worthless))

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "recipient": self.recipient,
            "worthless": list(self.worthless),
            "columns": [each.plain() for each in self.columns],
            "details": [each.plain() for each in self.details],
            "problems": [str(each) for each in self.problems],
        }


def answer_of(found: RecipientWorth) -> Answer:
    """Return what one recipient's release is worth as an answer."""
    columns, useless = found.columns, found.worthless
    told = [*found.problems, *(one.sentence for one in columns if one.untold)]
    if useless:
        words = "{columns} {count:is|are} worthless."
        told.insert(0, Sentence(words, columns=listed(useless), count=len(useless)))
    elif columns:
        least = in_records(min(one.records for one in columns))
        told.insert(0, Sentence("Each randomised column is worth at least {worth}.", worth=least))
    elif not (found.details or found.problems):
        told.append(Sentence("No column is randomised or coarsened."))
    randomised: dict[str, CellKind] = {
        Sentence("Column"): CellKind.TEXT,
        Sentence("Worth"): CellKind.TEXT,
        Sentence("Of records"): CellKind.COUNT,
        Sentence("Share known best"): CellKind.TEXT,
        Sentence("Verdict"): CellKind.TEXT,
    }
    coarsened: dict[str, CellKind] = {
        Sentence("Column"): CellKind.TEXT,
        Sentence("Detail kept"): CellKind.SHARE,
        Sentence("Cells that show *"): CellKind.SHARE,
        Sentence("Verdict"): CellKind.TEXT,
    }
    tables = (
        AnswerTable(randomised, [one.cells for one in columns]),
        AnswerTable(coarsened, [one.cells for one in found.details]),
    )
    notes = (
        "A column is worth as many true records as a plain random sample needs to tell its"
        " shares, or its mean, as exactly. Fewer than 30 for the whole table are worthless.",
    )
    return Answer(
        told,
        Severity.CAUTION if useless else Severity.GOOD,
        about=found.recipient,
        notes=tuple(map(Sentence, notes if columns else ())),
        remedies=tuple(one.advice for one in columns if one.helps),
        leads_to="policy",
        tables=tuple(table for table in tables if table.rows),
        facts=found.plain(),
    )


def weigh_worth(
    document: Document,
    columns: ShownColumns,
    attributes: Mapping[str, Attribute],
    context: Context,
    noise: KeyedNoise | None = None,
) -> tuple[RecipientWorth, ...]:
    """Return what every recipient's release is worth.

    Parameters
    ----------
    document
        What is decided.
    columns
        What is known of the columns that leave.
    attributes
        The policy's attributes, by name.
    context
        Progress and cancelling.
    noise
        What other mechanisms measure their settings with; None where those that need some are
        not tried.

    Raises
    ------
    SfumatoError
        If a row does not fit a column's bins, a unit is missing, or weights say nothing.
    """
    behind = behind_of(document, columns)
    found = []
    for recipient, part in one_by_one(context, document.recipients):
        part.report(0.0, Sentence("Working out what {name} gets", name=recipient.name))
        known = (document, recipient, attributes, behind, noise)
        told, problems = columns_worth(*known, columns=columns)
        shown = shown_to(document, recipient, columns)
        details = tuple(details_kept(recipient.name, shown, columns))
        found.append(RecipientWorth(recipient.name, told, details, problems))
    return tuple(found)


def behind_of(document: Document, columns: ShownColumns) -> RecordsBehind:
    """Return how many records stand behind what is estimated, found once for all recipients."""
    asked = (document.unit, weight_column(document))
    return columns.latest("records behind", asked, lambda: columns.behind(document))


def columns_worth(
    document: Document,
    recipient: Recipient,
    attributes: Mapping[str, Attribute],
    behind: RecordsBehind,
    noise: KeyedNoise | None = None,
    *,
    columns: ShownColumns | None = None,
    helping: bool = True,
) -> tuple[tuple[ColumnWorth, ...], tuple[str, ...]]:
    """Return what each randomised column is worth to a recipient, and why others have no figure.

    What would help is looked for only where `helping`: it takes longer. With `columns`, what is
    the same for every recipient is found once.
    """
    found: list[ColumnWorth] = []
    problems: list[str] = []
    for entry in document.policy:
        try:
            told = _of_entry(document, entry, recipient, attributes, behind)
            least = min((each.records for each in told), default=USEFUL)
            if helping and least < USEFUL:
                weighed = _weighed(document, entry, attributes, behind, columns)
                stated = recipient.statements[entry.key]
                helps = tuple(helps_for(weighed, entry, stated, least, noise))
                told = [replace(one, helps=helps) if one.records < USEFUL else one for one in told]
            found += told
        except KeyError:
            continue  # its column is not known yet
        except SfumatoError as error:
            problems.append(Sentence("{entry}: {error}", entry=entry.key, error=error.sentence))
    return tuple(found), tuple(problems)


def _of_entry(
    document: Document,
    entry: PolicyEntry,
    recipient: Recipient,
    attributes: Mapping[str, Attribute],
    behind: RecordsBehind,
) -> list[ColumnWorth]:
    plan = plan_entry(document, entry, attributes, recipient)
    chosen = tuple(attributes[name] for name in entry.attributes)
    mechanism, once = mechanism_called(entry.mechanism), plan.by_unit
    figures = worth_at_level(mechanism, plan.level, chosen, entry.settings, behind, once=once)
    bound = behind.units is None and behind.alike > 1.0 and not once
    return [
        ColumnWorth(
            recipient.name, each.name, entry.key, behind.of, one, each.domain is None, bound
        )
        for each, one in zip(chosen, figures or (), strict=figures is not None)
    ]


def _weighed(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    behind: RecordsBehind,
    columns: ShownColumns | None,
) -> WeighedColumns:
    """Return an entry's columns, thinned; kept while they are the same."""
    chosen = tuple(attributes[name] for name in entry.attributes)

    def find() -> WeighedColumns:
        return WeighedColumns.of(chosen, behind, document.unit).thinned()

    if columns is None:
        return find()
    asked = _Same((*chosen, behind)), document.unit
    return columns.latest(f"weighed {entry.key}", asked, find)


class _Same:
    """Some objects, equal to the very same ones alone."""

    def __init__(self, held: tuple[object, ...]) -> None:
        self._held = held

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or len(self._held) != len(other._held):
            return False
        return all(one is two for one, two in zip(self._held, other._held, strict=True))

    __hash__ = None  # type: ignore[assignment]


# ----- columns that are coarsened


def details_kept(
    recipient: str, shown: Sequence[ColumnView], columns: ShownColumns
) -> Iterator[DetailKept]:
    """Yield what is left of each column that is coarsened for a recipient.

    Of a table that is read in parts, as the rows of a sample tell.
    """
    for look in shown:
        spec = look.spec
        if look.view or spec.binning is not None or spec.coding is not None:
            about = f"detail of {look.name} to {recipient}"
            kept, hidden = columns.latest(about, look.bare, partial(_detail, look, columns))
            yield DetailKept(recipient, look.name, kept, hidden)


def _detail(look: ColumnView, columns: ShownColumns) -> tuple[float, float]:
    true = factorize(columns.table.column(look.name))[0].astype(np.int64) + 1
    seen = look.shown(columns.table)
    codes = columns.codes(look).astype(np.int64) + 1
    if not look.view:
        return detail_kept(true, codes), 0.0
    hidden = (seen == TOP).fillna(False).to_numpy(bool)
    return detail_kept(true, codes, hidden=hidden), float(hidden.mean())


def named(found: Sequence[ColumnWorth]) -> str:
    """Return the columns' names in a sentence."""
    return listed([each.column for each in found])
