"""What one recipient's release will be: every policy entry with its level and its ladder."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import is_number, rounded_down
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.table.table import Attribute, MeasuredUnit
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.document.model import Document, PolicyEntry, Recipient, from_plain, to_plain

LOWEST_SHARE: Final = 0.5
"""No mark may take more than half of a level."""
_LEAST_LOSS: Final = 0.01
_MOST_LOSS: Final = 64.0


@dataclass(frozen=True)
class EntryPlan:
    """One policy entry with the level at which it is released.

    Parameters
    ----------
    attributes, mechanism, settings
        As in the `PolicyEntry`.
    statement
        The level as the custodian stated it.
    level
        The level it means, in the mechanism's own unit.
    ladder
        Which ladder the release sits on, see `ladder_of`.
    by_unit
        Whether it is drawn once for a unit, whose identifier takes the record's place.
    """

    attributes: tuple[str, ...]
    mechanism: str
    settings: Settings
    statement: Statement
    level: float
    ladder: str
    by_unit: bool = False

    @property
    def key(self) -> str:
        """What recipients' levels are listed under."""
        return " + ".join(self.attributes)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EntryPlan:
        """Return the plan that `to_dict` wrote."""
        plan: EntryPlan = from_plain(cls, plain)
        return plan


def plan_release(
    document: Document, attributes: Mapping[str, Attribute], recipient: Recipient
) -> tuple[EntryPlan, ...]:
    """Resolve the levels of every policy entry for a recipient.

    Parameters
    ----------
    document
        The policy.
    attributes
        Every attribute of the policy, by name.
    recipient
        Whose statements are resolved.

    Raises
    ------
    PolicyError
        If a sensitive attribute has no mechanism, a policy entry covers a column that is not
        sensitive, or the recipient has no level for an entry.
    LevelError
        If a statement can't be met.
    """
    check_policy(document)
    return tuple(plan_entry(document, entry, attributes, recipient) for entry in document.policy)


def plan_entry(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    recipient: Recipient,
) -> EntryPlan:
    """Resolve one policy entry's level for a recipient; see `plan_release`."""
    statement = _statement_of(recipient, entry)
    _check_entry(entry, attributes)
    return EntryPlan(
        attributes=entry.attributes,
        mechanism=entry.mechanism,
        settings=entry.settings,
        statement=statement,
        level=_planned_level(document, entry, attributes, recipient),
        ladder=ladder_of(document, entry, attributes),
        by_unit=_by_unit(document, entry),
    )


def planned_levels(
    document: Document, entry: PolicyEntry, attributes: Mapping[str, Attribute]
) -> list[float]:
    """Return the level that `plan_entry` finds for each recipient, of those that have one."""
    levels = []
    with suppress(SfumatoError):  # the guarantee says what is missing
        _check_entry(entry, attributes)
        for recipient in document.recipients:
            with suppress(SfumatoError):
                levels.append(_planned_level(document, entry, attributes, recipient))
    return levels


def _statement_of(recipient: Recipient, entry: PolicyEntry) -> Statement:
    statement = recipient.statements.get(entry.key)
    if statement is None:
        raise PolicyError(
            "{recipient} has no trust level for {entry}.",
            "Set the level in the policy.",
            recipient=recipient.name,
            entry=entry.key,
        )
    return statement


def _check_entry(entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> None:
    """Refuse an entry that nobody can get a release by, whatever their level."""
    mechanism = mechanism_called(entry.mechanism)
    chosen = tuple(attributes[name] for name in entry.attributes)
    mechanism.check_attributes(chosen)
    mechanism.check_settings(chosen, entry.settings)
    adopted_files(entry.settings)  # refuses what can't be read


def _planned_level(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    recipient: Recipient,
) -> float:
    level = level_of(document, entry, _statement_of(recipient, entry), attributes)
    if document.level_spacing:
        mechanism = mechanism_called(entry.mechanism)
        share = document.level_spacing * recipient.mark
        if share > LOWEST_SHARE:
            raise PolicyError(
                "With a spacing of {spacing:g}, {recipient} would lose more than half of the"
                " level chosen.",
                "Choose a spacing of at most {most}: in Audit, by “Whose file is this?”, or as"
                " level_spacing in a rules file.",
                spacing=document.level_spacing,
                recipient=recipient.name,
                most=widest_spacing(recipient.mark),
            )
        level = mechanism.lowered(level, share)
    return level


def widest_spacing(mark: int) -> str:
    """Return the widest spacing that leaves a recipient with a mark half of the level chosen."""
    return rounded_down(LOWEST_SHARE / mark)


def level_of(
    document: Document,
    entry: PolicyEntry,
    statement: Statement,
    attributes: Mapping[str, Attribute],
) -> float:
    """Return the level at which each row is released that a statement means.

    Where several rows of a unit are drawn by themselves, the statement is about all of them.

    Raises
    ------
    LevelError
        If the statement can't be met.
    """
    mechanism = mechanism_called(entry.mechanism)
    chosen = tuple(attributes[name] for name in entry.attributes)
    level = mechanism.level(statement, chosen, entry.settings)
    rows = 1 if document.unit is None else document.unit.sharing(entry.attributes)
    return level if rows == 1 else mechanism.shared(level, rows, chosen, entry.settings)


def least_loss(
    document: Document,
    entry: PolicyEntry,
    statement: Statement,
    attributes: Mapping[str, Attribute],
) -> Statement | None:
    """Return about the least ε that can be stated where a statement can't be met.

    None where there is none, or where the mechanism has no such term.

    Parameters
    ----------
    document, entry, attributes
        As for `level_of`.
    statement
        What can't be met.
    """
    terms = mechanism_called(entry.mechanism).terms
    if not any([each.name for each in term.fields] == ["epsilon"] for term in terms):
        return None

    def met(loss: float) -> bool:
        try:
            level_of(document, entry, {"epsilon": loss}, attributes)
        except SfumatoError:
            return False
        return True

    stated = statement.get("epsilon")
    low = high = float(stated) if is_number(stated) and stated > 0.0 else _LEAST_LOSS
    while not met(high):
        low, high = high, 2.0 * high
        if high > _MOST_LOSS:
            return None
    for _ in range(20):
        middle = (low + high) / 2.0
        low, high = (low, middle) if met(middle) else (middle, high)
    digits = 2 - math.floor(math.log10(high))
    return {"epsilon": math.ceil(high * 10.0**digits) / 10.0**digits}


def _by_unit(document: Document, entry: PolicyEntry) -> bool:
    return document.unit is not None and document.unit.draws_once(entry.attributes)


def adopted_plan(
    document: Document, entry: PolicyEntry, attributes: Mapping[str, Attribute], level: float
) -> EntryPlan:
    """Return the plan by which a rung that was adopted at a level is released as it was."""
    mechanism = mechanism_called(entry.mechanism)
    chosen = tuple(attributes[name] for name in entry.attributes)
    statements = mechanism.restate(level, chosen, entry.settings)
    return EntryPlan(
        attributes=entry.attributes,
        mechanism=entry.mechanism,
        settings=entry.settings,
        statement=statements[mechanism.terms[0].name],
        level=level,
        ladder=ladder_of(document, entry, attributes),
    )


def ladder_of(document: Document, entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> str:
    """Return a digest that two releases of an entry share exactly when they sit on one ladder.

    Beside what the mechanism counts in, it covers how records are told apart (by position or
    by which record key) and the edges of the bins: other bins make another attribute, even
    where they have the same labels.
    """
    chosen = tuple(attributes[name] for name in entry.attributes)
    parts = {
        "attributes": list(entry.attributes),
        "mechanism": entry.mechanism,
        "ladder": mechanism_called(entry.mechanism).ladder_identity(chosen, entry.settings),
        "record ids": _record_ids(document, entry),
        "bins": {
            name: list(binning.edges)
            for name in entry.attributes
            if (binning := document.column(name).binning) is not None
        },
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _record_ids(document: Document, entry: PolicyEntry) -> object:
    """Return how an entry tells records apart, and how many rows of a unit leave at most."""
    key: object = {"key": document.record_key} if document.record_key else "position"
    if document.unit is None:
        return key
    unit = list(document.unit.columns)
    if _by_unit(document, entry):
        return {"unit": unit}
    return {"rows": key, "of": unit, "most": document.unit.most_rows}


def check_unit(document: Document) -> None:
    """Refuse a unit whose columns would leave, or whose rows can't be bounded.

    Raises
    ------
    PolicyError
        Naming the column or the policy entry and what to do.
    """
    unit = document.unit
    if unit is None:
        return
    roles = {column.name: column.role for column in document.columns}
    for name in unit.columns:
        if roles.get(name) is not Role.IDENTIFYING:
            raise PolicyError(
                "{column} says which rows belong together, and it would be released.",
                "Mark it as identifying, which drops it, or protect by another column.",
                column=name,
            )
    if not unit.columns or unit.most_rows < 1:
        raise PolicyError(
            "Nothing says which rows belong together, or how many of them leave at most.",
            "Name a column, and a number of rows from 1 on.",
        )
    for entry in document.policy:
        if (refusal := unit_refusal(document, entry)) is not None:
            raise refusal


def unit_refusal(document: Document, entry: PolicyEntry) -> PolicyError | None:
    """Say why a policy entry can't be bounded for the unit of protection; None where it can."""
    if document.unit is None:
        return None
    mechanism = mechanism_called(entry.mechanism)
    remedy = "Choose another mechanism, or protect row by row."
    if mechanism.needs_groups:
        problem = Sentence("which draws the rows of a group together")
    elif adopted_files(entry.settings):
        problem = Sentence("fitted to a release that was randomised row by row")
        remedy = "Take the adopted release off the ladder, or protect row by row."
    elif not is_measured_for_unit(document, entry):
        problem = Sentence("which tells statistics of the table that count single rows")
        remedy = "Measure these figures again in its settings, or state them."
    else:
        return None
    return PolicyError(
        "{entry} is protected by {mechanism}, {problem}: what all rows with the same {unit}"
        " lose can't be bounded.",
        remedy,
        entry=entry.key,
        mechanism=as_sentence(mechanism.title),
        problem=problem,
        unit=document.unit.name,
    )


def is_measured_for_unit(document: Document, entry: PolicyEntry) -> bool:
    """Whether what an entry tells of the table beside its rows is bounded for the unit."""
    if document.unit is None or not mechanism_called(entry.mechanism).byproduct_epsilon(
        entry.settings
    ):
        return True
    measured = MeasuredUnit.in_settings(entry.settings)
    return measured is not None and measured.columns == document.unit.columns


def check_policy(document: Document) -> None:
    """Refuse a policy that would leak a sensitive attribute or treat one twice.

    Raises
    ------
    PolicyError
        Naming the attribute and what to do.
    """
    roles = {column.name: column.role for column in document.columns}
    check_unit(document)
    covered: set[str] = set()
    for entry in document.policy:
        mechanism_called(entry.mechanism)
        for name in entry.attributes:
            if roles.get(name) is not Role.SENSITIVE:
                raise PolicyError(
                    "The policy has a mechanism for {column}, which is not a sensitive attribute.",
                    "Mark the column as sensitive, or take it out of the policy.",
                    column=name,
                )
            if name in covered:
                raise PolicyError(
                    "The policy has two mechanisms for {column}.",
                    "Keep one of them.",
                    column=name,
                )
            covered.add(name)
    for column in () if document.is_published_only else document.sensitive:
        if column.name not in covered:
            raise PolicyError(
                "The sensitive attribute {column} has no mechanism in the policy.",
                "Choose a mechanism for it, or mark it as identifying to drop it.",
                column=column.name,
            )
