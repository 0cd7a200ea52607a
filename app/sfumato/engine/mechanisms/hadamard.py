"""Hadamard retention: long lists of codes, released as symbols from which codes can be counted.

Uniform retention loses a long list: with m = 1,000 codes and ε = 1 it keeps 0.17 % of the values,
and a share's variance is 340/n. Here a code is released as one of the symbols that half of all
codes share (`sfumato.engine.matrices.hadamard_matrix`), so that every record tells a little about
every code: 4.7/n at the same ε. What is lost is the single record: its symbol means nothing alone.

γ = 1 + 2B·p/(1 − p) for any two codes, whatever their number. With B blocks the mean variance of a
share near 0 is (γ − 1 + 2B)²/(B·n·(γ − 1)²), least at B = (γ − 1)/2: one block up to ε of about
1.3, three at 2, ten at 3. B belongs to the ladder, so it is chosen for the most trusted recipient.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from sfumato.engine.core.columns import Codes, Domain
from sfumato.engine.core.errors import DomainError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, as_sentence, formatted
from sfumato.engine.ladders.hadamard import release_symbols
from sfumato.engine.matrices.goodness_of_fit import examine_symbols
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix, SymbolSets
from sfumato.engine.matrices.privacy import check_retention, retention_for_gamma
from sfumato.engine.mechanisms.base import (
    Check,
    PromiseFigure,
    PublishedFacts,
    Released,
    ReleaseRequest,
    Settings,
    check_rows,
)
from sfumato.engine.mechanisms.categorical import (
    CategoricalMechanism,
    check_between_releases,
    check_spread,
    domain_parameters,
)
from sfumato.engine.mechanisms.promise_words import at_most, nothing_told
from sfumato.engine.mechanisms.setting_specs import NumberSpec
from sfumato.engine.table.table import Attributes

LEAST_CODES: Final = 3
"""With two codes uniform retention keeps twice as much at the same odds."""
LONG_LIST: Final = 500
"""From so many codes on uniform retention's variance is more than 30 times as large at ε = 1."""

BLOCKS: Final = NumberSpec(
    name="blocks",
    title="Blocks",
    gloss="the number of blocks that codes are put into, each with symbols of its own",
    hint="One serves best where ε is 1 or less; where the most trusted recipient is told more,"
    " about half of e to the power of its ε.",
    usual=1,
    least=1,
    most=10_000,
    whole=True,
    decimals=0,
    step=1.0,
)


class HadamardRetention(CategoricalMechanism):
    """Codes as symbols, each shared by half of the codes, on the uniform ladder."""

    name = "hadamard"
    title = "Hadamard retention"
    summary = (
        "Each code of a long list is replaced by a symbol that half of all codes share, kept with a"
        " retention probability: codes can be counted, and single records tell next to nothing."
    )
    order = 18
    counts_only = True
    ladder = ("hadamard", 1)
    settings = (BLOCKS,)
    most_values = 20_000

    def recommendation(self, attributes: Attributes) -> str:
        """Recommend it for long lists, whose codes are counted."""
        size = self.domain_of(attributes).size
        if size < LONG_LIST:
            return ""
        return Sentence(
            "{count:,} codes to be counted: each estimate from symbols is far closer than one from"
            " values that are kept or replaced. Nothing else can be done with the column.",
            count=size,
        )

    def domain_of(self, attributes: Attributes) -> Domain:
        """Return the attribute's domain; raises `PolicyError` also where it has too few codes."""
        domain = super().domain_of(attributes)
        if domain.size < LEAST_CODES:
            raise PolicyError(
                "{mechanism} needs {least} codes or more; the domain of column {column} has"
                " {size}.",
                "Choose uniform retention, which keeps more of so few.",
                mechanism=as_sentence(self.title),
                least=LEAST_CODES,
                size=domain.size,
                column=attributes[0].name,
            )
        return domain

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return one block."""
        self.check_attributes(attributes)
        return {BLOCKS.name: BLOCKS.usual}

    def suited(self, attributes: Attributes, settings: Settings, epsilon: float) -> Settings:
        """Return the settings with the blocks that are best at an ε."""
        blocks = best_blocks(math.exp(epsilon), self.domain_of(attributes).size)
        return {**settings, BLOCKS.name: blocks}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where a setting is unknown, or blocks are too many for the codes."""
        self.sets(attributes, settings)

    def sets(self, attributes: Attributes, settings: Settings) -> SymbolSets:
        """Return which symbols belong to each code.

        Raises
        ------
        PolicyError
            If the attribute or the settings don't do.
        """
        size = self.domain_of(attributes).size
        self.check_stated(settings)
        return SymbolSets(size, int(BLOCKS.stated(settings)))

    def shown_domain(self, attributes: Attributes, settings: Settings) -> Domain:
        """Return the symbols: whole numbers from 0."""
        return _symbols(self.sets(attributes, settings).symbols)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the retention probability that multiplies no odds by more than γ."""
        return retention_for_gamma(gamma, 2 * self.sets(attributes, settings).blocks)

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return the number of blocks."""
        return (self.sets(attributes, settings).blocks,)

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released symbols, shape (n,)."""
        name, settings = request.attributes[0].name, request.settings
        ladder = self.ladder_identity(request.attributes, settings)
        top, below = (
            request.keys.for_attribute(name, ladder, json.dumps([self.name, what]))
            for what in ("symbol", "below")
        )
        return release_symbols(
            self.true_codes(request),
            self.sets(request.attributes, settings),
            request.level,
            request.record_ids,
            (top, below),
            context,
        )

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> HadamardMatrix:
        """Return the law of a level."""
        return HadamardMatrix(check_retention(level), self.sets(attributes, settings))

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds on any code."""
        name = attributes[0].name
        if level == 1.0:
            return Sentence(
                "This release rules out half of the codes or more for everyone's {name}: it"
                " promises nothing.",
                name=name,
            )
        if level == 0.0:
            return nothing_told(name)
        return Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies the odds by"
            " at most {gamma}. It shows a symbol in place of each code.",
            name=name,
            gamma=at_most(self.odds_factor(level, attributes, settings)),
        )

    def facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the figures behind the promise; codes don't become codes."""
        return tuple(
            PromiseFigure("m", "Codes of the list", fact.value, "What a symbol may stand for.")
            if fact.symbol == "m"
            else fact
            for fact in super().facts(level, attributes, settings)
        )

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return how often a symbol of the code is kept, and how many symbols there are."""
        sets = self.sets(attributes, settings)
        return (
            PromiseFigure(
                "p",
                "Retention probability",
                level,
                "A symbol of the true code is kept on purpose this often.",
            ),
            PromiseFigure("B", "Blocks", float(sets.blocks), "Each has symbols of its own."),
            PromiseFigure(
                "K",
                "Symbols of a block",
                float(sets.in_block),
                "Each code has half of its block's symbols.",
            ),
        )

    def not_promised(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[str, ...]:
        """Say what no release promises, and what this one can't be used for."""
        sets = self.sets(attributes, settings)
        share = 1.0 / (2 * sets.blocks)
        return (
            *super().not_promised(level, attributes, settings),
            Sentence(
                "The file is for counting: a symbol says of {share:.0%} of the codes that they are"
                " a little likelier, and of no record which code it has."
                if share >= 0.01
                else "The file is for counting: a symbol says of {share:.2%} of the codes that they"
                " are a little likelier, and of no record which code it has.",
                share=share,
            ),
            Sentence(
                "{count:,} codes cost {count:,} {count:estimate|estimates}: single frequent ones"
                " are known well, and rare ones hardly.",
                count=sets.size,
            ),
        )

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, the layout of the symbols and the list of codes, with a guide."""
        domain, sets = self.domain_of(attributes), self.sets(attributes, settings)
        gamma = self.odds_factor(level, attributes, settings)
        return PublishedFacts(
            parameters={
                "retention_probability": level,
                "blocks": sets.blocks,
                "symbols_in_block": sets.in_block,
                **domain_parameters(domain, gamma),
                "labels": [
                    {"value": value, "label": text} for value, text in domain.labels.items()
                ],
            },
            guide="hadamard" if level > 0.0 else "hadamard-noise",
            values={
                "retention": formatted(level, ".6g"),
                "domain_size": formatted(domain.size, ","),
                "symbols": formatted(sets.symbols, ","),
                "blocks": formatted(sets.blocks, ","),
                "in_block": formatted(sets.in_block, ","),
            },
        )

    def channel(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Any] | None:
        """Return the rule by which symbols belong to codes; None where nothing can be estimated."""
        matrix = self.matrix(level, attributes, settings)
        if matrix.is_singular:
            return None
        sets = matrix.sets
        return {
            "symbols": {
                "retention_probability": level,
                "blocks": sets.blocks,
                "symbols_in_block": sets.in_block,
                "codes": list(self.domain_of(attributes).values),
            }
        }

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column against the true one: rows, symbols, and the law of both."""
        attributes, settings = request.attributes, request.settings
        codes = self.true_codes(request)
        try:
            seen = self.shown_codes(attributes, released.columns, settings)
        except DomainError as error:
            return (Check("Released values", False, error.what),)
        rows = check_rows(len(codes), len(seen), "the table")
        values = Check("Released values", True, "All values are symbols of the list.")
        if not rows.holds:
            return rows, values
        matrix = self.matrix(released.level, attributes, settings)
        found = examine_symbols(codes, seen, matrix)
        own = Check(
            "Symbols of the true codes",
            found.own.holds,
            Sentence(
                "{kept:,} of {records:,} {records:record|records} ({share:.2%}) {kept:shows|show}"
                " a symbol of the true code; {expected_share:.2%} are expected (chance"
                " {chance:.2g}).",
                kept=found.own.kept,
                records=found.own.records,
                share=found.own.kept / max(found.own.records, 1),
                expected_share=found.own.expected_share,
                chance=found.own.chance,
            ),
        )
        return rows, values, own, check_spread(found.spread)

    def check_garbling(
        self, upper: Released, lower: Released, attributes: Attributes, settings: Settings
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is made of the other's symbols."""
        domain, name = self.shown_domain(attributes, settings), attributes[0].name
        above, below = upper.columns[name], lower.columns[name]
        return check_between_releases(domain, above, upper.level, below, lower.level)


MECHANISM = HadamardRetention()


def best_blocks(gamma: float, size: int) -> int:
    """Return the number of blocks with the smallest errors at a level.

    Parameters
    ----------
    gamma
        The odds factor of the most trusted recipient, above 1.
    size
        The number of codes.
    """
    most = max(size // 2, 1)
    if math.isinf(gamma):
        return most
    near = max((gamma - 1.0) / 2.0, 1.0)

    def variance(blocks: int) -> float:
        return (gamma - 1.0 + 2 * blocks) ** 2 / blocks

    return min((min(math.floor(near), most), min(math.ceil(near), most)), key=variance)


@lru_cache(maxsize=8)
def _symbols(count: int) -> Domain:
    return Domain(tuple(range(count)))
