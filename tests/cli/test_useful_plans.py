"""Plans and their releases, judged from the exported files alone by plain counting.

Nothing here uses what the product counts, perturbs or weighs with; what it says of itself is
compared with what pandas, numpy and an integer program find in the files.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from math import log

import numpy as np
import pandas as pd
import pytest
import scipy

from sfumato.commands.shared.command import ExitCode
from tests.data import shared_data
from tests.useful import TABLES

USEFUL = 100
ODDS = (27.0, 9.0, 3.0)
"""How much likelier a value gets where a hunch of 10 % may become 75, 50 or 25 %."""


def adult():
    """Return the Adult table."""
    return pd.read_csv(shared_data("adult/adult.csv"), sep=";")


JUDGED = {**TABLES, "adult": adult}


class Release:
    """What somebody has who got a bundle."""

    def __init__(self, bundle):
        self.package = json.loads((bundle / "datapackage.json").read_text())
        self.data = pd.read_csv(bundle / "data.csv", dtype=str, keep_default_na=False)
        fields = self.package["resources"][0]["schema"]["fields"]
        self.columns = {one["name"]: one.get("sfumato", {}) for one in fields}
        self.view = self.package["sfumato"]["view"]
        self.shown = [name for name in self.view["levels"] if name in self.data]

    @property
    def perturbed(self):
        return [name for names in self.package["sfumato"]["perturbed"] for name in names]

    def classes(self, names):
        return self.data.groupby(names, sort=True).size()

    def rows_sharing(self, name):
        """Return how many rows share what is promised for a column."""
        unit = self.package["sfumato"].get("unit")
        return unit["most_rows"] if unit and name in unit["drawn_by_row"] else 1


def proposed(line, name):
    """Return the table, what is proposed for it, rivals by column, and releases by recipient."""
    table = JUDGED[name]()
    table.to_csv(line.folder / "table.csv", index=False)
    made = line.folder / "made.sfumato"
    assert line.run("init", made, "--table", line.folder / "table.csv") == ExitCode.OK
    assert line.run("propose", made, "--apply", "--json") == ExitCode.OK, line.output
    plan = json.loads(line.output)
    assert line.run("worth", made, "--mechanisms", "--json") == ExitCode.OK, line.remarks
    rivals = {tuple(one["columns"]): one["mechanisms"] for one in json.loads(line.output)}
    releases = {}
    for each in plan["worth"]:
        known = set(line.bundles())
        out = ("--recipient", each["recipient"], "--out", line.folder / "out")
        assert line.run("release", made, *out) == ExitCode.OK, line.remarks
        [bundle] = set(line.bundles()) - known
        releases[each["recipient"]] = Release(bundle)
    return table, plan, rivals, releases


def ends(label: str) -> tuple[float, float] | None:
    """Return from which number to which a label goes."""
    found = [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", label.replace(",", " "))]
    return None if not found or len(found) > 2 else (found[0], found[-1])


def may_become(fine: str, coarse: str) -> bool:
    """Return whether a cell that shows one label can show another where less is told."""
    if coarse in ("*", fine):
        return True
    one, two = ends(fine), ends(coarse)
    return fine != "*" and one is not None and two is not None and two[0] <= one[0] <= two[1]


def follows(fine: Release, coarse: Release) -> bool:
    """Return whether some function of what rows show makes one release's rows of the other's."""
    names = coarse.shown
    more, less = fine.classes(fine.shown), coarse.classes(names)
    places = [fine.shown.index(name) for name in names]
    able = np.ones((len(more), len(less)), dtype=np.bool_)
    for place, at in enumerate(places):
        seen, codes = np.unique([one[at] for one in more.index], return_inverse=True)
        told, others = np.unique([two[place] for two in less.index], return_inverse=True)
        possible = np.array([[may_become(one, cell) for cell in told] for one in seen])
        able &= possible[np.ix_(codes, others)]
    pairs = np.argwhere(able)
    first, second = pairs.T
    each = np.arange(len(pairs))
    once = scipy.sparse.csr_array((np.ones(len(pairs)), (first, each)), (len(more), len(pairs)))
    counted = scipy.sparse.csr_array(
        (more.to_numpy()[first].astype(float), (second, each)), (len(less), len(pairs))
    )
    found = scipy.optimize.milp(
        np.zeros(len(pairs)),
        integrality=np.ones(len(pairs)),
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=[
            scipy.optimize.LinearConstraint(once, 1, 1),
            scipy.optimize.LinearConstraint(counted, less.to_numpy(), less.to_numpy()),
        ],
    )
    return found.x is not None


def log_odds(release: Release, name: str) -> float | None:
    """Return how much likelier a release makes anything of whoever is protected, as a logarithm."""
    told = release.columns[name]
    rows = release.rows_sharing(name)
    if told["mechanism"] == "laplace":
        known = told["parameters"]
        spread = (known["highest"] - known["lowest"]) / known["step"]
        return rows * known["noise_rate"] * spread
    if "transition" not in told.get("channel", {}):
        return None
    matrix = np.array(told["channel"]["transition"])
    return rows * float(np.log(matrix.max(axis=0) / matrix.min(axis=0)).max())


def raised(plan, recipient: str) -> Iterator[str]:
    """Yield the columns of which the plan says that a recipient gets them above the template."""
    for each in plan["steps"]:
        found = re.match(rf"{recipient} gets (\w+) at ε", each["step"])
        if found:
            yield found[1]


def worth_of_shares(matrix: np.ndarray, shares: np.ndarray, records: int) -> float:
    """Return the sample of true records that tells shares as exactly: DESIGN 11, written out."""
    back, shown = np.linalg.inv(matrix).T, shares @ matrix
    errors = back @ (np.diag(shown) - np.outer(shown, shown)) @ back.T
    return records * (1.0 - float(shares @ shares)) / float(np.trace(errors))


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("name", list(JUDGED))
def test_releases_of_a_plan_are_safe_and_useful_as_their_files_tell(line, name):
    table, plan, rivals, releases = proposed(line, name)
    for release in releases.values():
        exact = [one for one in release.data if one not in release.perturbed]
        assert release.classes(exact).min() > 1
        assert release.classes(release.shown).min() >= release.view["k"]
    for fine, coarse in itertools.pairwise(releases.values()):
        assert follows(fine, coarse)
    for (recipient, release), odds in zip(releases.items(), ODDS, strict=True):
        above = set(raised(plan, recipient))
        for column in release.perturbed:
            found = log_odds(release, column)
            assert found is None or column in above or found <= log(odds) * (1 + 1e-6), column
    first = next(iter(releases.values()))
    assert not [one for one in first.shown if (first.data[one] == "*").all()]
    # Of many quasi-identifiers some have to go; what is known best of people stays.
    asked = {"age", "sex", "region"} if name == "survey" else set()
    assert set(first.shown) >= asked
    told = plan["worth"][0]
    assert {one["column"] for one in told["columns"]} == set(first.perturbed)
    for each in told["columns"]:
        names = next(one for one in rivals if each["column"] in one)
        best = max((r["worth"] for r in rivals[names] if r["keeps_epsilon"]), default=0.0)
        assert each["worth"] >= 0.98 * best, (each, rivals[names])
        # What can't be worth as much at this promise says at which it would be.
        assert each["worth"] >= USEFUL or any("epsilon" in one["level"] for one in each["helps"])
        channel = first.columns[each["column"]].get("channel", {})
        if "transition" in channel and "unit" not in first.package["sfumato"]:
            true = table[each["column"]]
            shares = [
                true.isna().mean() if value is None else (true.astype(str) == str(value)).mean()
                for value in channel["domains"][0]
            ]
            matrix = np.array(channel["transition"])
            found = worth_of_shares(matrix, np.array(shares), len(table))
            assert each["worth"] == pytest.approx(found, rel=0.01)
