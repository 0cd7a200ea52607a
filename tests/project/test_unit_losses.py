"""What a unit loses, recomputed from the published parameters without any code of Sfumato's."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness.readiness import examine, looked_at, mended
from sfumato.analysis.utility.mechanism_choice import WeighedColumns
from sfumato.analysis.utility.worth_figures import RecordsBehind
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table, measured_rows
from sfumato.project.document.edits import with_entry
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.release.table_survey import measured_for_unit
from sfumato.project.release.units import promise_by_unit, unit_of_columns
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project.making import CHEAP, PASSPHRASE, noon

RECIPIENTS = ("Ministry", "Institute", "Public")
PROTECTED = {
    "uniform": ("water",),
    "distribution": ("illness",),
    "finegrain": ("work",),
    "joint": ("sport", "diet"),
    "matrix": ("place",),
    "laplace": ("income",),
}
CATEGORIES = ("water", "illness", "work", "sport", "diet", "place")


def visits(units: int = 300) -> pd.DataFrame:
    """Return rows of households, one of them far larger than all others."""
    draw = np.random.default_rng(3)
    sizes = draw.integers(1, 7, units)
    sizes[0] = 40
    of = np.repeat(np.arange(units), sizes)
    rows = len(of)
    frame = pd.DataFrame(
        {name: draw.choice(list("abcd"), rows, p=[0.6, 0.25, 0.1, 0.05]) for name in CATEGORIES}
    )
    return frame.assign(
        household=[f"h{number}" for number in of],
        water=draw.choice(list("abcd"), units)[of],
        rent=draw.gamma(4.0, 100.0, units).round(0)[of],
        income=draw.lognormal(10, 0.7, rows).round(-1),
    )


def protected(table: Table) -> Document:
    """Return a document that was decided on before anybody thought of households."""
    columns = [ColumnSpec("household", Role.IDENTIFYING)]
    columns += [ColumnSpec(one, Role.SENSITIVE, domain=Domain(tuple("abcd"))) for one in CATEGORIES]
    columns += [ColumnSpec(one, Role.SENSITIVE, Kind.NUMERIC) for one in ("rent", "income")]
    document = Document(
        title="visits",
        source=TableSource("/data/visits.csv", "ab" * 32, table.rows),
        columns=tuple(columns),
        recipients=tuple(Recipient(name, {}) for name in RECIPIENTS),
    )
    for name, attributes in {**PROTECTED, " laplace": ("rent",)}.items():
        known = MemorySurvey(table).attributes([document.column(one) for one in attributes])
        settings = mechanism_called(name.strip()).first_settings(known, NOISE)
        document = with_entry(document, known, name.strip(), settings)
    return document


def by_household(document: Document, table: Table, most_rows: int | None) -> Document:
    rows = MemorySurvey(table)
    unit, _ = unit_of_columns(document, rows, ("household",), most_rows, Silent())
    return measured_for_unit(document.with_unit(unit), rows, NOISE)


def examined(document: Document, table: Table, keys):
    found = examine(*looked_at(document, in_batches(table), keys, Silent()), (), Silent())
    return [one for each in found for one in each.findings if one.check == "Levels"]


def losses(package: dict) -> dict[str, float]:
    """Return the loss of one unit by each perturbed column, from a data package alone."""
    unit, found = package["sfumato"]["unit"], {}
    for field in package["resources"][0]["schema"]["fields"]:
        told = field.get("sfumato", {})
        if "parameters" not in told:
            continue
        parameters = told["parameters"]
        if told["mechanism"] == "laplace":
            steps = (parameters["highest"] - parameters["lowest"]) / parameters["step"]
            row = parameters["noise_rate"] * steps
        else:
            rows = told["channel"]["transition"]
            row = max(math.log(max(each) / min(each)) for each in rows)
        rows = 1 if field["name"] in unit["drawn_once"] else unit["most_rows"]
        beside = [parameters[key] for key in parameters if key.endswith("s_epsilon")]
        found[field["name"]] = rows * row + sum(beside)
    return found


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("most_rows", [None, 3])
def test_what_a_unit_loses_by_the_published_parameters_is_what_is_stated(tmp_path, most_rows):
    table = Table(visits())
    document = by_household(protected(table), table, most_rows)
    with ProjectFile.create(
        tmp_path / "p.sfumato", PASSPHRASE, document, cost=CHEAP, clock=noon
    ) as project:
        for finding in examined(document, table, project.keys):
            assert finding.refuses
            [remedy] = finding.remedies
            assert remedy.deed is RemedyKind.LEVEL
            document = mended(document, remedy)
        assert not examined(document, table, project.keys)
        project.save_document(document)
        for recipient in document.recipients:
            made = make_release(
                project, in_batches(table), recipient.name, tmp_path, "csv", Silent()
            )
            package = json.loads((made.path / "datapackage.json").read_text())
            readme = (made.path / "README.md").read_text()
            found = losses(package)
            assert set(found) == {*CATEGORIES, "rent", "income"}
            for key, statement in recipient.statements.items():
                for name in key.split(" + "):
                    if "epsilon" in statement:
                        assert found[name] <= statement["epsilon"] * (1 + 1e-9)
                        assert found[name] >= 0.9 * statement["epsilon"]
                section = readme.split(f"\n### {key.replace(' + ', ' and ')}\n")[1].split("\n### ")[
                    0
                ]
                together = re.search(r"together they multiply .* at most ([\d.,]+)\.\s", section)
                if key in package["sfumato"]["unit"]["drawn_once"]:
                    assert together is None
                else:
                    told = math.log(float(together[1].replace(",", "")))
                    assert max(found[name] for name in key.split(" + ")) <= told + 1e-12


def test_statistics_are_measured_in_one_row_of_each_unit_whatever_its_values():
    """Another unit's worth of values moves two counts by one each: ε0 is what a unit loses."""
    frame = visits()
    document = by_household(protected(Table(frame)), Table(frame), None)
    changed = frame.assign(illness=frame["illness"].mask(frame["household"] == "h0", "d"))
    counts = []
    for each in (frame, changed):
        known = MemorySurvey(Table(each)).attributes([document.column("illness")], document.unit)
        [measured], unit = measured_rows(known)
        assert unit.rows == 1
        counts.append(measured.counts)
    assert counts[0].sum() == frame["household"].nunique()
    assert np.abs(counts[0] - counts[1]).sum() <= 2


def test_rows_take_turns_in_standing_for_their_unit():
    frame = pd.DataFrame({"household": np.repeat(np.arange(300), 3), "rank": [0, 1, 2] * 300})
    spec = ColumnSpec("rank", Role.SENSITIVE, Kind.NUMERIC)
    document = Document(columns=(ColumnSpec("household", Role.IDENTIFYING), spec))
    rows = MemorySurvey(Table(frame))
    unit, _ = unit_of_columns(document, rows, ("household",), None, Silent())
    [measured], _ = measured_rows(MemorySurvey(Table(frame)).attributes([spec], unit))
    assert np.bincount(measured.numbers.astype(int)).tolist() == [100, 100, 100]


def test_a_unit_stated_later_spends_on_statistics_what_its_rows_did():
    table = Table(visits())
    before = protected(table)
    after = by_household(before, table, None)
    assert after.unit.most_rows == 40
    for one, other in zip(before.policy, after.policy, strict=True):
        mechanism = mechanism_called(one.mechanism)
        spent = mechanism.byproduct_epsilon(one.settings)
        assert mechanism.byproduct_epsilon(other.settings) == pytest.approx(spent)


def test_noise_for_all_rows_of_a_unit_is_never_less_than_they_need():
    numbers = Table(pd.DataFrame({"x": np.arange(100.0)}))
    known = MemorySurvey(numbers).attributes([ColumnSpec("x", Role.SENSITIVE, Kind.NUMERIC)])
    gaussian = mechanism_called("gaussian")
    settings = gaussian.first_settings(known, NOISE)
    assert gaussian.shared(2.0**19, 2, known, settings) == 2.0**20
    with pytest.raises(LevelError, match="more than can be added"):
        gaussian.shared(2.0**19, 3, known, settings)


def test_numbers_that_a_unit_s_rows_share_are_weighed_in_large_tables(monkeypatch):
    """Of many numbers some are weighed, one of each unit: not by rows that leave."""
    monkeypatch.setattr("sfumato.analysis.utility.mechanism_choice.MANY_NUMBERS", 100)
    table = Table(visits())
    document = protected(table)
    rent = document.entry_for("rent")
    public = replace(document.recipient("Public"), statements={"rent": {"epsilon": 1.9}})
    document = replace(document, policy=(rent,), recipients=(public,))
    for name in (*CATEGORIES, "income"):
        document = document.with_column(ColumnSpec(name, Role.IDENTIFYING))
    document = by_household(document, table, 9)
    [found] = examine(
        *looked_at(document, in_batches(table), KeyRing(bytes(32)), Silent()), (), Silent()
    )
    [told] = [one for one in found.findings if one.check == "Worth"]
    assert told.worthless
    assert "be worth about 100" in told.sentence


@pytest.mark.parametrize("name", ["laplace", "gaussian"])
def test_what_many_numbers_tell_is_measured_for_the_unit(monkeypatch, name):
    """Of many numbers some are weighed; a plan of single rows' bounds could not be carried out."""
    monkeypatch.setattr("sfumato.analysis.utility.mechanism_choice.MANY_NUMBERS", 100)
    table = Table(visits())
    document = by_household(replace(protected(table), policy=()), table, 3)
    known = MemorySurvey(table).attributes([document.column("income")], document.unit)
    behind = RecordsBehind(table.rows, table.rows, table.rows, 300)
    weighed = WeighedColumns.of(known, behind, document.unit).thinned()
    assert len(weighed.attributes[0].numbers) <= 100
    mechanism = mechanism_called(name)
    settings = weighed.first_settings(mechanism, NOISE)
    assert settings["measured_unit"]["columns"] == ["household"]
    assert settings == mechanism.first_settings(known, NOISE)


def test_noise_on_the_rows_of_a_unit_is_said_to_tell_as_much_as_less_noise_on_one_row():
    """Eight means of rows with noise s have noise of s/√8: nobody tells the unit's apart better."""
    table = Table(visits())
    document = by_household(protected(table), table, 8)
    known = MemorySurvey(table).attributes([document.column("income")], document.unit)
    settings = {"covariance": [[40_000.0]], "measured": "stated", "noise": "proportional"}
    document = with_entry(document, known, "gaussian", settings)
    plan = plan_entry(
        document,
        next(one for one in document.policy if one.key == "income"),
        {"income": known[0]},
        Recipient("Ministry", {"income": {"sigma_squared": 1.0}}),
    )
    said = promise_by_unit(document, plan, known).sentence
    rows, unit = said.split("This is said of one row. ")
    noise = re.compile(r"standard deviation of ([\d.,]+) for income.*up to ([\d.,]+) apart")
    of_row, of_unit = ([figure(one) for one in noise.search(t).groups()] for t in (rows, unit))
    assert of_unit[0] == pytest.approx(200, rel=0.01)
    assert of_row[0] == pytest.approx(200 * math.sqrt(8), rel=0.01)
    assert of_row[1] / of_unit[1] == pytest.approx(math.sqrt(8), rel=0.02)


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_what_is_said_of_one_row_is_not_said_twice_where_only_one_leaves(mechanism):
    table = Table(visits())
    document = by_household(protected(table), table, 1)
    known = MemorySurvey(table).attributes([document.column("income")], document.unit)
    chosen = mechanism_called(mechanism)
    document = with_entry(document, known, mechanism, chosen.first_settings(known, NOISE))
    entry = next(one for one in document.policy if one.key == "income")
    [stated] = chosen.default_statements(1)
    plan = plan_entry(
        document, entry, {"income": known[0]}, Recipient("Ministry", {"income": stated})
    )
    alone = chosen.promise(plan.level, known, plan.settings)
    whole = promise_by_unit(document, plan, known)
    added = "At most 1 row with the same household leaves, so this holds for all of them together."
    assert whole.sentence == f"{alone.sentence} {added}"
    losses = {fact.symbol: fact.value for fact in whole.facts}
    epsilon = losses.get("ε of a unit")
    assert epsilon is None or epsilon == pytest.approx(math.log(losses["γ"]))


def figure(text: str) -> float:
    return float(text.replace(",", "").rstrip("."))
