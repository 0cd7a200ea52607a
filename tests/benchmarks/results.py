"""The table of current figures in RESULTS.md: a line for each case that was measured and kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
COLUMNS = ("bench", "case", "processor s", "baseline s", "ratio", "elapsed ratio", "peak MB", "on")
HEAD = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"


def kept(figures: Iterable[Mapping[str, object]], path: Path = RESULTS) -> None:
    """Put measured cases into the table, each in the place of what was known of it."""
    text, _, table = path.read_text(encoding="utf-8").partition(HEAD)
    lines = [line.split(" | ") for line in table.splitlines()]
    known = {(cells[0].removeprefix("| "), cells[1]): cells[2:] for cells in lines}
    for each in figures:
        known[str(each["bench"]), str(each["case"])] = [
            f"{each['cpu_seconds']:.3g}",
            f"{each['baseline_cpu_seconds']:.3g}",
            f"{each['cpu_ratio']:.2f}",
            f"{each['ratio']:.2f}",
            f"{each['peak_mb']:.0f}",
            f"{date.today()} |",
        ]
    # Cases of a benchmark stay in its own order.
    benches = sorted({bench for bench, _ in known})
    rows = [(key, known[key]) for bench in benches for key in known if key[0] == bench]
    made = "".join(f"| {' | '.join([*key, *cells])}\n" for key, cells in rows)
    path.write_text(text + HEAD + made, encoding="utf-8")
