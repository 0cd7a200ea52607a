"""Figures and tables of the papers, run again: ``python -m tests.benchmarks fig5 --out DIR``.

Fig. 5 to 8 of Xiao, Tao and Chen (VLDB 2009), on made-up values and, where the Adult table lies
beside the project, on two of its columns; and the tables of noisy counts of Wang, Han and Fu
(2012, tables 4 and 5). What is found is printed beside what the paper found; with ``--out`` the
figures are drawn and their values written.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from sfumato.plots.figure import exported, register_fonts
from sfumato.plots.style import light_style
from sfumato.resources import resource_path
from tests.benchmarks.multi_level.drawing import build_experiment
from tests.benchmarks.multi_level.experiments import (
    BELL,
    EVEN,
    Figure,
    Prior,
    Sizes,
    findings,
    run_experiment,
    summary_of,
    table_of,
)
from tests.benchmarks.noisy_counts import ADULT, adult_tails, published_tails

COLUMNS = ("salary-class", "occupation")
QUICK = Sizes(simulations=20_000, recipients=4, releases=12, records=40)
SHAPES = {"even": (EVEN,), "bell": (BELL,)}


def add_arguments(parser: ArgumentParser) -> None:
    """Describe how much of the papers' experiments is run, and on what."""
    usual = Sizes()
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figures there as well")
    parser.add_argument(
        "--values", choices=[*SHAPES, "all"], default="all", help="true values of fig5 to fig8"
    )
    for name, number, text in (
        ("simulations", usual.simulations, "fig5 and fig6: how many (the paper: 1e10)"),
        ("recipients", usual.recipients, "fig7: how many recipients"),
        ("releases", usual.releases, "fig8: how many releases"),
        ("records", usual.records, "fig8: of how many records"),
    ):
        parser.add_argument(f"--{name}", type=count, default=number, metavar="N", help=text)


def count(text: str) -> int:
    """Read a count, also one like 1e8."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1.0 <= number <= 1e12 or number != int(number):
        raise ArgumentTypeError("a whole number from 1 is needed")
    return int(number)


# ----- Xiao, Tao and Chen 2009


def priors(values: str) -> Iterator[Prior]:
    """Yield the true values that are chosen, with two columns of Adult where it is there."""
    if values != "all":
        yield from SHAPES[values]
        return
    yield from (EVEN, BELL)
    if ADULT.exists():
        table = pd.read_csv(ADULT, sep=";", usecols=list(COLUMNS))
        for column in COLUMNS:
            yield Prior(f"Adult {column}", table[column].value_counts(normalize=True).to_numpy())


def run_figure(figure: Figure, options: Namespace) -> None:
    """Run a figure on each of the true values; print, and draw where a folder is named."""
    sizes = Sizes(options.simulations, options.recipients, options.releases, options.records)
    for prior in [EVEN] if options.quick else priors(options.values):
        outcome = run_experiment(figure, prior, QUICK if options.quick else sizes)
        if options.json:
            say(json.dumps(summary_of(outcome), ensure_ascii=False))
        else:
            say(f"{figure.value}, {prior.name} ({outcome.seconds:.1f} s)")
            for sentence in findings(outcome):
                say(f"  {sentence}")
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            place = options.out / f"{figure.value}-{prior.name.replace(' ', '-')}"
            drawn = build_experiment(outcome, light_style(register_fonts(resource_path("fonts"))))
            place.with_suffix(".png").write_bytes(exported(drawn, "png"))
            table_of(outcome).to_csv(place.with_suffix(".csv"), index=False)


# ----- Wang, Han and Fu 2012


def run_noisy_counts(options: Namespace) -> None:
    """Print the chances behind the published tables, and those of Adult's riskiest groups."""
    tables = {"published": published_tails()}
    if ADULT.exists() and not options.quick:
        tables |= {f"Adult {column}": adult_tails(column) for column in ("education", "occupation")}
    for name, table in tables.items():
        if options.json:
            say(json.dumps({"table": name, "rows": table.to_dict(orient="records")}))
        else:
            say(f"{name}\n{table.to_string(index=False)}\n")
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            table.to_csv(options.out / f"noisy-counts-{name.replace(' ', '-')}.csv", index=False)


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


REPRODUCTIONS = {figure.value: partial(run_figure, figure) for figure in Figure} | {
    "noisy-counts": run_noisy_counts
}
