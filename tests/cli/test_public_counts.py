"""Public counts of how many people tables share, from the command line to what is published."""

import itertools
import json

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.holders import Holder, paper_holder, rules_for
from tests.cli.test_diversity import AGE, SALARY, ZIP
from tests.engine.generalization.paper import private_table
from tests.formats.workbooks import hiding


@pytest.fixture
def revenue(line):
    return paper_holder(line, "Revenue", [AGE])


@pytest.fixture
def census(line):
    return paper_holder(line, "Census", [ZIP])


def counted(holder, **people):
    """Write public counts of ages by our zip codes at level 1, or by both as they are."""
    path = holder.line.folder / "registry.csv"
    rows = [(age, place, n) for (age, place), n in people["cells"].items()]
    pd.DataFrame(rows, columns=[AGE, ZIP, "people"]).to_csv(path, index=False)
    return path


def cells_of(ages, zips):
    """Count people by what two published tables show, in the order of table 3's people."""
    return dict(pd.DataFrame({"a": ages, "z": zips}).value_counts().items())


def figures(holder, *more):
    assert holder.run("diversity", "--json", *more) == ExitCode.OK, holder.line.remarks
    return json.loads(holder.line.output)


def beside_revenue(revenue, census):
    assert revenue.publish() == ExitCode.OK
    add = ("others", "--add", revenue.data(), "--holder", "Revenue")
    assert census.run(*add) == ExitCode.OK, census.line.remarks


def real_cells():
    frame = private_table()
    ages = frame["Age"].map(lambda age: "≥40" if age >= 40 else "<40")
    return cells_of(ages, frame["ZIP Code"].astype(str)), frame, ages


@pytest.mark.slow
def test_the_table_that_proves_the_paper_wrong_is_generalized_where_the_counts_are_known(line):
    # By the paper 3 values remain in a and x, whatever is known of the correlation.
    ours = {"a": (5, 1, 1), "b": (1, 3, 3)}
    theirs = {"x": (6, 1, 1), "y": (0, 3, 3)}
    frame = pd.DataFrame(rows_of("place", ours))
    (line.folder / "place.hierarchy.csv").write_text("a;*\nb;*\n")
    other = line.folder / "other.csv"
    pd.DataFrame(rows_of("job", theirs)).to_csv(other, index=False)
    holder = Holder(line, "Ours")
    asked = '{ kind = "distinct-diversity", l = 2 }'
    holder.init(frame, rules_for(["place"], asked, sensitive="salary"))
    assert holder.run("others", "--add", other, "--quasi", "job") == ExitCode.OK, line.remarks
    assert figures(holder)["best"]["levels"] == {"place": 0}
    counts = line.folder / "census.csv"
    counts.write_text("place,job,people\na,x,5\na,y,2\nb,x,3\nb,y,4\n")
    assert holder.run("others", "--counts", counts) == ExitCode.OK, line.remarks
    assert figures(holder)["best"]["levels"] == {"place": 1}
    assert holder.run("check") == ExitCode.OK, line.output + line.remarks
    assert "knows the public counts census" in line.output
    levels = "[generalization]\nlevels = { place = 0 }\n"
    assert holder.run("rules") == ExitCode.OK
    rules = line.folder / "again.toml"
    rules.write_text(line.output.replace("[generalization]\n", levels), encoding="utf-8")
    assert holder.run("rules", "--apply", rules) == ExitCode.OK, line.remarks
    assert holder.publish() == ExitCode.EXPECTED_ERROR
    assert "don't satisfy" in line.remarks
    assert holder.run("others", "--remove-counts", "census") == ExitCode.OK
    assert holder.publish() == ExitCode.OK, line.remarks


def rows_of(column, classes):
    return [
        {column: label, "salary": salary}
        for label, counts in classes.items()
        for salary, number in zip("HML", counts, strict=True)
        for _ in range(number)
    ]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_public_counts_are_heeded_by_search_audit_and_promise(revenue, census):
    beside_revenue(revenue, census)
    cells, frame, ages = real_cells()
    path = counted(census, cells=cells)
    add = ("others", "--counts", path, "--name", "Registry")
    assert census.run(*add) == ExitCode.OK, census.line.remarks
    assert census.run("rules") == ExitCode.OK
    rules = census.line.folder / "rules.toml"
    rules.write_text(census.line.output, encoding="utf-8")
    assert "[[generalization.public_counts]]" in census.line.output
    before = census.document().generalization
    assert census.run("rules", "--apply", rules) == ExitCode.OK, census.line.remarks
    assert census.document().generalization.public_counts == before.public_counts
    found = figures(census, "--all")
    assert found["best"]["levels"] == {ZIP: 2}
    assert census.run("others", "--with-ours", "--json") == ExitCode.OK
    told = json.loads(census.line.output)
    assert told["public_counts"] == ["Registry"]
    assert told["ours"]["left"] == 2
    assert census.publish() == ExitCode.OK, census.line.remarks
    readme = " ".join((census.data().parent / "README.md").read_text().split())
    assert "knows the public counts Registry, and nothing else" in readme
    assert fewest(census.published(), pd.read_csv(revenue.data()), frame, ages) == 2
    assert census.run("others", "--remove-counts", "Registry") == ExitCode.OK
    assert census.document().generalization.public_counts == ()


def fewest(ours, theirs, frame, ages):
    """Go through every way in which salaries can be spread over the people of the files."""
    zips = ours[ZIP].tolist() if len(set(ours[ZIP])) > 1 else ["*"] * len(frame)
    people = list(zip(ages, zips, strict=True))
    values = sorted(set(ours[SALARY]))
    age_counts = theirs.groupby(AGE)[SALARY].value_counts().to_dict()
    zip_counts = ours.groupby(ZIP)[SALARY].value_counts().to_dict()
    cells = sorted(set(people))
    sizes = [people.count(cell) for cell in cells]
    options = [
        [c for c in itertools.product(range(n + 1), repeat=len(values)) if sum(c) == n]
        for n in sizes
    ]
    left = {cell: set() for cell in cells}
    for world in itertools.product(*options):
        for at, wanted in ((0, age_counts), (1, zip_counts)):
            seen = {}
            for cell, counts in zip(cells, world, strict=True):
                for value, number in zip(values, counts, strict=True):
                    if number:
                        key = (cell[at], value)
                        seen[key] = seen.get(key, 0) + number
            if seen != wanted:
                break
        else:
            for cell, counts in zip(cells, world, strict=True):
                left[cell] |= {v for v, n in zip(values, counts, strict=True) if n}
    return min(map(len, left.values()))


def moved(cells, cell, to):
    return {to if each == cell else each: n for each, n in cells.items()}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda cells: {**cells, ("≥40", "25434"): 3}, "contradict the table of Revenue"),
        (lambda cells: {**cells, ("ancient", "25434"): 1}, "shows nobody"),
        (lambda cells: moved(cells, ("≥40", "25434"), ("≥40", "99999")), "no single level"),
        (lambda cells: {**cells, ("≥40", "25434"): 0.5}, "no whole number of people"),
    ],
)
def test_counts_that_do_not_fit_are_refused_by_name(revenue, census, change, said):
    beside_revenue(revenue, census)
    cells, *_ = real_cells()
    path = counted(census, cells=change(cells))
    named = ("--column", f"{AGE}=Revenue:{AGE}", "--people", "people")
    if census.run("others", "--counts", path, *named) == ExitCode.OK:
        census.run("others", "--with-ours")
    text = census.line.remarks + census.line.output
    assert said in text
    assert "registry" in text
    assert "25434" not in text


@pytest.mark.slow
def test_counts_that_changed_or_whose_options_miss_the_file_are_refused(revenue, census):
    beside_revenue(revenue, census)
    path = counted(census, cells=real_cells()[0])
    named = ("--column", f"{AGE}=Revenue:{AGE}")
    assert census.run("others", "--counts", path, *named) == ExitCode.OK, census.line.remarks
    path.write_bytes(path.read_bytes() + b"x,y,1\n")
    assert census.run("diversity") == ExitCode.EXPECTED_ERROR
    assert "public counts registry changed" in census.line.remarks
    path.unlink()
    assert census.run("diversity") == ExitCode.EXPECTED_ERROR
    assert "public counts registry are not at" in census.line.remarks
    assert census.run("others", "--remove-counts", "regstry") == ExitCode.EXPECTED_ERROR
    assert census.run("others", "--name", "x") == ExitCode.USAGE
    assert census.run("others", "--counts", path, "--column", AGE) == ExitCode.EXPECTED_ERROR


def test_rows_that_a_workbook_of_counts_hides_are_told(revenue, census):
    beside_revenue(revenue, census)
    path = counted(census, cells=real_cells()[0])
    found = hiding(path.with_suffix(".xlsx"), pd.read_csv(path, dtype={ZIP: str}))
    named = ("--column", f"{AGE}=Revenue:{AGE}")
    census.run("others", "--counts", found, *named)
    assert "Caution: The sheet hides" in census.line.remarks
