"""Rules files that can't be read, or that don't fit the table."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.project.document.model import Document
from sfumato.project.errors import RulesError
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules, rules_of
from tests.bad_inputs.workshop import Act, BadInput, Workshop


def rules(old: str = "", new: str = "", *, whole: str | None = None) -> Callable[[Workshop], Act]:
    """A stage on which the workshop's rules are applied, with a part of them replaced."""

    def stage(workshop: Workshop) -> Act:
        text = rules_of(workshop.document()) if whole is None else whole
        assert old in text
        changed, table = text.replace(old, new, 1), workshop.table()
        return lambda: apply_rules(changed, MemorySurvey(table), Document())

    return stage


def case(what: str, says: str, stage: Callable[[Workshop], Act]) -> BadInput:
    return BadInput(what, RulesError, says, stage)


CASES = (
    case("rules that are no TOML", r"[Ll]ine 1\b", rules(whole="format = = 1\n")),
    case("rules without a format", "format", rules(whole='title = "Clinic"\n')),
    case("rules of a later format", "format", rules("format = 1", "format = 7")),
    case(
        "rules for a column that the table does not have",
        "columns.wages.* no such column",
        rules("[columns.cost]", "[columns.wages]"),
    ),
    case(
        "rules that leave a column out",
        "cost has no rules",
        rules('[columns.cost]\nrole = "insensitive"\nkind = "numeric"\nmissing = "value"\n', ""),
    ),
    case(
        "a role that does not exist",
        "columns.age.*role",
        rules('role = "quasi-identifier"', 'role = "embarrassing"'),
    ),
    case(
        "a column without a role",
        "columns.age.*role is missing",
        rules('role = "quasi-identifier"\n', ""),
    ),
    case(
        "a record key that is no column",
        "record_key.* no column",
        rules('record_key = "number"', 'record_key = "passport"'),
    ),
    case(
        "a policy for a column that is not sensitive",
        "age is not a sensitive column",
        rules('attributes = ["diagnosis"]', 'attributes = ["age"]'),
    ),
    case(
        "a mechanism in the rules that does not exist",
        "no mechanism telepathy",
        rules('mechanism = "uniform"', 'mechanism = "telepathy"'),
    ),
    case(
        "a level in the rules out of range",
        "retention_probability.* out of range",
        rules("retention_probability = 0.6", "retention_probability = 6"),
    ),
    case(
        "a level in the rules that is no number",
        "number was expected",
        rules("retention_probability = 0.6", 'retention_probability = "high"'),
    ),
    case(
        "half a level in the rules",
        "level is not complete",
        rules("retention_probability = 0.6", "rho1 = 0.1"),
    ),
    case(
        "two recipients of one name in the rules",
        "Public stands there twice",
        rules('name = "Office"', 'name = "Public"'),
    ),
    case("a key that means nothing", "colour", rules("format = 1", 'format = 1\ncolour = "red"')),
    case(
        "a date without quotes in a domain",
        "values.* item 1 is not a text",
        rules('values = ["Asthma"', "values = [2026-11-20"),
    ),
)
