"""What all tables of counts together tell, by enumeration, and tried on the exported files alone.

The checker reads ``counts.csv`` and ``datapackage.json`` of each bundle. It takes two tables for
drawn with the same noise only where adding the finer one's counts gives the coarser one's, or where
one's columns are the other's, and sums by itself what the law allows.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
from pathlib import Path

import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.engine.ladders.counts import law_of_counts
from tests.cli.conftest import RULES
from tests.cli.test_table import SEX, STATED, made_table, made_with


def read(folder):
    """A bundle's counts by its columns' values, and what it says of its noise."""
    facts = json.loads((Path(folder) / "datapackage.json").read_text())["sfumato"]["count_table"]
    with (Path(folder) / "counts.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return (
        {tuple((n, row[n]) for n in facts["columns"]): int(row["count"]) for row in rows},
        facts,
    )


def added(cells, columns):
    found = {}
    for key, count in cells.items():
        kept = tuple((name, value) for name, value in key if name in columns)
        found[kept] = found.get(kept, 0) + count
    return found


@pytest.fixture
def counted(line):
    return made_with(line, RULES.replace(SEX, STATED))


def laplace(rate, noise):
    step = math.exp(-rate)
    return (1 - step) / (1 + step) * step ** abs(noise)


def pair_law(low, high, reach):
    """The joint law of the noise at a lower and a higher rate, on the ladder, written anew.

    The lower level's noise is the higher's plus noise that is independent of it, of the law whose
    convolution with the higher's is the lower's: it is 0 with some chance, else the lower's own.
    """
    stays = (math.sinh(low / 2) / math.sinh(high / 2)) ** 2
    more = {z: (1 - stays) * laplace(low, z) + stays * (z == 0) for z in range(-reach, reach + 1)}
    return lambda first, second: laplace(high, second) * more.get(first - second, 0.0)


def test_whoever_holds_the_same_table_at_two_levels_knows_what_the_higher_one_tells():
    """Every coalition's odds on a replaced record, enumerated, are the most trusted member's."""
    low, high, reach = law_of_counts(0.6).rate, law_of_counts(1.8).rate, 60
    joint = pair_law(low, high, reach)
    for first in range(-8, 9):  # the convolution is the lower law, so the law of files is this one
        said = sum(joint(first, second) for second in range(-reach, reach + 1))
        assert said == pytest.approx(laplace(low, first), rel=1e-6)
    for first, second in itertools.product(range(-6, 7), repeat=2):
        both = joint(first, second) / joint(first - 1, second - 1)
        assert both == pytest.approx(laplace(high, second) / laplace(high, second - 1), rel=1e-9)


def test_recipients_columns_in_another_order_and_a_coarser_table_tell_no_more_than_the_finest(
    counted,
):
    finest = made_table(counted, ["sex", "illness"], "Clinic A", 1.0)
    made = [
        made_table(counted, ["illness", "sex"], "Institute B", 1.0, "b"),
        made_table(counted, ["illness"], "Institute B", 1.0, "c"),
        made_table(counted, ["sex"], "Clinic A", 1.0, "d"),
    ]
    cells, facts = read(finest["path"])
    for told in made:
        theirs, said = read(told["path"])
        assert theirs == added(cells, said["columns"])  # a function of the finest one's counts
        assert said["epsilon"] == facts["epsilon"]
    assert made[-1]["epsilon_together"] == pytest.approx(1.0)


def test_two_editions_differ_by_noise_of_their_own_and_epsilon_is_added(counted):
    first = made_table(counted, ["sex", "illness"])
    path = counted.folder / "ward.csv"
    path.write_text(path.read_text().replace("P011,m", "P011,f"))
    assert counted.run("source", counted.project, "--new-edition", path) == ExitCode.OK
    second = made_table(counted, ["sex", "illness"], "Institute B")
    one, other = read(first["path"])[0], read(second["path"])[0]
    # With the old noise the difference would be the one record that moved: 1 and −1, and zeros.
    moved = [other[key] - one[key] for key in one]
    assert sorted(map(abs, moved)) != [0] * (len(moved) - 2) + [1, 1]
    summed = sum(read(told["path"])[1]["epsilon"] for told in (first, second))
    assert second["epsilon_together"] == pytest.approx(summed)


def test_a_unit_s_rows_in_any_cells_change_the_odds_by_epsilon_by_enumeration(line):
    rows = ["person,home,sex,illness"]
    rows += [f"P{i:03d},H{i // 2},{'fm'[i % 2]},cold" for i in range(8)]
    (line.folder / "ward.csv").write_text("\n".join(rows) + "\n")
    home = '[columns.home]\nrole = "identifying"\n'
    rules = RULES.replace(SEX, f"{home}{STATED}")
    made_with(line, f'{rules}\n[unit]\ncolumns = ["home"]\nmost_rows = 2\n')
    cells, facts = read(made_table(line, ["sex"])["path"])
    ways = [
        way
        for size in range(facts["rows_per_unit"] + 1)
        for way in itertools.combinations_with_replacement(range(len(cells)), size)
    ]
    worst = max(
        facts["rate"] * sum(abs(one.count(c) - other.count(c)) for c in range(len(cells)))
        for one, other in itertools.permutations(ways, 2)
    )
    assert 0.99 * facts["epsilon"] < worst <= facts["epsilon"]
