"""``python -m tests.benchmarks.reconstruction_figures``: the paper's Figs. 2 to 5, as tables.

Violating shares and relative errors over p, ε, δ and the number of records (Wang, Han and Fu
2012, Table 3), on Adult and on a made-up table with the paper's domain sizes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import RiskLimits, RiskSetting, risk_curves
from sfumato.engine.disclosure.grouped_values import grouped_values
from sfumato.engine.mechanisms.reconstruction.release import query_curves
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups
from tests.benchmarks.reconstruction import table
from tests.data import shared_data


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.benchmarks.reconstruction_figures")
    parser.add_argument("tables", nargs="*", default=["adult", "synthetic"])
    chosen = parser.parse_args()
    for name in chosen.tables:
        for title, groups, codes, size in TABLES[name]():
            sys.stdout.write(f"\n### {title}\n\n{_about(groups, size)}\n\n")
            sys.stdout.write(figures(groups, codes, size))
            sys.stdout.flush()


def adult() -> Iterator[tuple[str, MicroGroups, Codes, int]]:
    """Yield Adult with education, then occupation, sensitive and all other columns public."""
    frame = pd.read_csv(shared_data("adult/adult.csv"), sep=";")
    for sensitive in ("education", "occupation"):
        for left_out in ((), ("age",)):
            names = [name for name in frame.columns if name not in {sensitive, *left_out}]
            codes, values = pd.factorize(frame[sensitive], sort=True)
            groups = micro_groups(frame, names, Silent())
            words = ", age not public" if left_out else ""
            yield f"Adult, {sensitive}{words}", groups, codes.astype(np.uint8), len(values)


def synthetic() -> Iterator[tuple[str, MicroGroups, Codes, int]]:
    """Yield 500,000 made-up people with education, then occupation, sensitive."""
    for sensitive in ("education", "occupation"):
        frame, codes, size = table(500_000, sensitive)
        groups = micro_groups(frame, list(frame.columns), Silent())
        yield f"Synthetic, {sensitive}", groups, codes, size


TABLES = {"adult": adult, "synthetic": synthetic}


def _about(groups: MicroGroups, size: int) -> str:
    return (
        f"{groups.records:,} records, {groups.count:,} groups, the largest of"
        f" {groups.sizes.max():,}; m = {size}."
    )


def figures(groups: MicroGroups, codes: Codes, size: int) -> str:
    """Return a Markdown table with a row for each setting."""
    start = RiskSetting(0.5, RiskLimits(0.3, 0.3), groups.records)
    whole = grouped_values(groups, codes, size)
    risks = risk_curves(whole, start, Silent())
    errors = query_curves(whole, start, Silent())
    lines = [
        "| | violate, simplified | Chernoff | exact | error, plain | published | exact, blind |",
        "|---|---|---|---|---|---|---|",
    ]
    for risk, error in zip(risks, errors, strict=True):
        shares = [
            f"{risk.found[rule].group_share:.2%} / {risk.found[rule].record_share:.1%}"
            for rule in (PrivacyTest.SIMPLIFIED, PrivacyTest.CHERNOFF, PrivacyTest.EXACT)
        ]
        means = [error.plain, error.published, error.exact]
        shown = [f"{mean:.1%}" if mean is not None else "–" for mean in means]
        value = f"{risk.value:g}" if risk.value < 1 else f"{risk.value:,.0f}"
        lines.append(f"| {risk.parameter} = {value} | {' | '.join([*shares, *shown])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
