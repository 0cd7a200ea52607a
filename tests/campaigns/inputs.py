"""A campaign of mutated inputs against every reader.

``python -m tests.campaigns.inputs --seed 7 --inputs 5000`` reads 5,000 inputs and prints what came
of them; ``--first 123 --inputs 1`` repeats one; ``--kinds csv xlsx`` reads some kinds only. An
input is to end as a table or as an error that says what to do: with no other exception, within a
limit of time and of memory, and with no cell in a message.
"""

from __future__ import annotations

import argparse
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import IO, Final

from tests.campaigns.corpus import KINDS

SECONDS: Final = 600
"""The longest that may go by at one input; its limit on processor time is in the worker."""


@dataclass
class Outcomes:
    """What came of a campaign: counts by kind and outcome, and each input that should not be."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        """How many inputs were read."""
        return self.counts.total()

    def add(self, seed: int, number: int, kind: str, said: str) -> None:
        """Count one input."""
        self.counts[kind, said.split(" ", maxsplit=1)[0]] += 1
        if said.startswith("FAULT"):
            self.faults.append(f"seed {seed}, input {number} ({kind}): {said}")


def run(
    seed: int,
    inputs: int,
    first: int = 0,
    kinds: tuple[str, ...] = KINDS,
    seconds: float = float("inf"),
) -> Outcomes:
    """Read so many inputs, or as many as there is time for."""
    found = Outcomes()
    ends = time.monotonic() + seconds
    number, last = first, first + inputs
    with tempfile.TemporaryDirectory() as folder:
        while number < last and time.monotonic() < ends:
            number = _until_it_ends(found, folder, seed, number, last, kinds, ends)
    return found


def _until_it_ends(
    found: Outcomes,
    folder: str,
    seed: int,
    first: int,
    last: int,
    kinds: tuple[str, ...],
    ends: float,
) -> int:
    """Let one process read until it is done, dies or hangs; return the next input's number."""
    command = [
        sys.executable,
        "-m",
        "tests.campaigns.worker",
        folder,
        str(seed),
        str(first),
        str(last),
    ]
    environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, *kinds], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_pass_on, args=(process.stdout, lines), daemon=True).start()
        number = first
        while number < last and time.monotonic() < ends:
            kind = kinds[number % len(kinds)]
            try:
                line = lines.get(timeout=SECONDS)
            except queue.Empty:
                found.add(seed, number, kind, f"FAULT more than {SECONDS} s")
                number += 1
                break
            if not line:
                found.add(seed, number, kind, f"FAULT the process ended ({process.wait()})")
                number += 1
                break
            found.add(seed, number, kind, line.rstrip("\n").split(" ", 2)[2])
            number += 1
        process.kill()
    return number


def _pass_on(source: IO[str], lines: queue.Queue[str]) -> None:
    for line in source:
        lines.put(line)
    lines.put("")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Run a campaign from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--inputs", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    given = parser.parse_args()
    found = run(given.seed, given.inputs, given.first, tuple(given.kinds), given.seconds)
    for (kind, said), count in sorted(found.counts.items()):
        _say(f"{kind:10} {said:8} {count:7,}")
    _say(f"{found.inputs:,} inputs, seed {given.seed}, {len(found.faults)} faults")
    _say("\n".join(found.faults))
    return min(len(found.faults), 1)


if __name__ == "__main__":
    sys.exit(main())
