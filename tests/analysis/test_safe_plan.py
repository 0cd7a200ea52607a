"""A whole plan: what is decided stays, and releases by it hold what they are said to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.coarsening.views import proposed_share
from sfumato.analysis.planning.plan import SafePlan
from sfumato.analysis.planning.safe_plan import propose_plan
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import Cancelled, PolicyError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.edits import with_entry
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import Document, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.resources import resource_path
from tests.analysis.test_accepted_proposals import companies, survey, visits
from tests.household import household_survey
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE, noon
from tests.proposed import proposed_columns

TABLES = {"companies": companies, "visits": visits, "survey": survey}


def opened(frame: pd.DataFrame) -> tuple[Document, Table]:
    """Return a table, and the document that is made of it without any rules."""
    table = Table(frame)
    source = TableSource("/data/table.csv", "ab" * 32, table.rows)
    return Document(title="table", source=source, columns=proposed_columns(table)), table


def planned(tmp_path, frame: pd.DataFrame, document: Document | None = None) -> SafePlan:
    made, table = opened(frame)
    path = tmp_path / "made.sfumato"
    with ProjectFile.create(path, PASSPHRASE, document or made, cost=CHEAP, clock=noon) as project:
        return propose_plan(project.document, in_batches(table), project.keys, (), Silent())


def smallest_class(data: pd.DataFrame, names: list[str]) -> int:
    """Count the smallest class of rows that show the same, as whoever has the file does."""
    seen: dict[tuple[str, ...], int] = {}
    for row in data[names].astype(str).itertuples(index=False, name=None):
        seen[row] = seen.get(row, 0) + 1
    return min(seen.values())


@pytest.mark.turns(2)
@pytest.mark.slow
@pytest.mark.parametrize("name", list(TABLES))
def test_releases_by_a_plan_are_made_and_keep_their_classes(tmp_path, name):
    document, table = opened(TABLES[name]())
    path = tmp_path / "made.sfumato"
    with ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP, clock=noon) as project:
        plan = propose_plan(document, in_batches(table), project.keys, (), Silent())
        assert plan.is_safe, [one.sentence for each in plan.after for one in each.standing]
        assert not plan.before
        project.save_document(plan.document)
        assert plan.document.recipients[0].name == "Trusted partner"
        for recipient in plan.document.recipients:
            out = make_release(
                project, in_batches(table), recipient.name, tmp_path / "out", "csv", Silent()
            )
            data = pd.read_csv(out.path / "data.csv", dtype=str, keep_default_na=False)
            assert len(data) == table.rows
            open_names = [
                spec.name
                for spec in plan.document.columns
                if spec.role is Role.QUASI_IDENTIFIER and spec.name in data
            ]
            assert recipient.view is not None
            assert smallest_class(data, open_names) >= recipient.view.k


def with_a_ward(wards: list[str]) -> tuple[Document, Table]:
    """Return a table of two quasi-identifiers, beside a ward that nobody is said to know."""
    places = range(len(wards))
    frame = pd.DataFrame(
        {
            "sex": ["fm"[place % 2] for place in places],
            "region": [("north", "south")[place // 2 % 2] for place in places],
            "ward": wards,
            "diagnosis": [("flu", "fracture", "burn")[place % 3] for place in places],
        }
    )
    document, table = opened(frame)
    roles = {"ward": Role.INSENSITIVE, "diagnosis": Role.SENSITIVE}
    columns = [replace(spec, role=roles.get(spec.name, spec.role)) for spec in document.columns]
    return replace(document, columns=tuple(columns)), table


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_insensitive_column_that_singles_out_a_few_is_coarsened_with_the_others(tmp_path):
    """Leaving it out would cost all of it, because of four of 400 records."""
    wards = ["surgery"] * 160 + ["medicine"] * 160 + ["children"] * 76 + ["eyes"] * 4
    document, table = with_a_ward(wards)
    path = tmp_path / "made.sfumato"
    with ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP, clock=noon) as project:
        plan = propose_plan(document, in_batches(table), project.keys, (), Silent())
        project.save_document(plan.document)
        bundle = make_release(
            project, in_batches(table), "Trusted partner", tmp_path / "out", "csv", Silent()
        )
    told = [str(one.told) for one in plan.steps]
    assert "Treat ward as a quasi-identifier too." in told
    assert not any(one.startswith(("Drop", "Left out")) for one in told)
    data = pd.read_csv(bundle.path / "data.csv", dtype=str, keep_default_na=False)
    assert smallest_class(data, ["sex", "region", "ward"]) >= 5
    assert data["ward"].isin(wards[:396]).mean() > 0.9


@pytest.mark.slow
def test_a_column_is_not_coarsened_where_the_others_would_lose_as_much():
    wards = [f"ward {place // 5}" for place in range(400)]
    document, table = with_a_ward(wards)
    plan = propose_plan(document, in_batches(table), KeyRing(bytes(range(32))), (), Silent())
    told = [str(one.told) for one in plan.steps]
    assert not any(one.startswith("Treat ward") for one in told)
    assert all(one.hidden < 0.05 for each in plan.worth for one in each.details)


@pytest.mark.slow
def test_a_year_that_all_rows_share_hides_no_date_from_the_first_recipient():
    """Of the clinic's dates of 2025 the year tells nothing, and what lies below it something."""
    frame = pd.read_csv(resource_path("samples", "clinic.csv"), dtype={"postcode": str})[::5]
    frame["admission_date"] = pd.to_datetime(frame["admission_date"])
    document, table = opened(frame.reset_index(drop=True))
    plan = propose_plan(document, in_batches(table), KeyRing(bytes(range(32))), (), Silent())
    assert plan.is_safe
    details = {one.column: one for one in plan.worth[0].details}
    assert "admission_date" in details
    assert all(one.kept > 0.1 and one.hidden < 1.0 for one in details.values())


@pytest.mark.slow
def test_what_nobody_would_see_anything_of_in_a_short_table_is_left_out_by_name():
    frame = pd.read_csv(resource_path("samples", "clinic.csv"), dtype={"postcode": str}, nrows=30)
    frame["admission_date"] = pd.to_datetime(frame["admission_date"])
    document, table = opened(frame)
    plan = propose_plan(document, in_batches(table), KeyRing(bytes(range(32))), (), Silent())
    assert plan.is_safe
    hidden = [one.column for one in plan.worth[0].details if one.worthless]
    told = [str(one.told) for one in plan.steps]
    assert not hidden
    left = " ".join(one for one in told if one.startswith("Left out, since nobody would see"))
    assert "occupation" in left
    assert plan.document.column("occupation").role is Role.IDENTIFYING
    assert "occupation" in [name for one in plan.steps for name in one.left_out]


@pytest.mark.slow
def test_a_survey_of_many_columns_gets_a_plan_whose_randomised_columns_are_worth_something(
    tmp_path,
):
    plan = planned(tmp_path, household_survey(400))
    assert plan.is_safe
    told = [str(step.told) for step in plan.steps]
    assert not any(one.startswith("Kept: ") for one in told), "what is kept is found later"
    assert any(str(step.why).startswith("What each further column costs: ") for step in plan.steps)
    assert not [one.column for one in plan.worth[0].details if one.worthless]
    trusted = plan.worth[0]
    assert trusted.recipient == "Trusted partner"
    assert {one.column for one in trusted.columns} == {"disability", "religion", "income"}
    assert min(one.records for one in trusted.columns) >= 100


def pupils(rows: int = 400) -> pd.DataFrame:
    """Return a survey at schools: what others know, what is answered, and what is measured."""
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "school": random.choice([f"School {place}" for place in range(6)], rows),
            "sex": random.choice(["f", "m"], rows),
            "q1": random.integers(1, 6, rows),
            "q2": random.integers(1, 6, rows),
            "q3": random.integers(1, 6, rows),
            "bmi": random.normal(19.0, 3.0, rows).round(1),
            "income": random.choice(["low", "middle", "high"], rows),
        }
    )


@pytest.mark.slow
def test_answers_and_measurements_leave_randomised_and_not_nothing_of_them(tmp_path):
    plan = planned(tmp_path, pupils())
    assert plan.is_safe, [one.sentence for each in plan.after for one in each.standing]
    told = [str(one.told) for one in plan.steps]
    words = "Sensitive, since they look like answers to a questionnaire: q1, q2 and q3."
    assert words in told
    assert any(
        one.startswith("Mark bmi as sensitive, so that it leaves randomised: ") for one in told
    )
    first = {one.column: one.records for one in plan.worth[0].columns}
    assert first.keys() == {"income", "q1", "q2", "q3", "bmi"}
    assert min(first.values()) > 100


@pytest.mark.slow
def test_measurements_leave_randomised_also_where_something_else_has_to_be_left_out(tmp_path):
    random = np.random.default_rng(6)
    weights = random.choice([0.82, 0.93, 1.0, 1.07, 1.18], 400)
    plan = planned(tmp_path, pupils().assign(pupil_weight=weights))
    assert plan.is_safe
    told = [str(one.told) for one in plan.steps]
    assert any(
        one.startswith("Mark bmi as sensitive, so that it leaves randomised") for one in told
    ), told
    assert "bmi" in {one.column for one in plan.worth[0].columns}


@pytest.mark.slow
def test_what_was_left_out_and_nobody_else_can_know_leaves_randomised_and_the_rest_stays(tmp_path):
    frame = pupils().drop(columns="bmi").rename(columns={"q1": "tired", "q2": "shoe", "q3": "pet"})
    frame.insert(0, "pupil_id", range(1000, 1000 + len(frame)))
    made, table = opened(frame)
    for name in ("tired", "shoe", "pet"):
        made = made.with_column(replace(made.column(name), role=Role.IDENTIFYING))
    path = tmp_path / "made.sfumato"
    with ProjectFile.create(path, PASSPHRASE, made, cost=CHEAP, clock=noon) as project:
        given = (in_batches(table), project.keys, (), Silent())
        before = propose_plan(made, *given)
        plan = propose_plan(before.document, *given, ("tired",))
        with pytest.raises(TableError, match="no column"):
            propose_plan(made, *given, ("tried",))
        with pytest.raises(PolicyError, match="pupil_id looks like something that names a person"):
            propose_plan(made, *given, ("pupil_id",))
    assert before.is_safe
    assert plan.is_safe
    worth = {one.column: one.records for one in plan.worth[0].columns}
    assert worth.keys() == {"income", "tired"}
    assert worth["tired"] > 100
    for name in ("school", "sex", "shoe", "pet"):
        assert plan.document.column(name) == before.document.column(name)
    views = [each.view for each in before.document.recipients]
    assert [each.view for each in plan.document.recipients] == views


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_decided_stays(tmp_path):
    document, table = opened(visits())
    spec = replace(document.column("diagnosis"), role=Role.SENSITIVE)
    document = document.with_column(MemorySurvey(table).with_domain(spec))
    document = replace(document, recipients=(Recipient("Institute", {}),))
    (attribute,) = MemorySurvey(table).attributes([document.column("diagnosis")])
    settings = mechanism_called("uniform").default_settings((attribute,))
    document = with_entry(document, attribute, "uniform", settings)
    plan = planned(tmp_path, visits(), document)
    assert plan.before
    assert plan.document.policy[: len(document.policy)] == document.policy
    [institute] = plan.document.recipients
    assert institute.statements["diagnosis"] == document.recipients[0].statements["diagnosis"]
    # Nobody would see anything of it: what its name suggests is heeded then.
    assert plan.document.column("cost").role is Role.SENSITIVE


@pytest.mark.slow
def test_a_plan_that_lacks_nothing_changes_nothing(tmp_path):
    plan = planned(tmp_path, visits())
    (tmp_path / "more").mkdir()
    again = planned(tmp_path / "more", visits(), plan.document)
    assert again.steps == ()
    assert again.document == plan.document
    assert str(again.summary).startswith("Nothing keeps releases back today.")


def test_a_table_in_which_nothing_seems_private_is_refused_by_name(tmp_path):
    frame = pd.DataFrame({"colour": ["red", "blue"] * 20, "size": ["s", "m", "l", "xl"] * 10})
    with pytest.raises(PolicyError, match="No column is sensitive"):
        planned(tmp_path, frame)


def test_a_plan_that_leaves_nothing_sensitive_says_that_a_release_needs_something(tmp_path):
    rows = {"age": [31, 54], "region": ["North", "South"], "income": [21_000, 37_000]}
    plan = planned(tmp_path, pd.DataFrame(rows))
    assert not plan.document.sensitive
    assert "a release needs a column that is marked as sensitive" in str(plan.summary)
    assert "nothing keeps a release" not in str(plan.summary)


def test_a_plan_can_be_stopped(tmp_path):
    document, table = opened(visits())
    path = tmp_path / "made.sfumato"
    told: list[float] = []
    watching = Callback(lambda fraction, _text: told.append(fraction), lambda: len(told) > 2)
    with (
        ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP, clock=noon) as project,
        pytest.raises(Cancelled),
    ):
        propose_plan(document, in_batches(table), project.keys, (), watching)
    assert told


def test_weighing_what_single_cells_keep_can_be_stopped_between_any_two_views(tmp_path):
    document, table = opened(visits())
    path, told = tmp_path / "made.sfumato", []
    tried = "Trying what single cells would keep"
    watching = Callback(lambda _fraction, text: told.append(text), lambda: told.count(tried) > 4)
    with (
        ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP, clock=noon) as project,
        pytest.raises(Cancelled),
    ):
        propose_plan(document, in_batches(table), project.keys, (), watching)


@pytest.mark.parametrize(
    ("ks", "rows", "share"),
    [([5, 20], 100_000, 0.01), ([5, 20], 400, 0.05), ([5, 20], 1_999, 0.02), ([5, 20], 50, 0.01)],
)
def test_the_proposed_share_lets_everybody_suppress_some_where_a_table_is_small(ks, rows, share):
    assert proposed_share(ks, rows) == share
    if share != 0.01 or rows >= 100_000:
        assert int(share * rows + 1e-9) >= max(ks)


@pytest.mark.slow
def test_sampled_figures_of_a_plan_are_those_of_its_releases(tmp_path):
    frame = visits()
    document, table = opened(frame)
    path = tmp_path / "made.sfumato"
    shares = []
    with ProjectFile.create(path, PASSPHRASE, document, cost=CHEAP, clock=noon) as project:
        plan = propose_plan(document, in_batches(table), project.keys, (), Silent())
        project.save_document(plan.document)
        detail = {(one.recipient, one.column): one for each in plan.worth for one in each.details}
        for recipient in plan.document.recipients:
            out = make_release(
                project, in_batches(table), recipient.name, tmp_path / "out", "csv", Silent()
            )
            data = pd.read_csv(out.path / "data.csv", dtype=str, keep_default_na=False)
            for (who, column), told in detail.items():
                if who == recipient.name:
                    shares.append((told.hidden, float(np.mean(data[column] == "*"))))
    assert shares
    assert all(abs(told - found) < 1e-9 for told, found in shares)


def test_beside_a_generalized_table_no_releases_are_planned(tmp_path):
    document, _ = opened(visits())
    document = replace(document, generalization=Generalization("diagnosis", ("sex",)))
    with pytest.raises(PolicyError, match="publishes a generalized table"):
        planned(tmp_path, visits(), document)


def test_what_cannot_be_protected_in_a_tiny_table_is_left_out_by_name(tmp_path):
    frame = pd.DataFrame(
        {
            "sex": ["f", "m"] * 3,
            "religion": ["a", "b", "a", "a", "b", "a"],
            "income": [1200.0, 900.0, 20_000.0, 7_000.0, 650.0, 3_100.0],
        }
    )
    plan = planned(tmp_path, frame)
    told = {str(step.told): str(step.why) for step in plan.steps}
    why = told["Left out, since nothing that protects it can be made: income."]
    assert "too few records" in why
    assert plan.is_safe
    assert {one.column for one in plan.worth[0].columns} == {"religion"}
