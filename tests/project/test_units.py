"""A unit of protection: drawn once or bounded, released, verified, and checked from the files."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.coarsening.views import with_proposed_hierarchies
from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Pseudonym, Role
from sfumato.engine.core.errors import LadderError, PolicyError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import MeasuredUnit, Table, encode_attribute
from sfumato.project.document.entry_plan import EntryPlan, plan_release
from sfumato.project.document.model import (
    PolicyEntry,
    TableSource,
    Unit,
    ViewRule,
    document_from_json,
    document_to_json,
)
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.plan import Plan
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import material_of, plan_for
from sfumato.project.release.units import beyond_largest, by_unit, loss_by_unit, unit_of_columns
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.leak import read_leak, trace_file
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project.making import new_project
from tests.project.test_pooled_rows import LEVELS, a_document, attack
from tests.project.whole_table import release_whole, released_columns, rows_of
from tests.samples.make_households import ILLNESS, WATER, households

ROWS = 3
"""K in these tests: some households have more members."""


def protected(frame, most_rows=ROWS):
    document = a_document().with_unit(Unit(("household",), most_rows, ("water",)))
    return replace(document, source=TableSource("/data/survey.csv", "ab" * 32, len(frame)))


@pytest.fixture
def survey():
    return households(200)


@pytest.fixture
def released(survey, tmp_path):
    """A project and its three bundles, with what each household is joined back by the tests."""
    document = protected(survey)
    project = new_project(tmp_path, document)
    out = tmp_path / "out"
    paths = {
        name: make_release(project, in_batches(Table(survey)), name, out, "csv", Silent()).path
        for name in LEVELS
    }
    yield project, Table(survey), paths
    project.close()


def read(path):
    return pd.read_csv(path / "data.csv", keep_default_na=False)


def described(path):
    return json.loads((path / "datapackage.json").read_text())


def loss(column):
    """Return ε of a column from what the data package says, sharing no code with the mechanism."""
    told = column["sfumato"]["parameters"]
    p, m = told["retention_probability"], told["domain_size"]
    rows = [[(1 - p) / m + p * (i == j) for j in range(m)] for i in range(m)]
    return max(math.log(a / b) for row in rows for a, b in itertools.product(row, row))


def fields_of(path):
    (data, *_) = described(path)["resources"]
    return {field["name"]: field for field in data["schema"]["fields"]}


def by_household(document, table, recipient, keys):
    """Return the released rows; in these tests the region shows which household is whose."""
    return released_columns(document, table, document.recipient(recipient), keys, Silent())


def test_rows_of_a_household_show_one_value_and_no_more_than_k_of_them_leave(survey):
    # Every household is alone in its region here, so the file itself shows which rows are whose.
    frame = survey.assign(region=survey["household"].str.replace("h", "r"))
    table, document = Table(frame), protected(frame)
    for name in LEVELS:
        made = by_household(document, table, name, KeyRing(bytes(32)))
        shown = made.groupby("region", observed=True)["water"].nunique()
        assert (shown == 1).all()
        sizes = made["region"].value_counts()
        true = frame["region"].value_counts()
        assert sizes.max() == ROWS
        assert (sizes.sort_index() == true.clip(upper=ROWS).sort_index()).all()
        assert made.groupby("region", observed=True)["illness"].nunique().max() > 1


def test_the_loss_of_a_unit_recomputed_from_the_files_is_what_was_stated(released):
    _, _, paths = released
    for name, path in paths.items():
        fields = fields_of(path)
        stated = LEVELS[name]
        for column, values, draws in (("water", WATER, 1), ("illness", ILLNESS, ROWS)):
            m = len(values)
            allowed = math.log(1 + m * stated / (1 - stated))
            lost = draws * loss(fields[column])
            assert lost <= allowed + 1e-9
            assert lost == pytest.approx(allowed, rel=1e-6)
        told = described(path)["sfumato"]["unit"]
        assert told == {
            "most_rows": ROWS,
            "drawn_once": ["water"],
            "drawn_by_row": ["illness"],
        }


@pytest.mark.slow
def test_pooling_a_household_s_rows_restores_no_more_than_one_draw(survey):
    frame = survey.assign(region=survey["household"])
    table, document = Table(frame), protected(frame, 9)
    shares = frame.drop_duplicates("household")["water"].value_counts(normalize=True)
    for name, p in LEVELS.items():
        # The best guess from one draw, by enumeration.
        other = (1 - p) / len(WATER)
        promised = sum(
            max(share * (other + p * (value == seen)) for value, share in shares.items())
            for seen in WATER
        )
        found = []
        for number in range(6):
            made = by_household(document, table, name, KeyRing(bytes([number + 1]) * 32))
            exported = made.rename(columns={"region": "household"})
            # One row is all that a household's rows tell.
            single = exported.drop_duplicates("household")
            found.append(attack(single, frame, p))
        assert np.mean(found) == pytest.approx(promised, abs=0.04)


def test_bundles_verify_and_a_unit_with_two_values_does_not(released):
    project, table, paths = released
    for path in paths.values():
        report = verify_bundle(project, in_batches(table), path, Silent())
        assert report.holds, [(c.title, c.finding) for c in report.failed]
        assert any("show the same value" in check.finding for check in report.checks)


def test_a_coarser_view_keeps_its_k_among_the_rows_that_leave(survey, tmp_path):
    document = protected(survey)
    view = ViewRule(5, 0.1, {"region": 1, "sex": 0})
    public = replace(document.recipient("Public"), view=view)
    document, _ = with_proposed_hierarchies(replace(document, recipients=(public,)), Table(survey))
    project = new_project(tmp_path, document)
    made = make_release(
        project, in_batches(Table(survey)), "Public", tmp_path / "out", "csv", Silent()
    )
    rows = read(made.path)
    assert rows.groupby(["region", "sex"]).size().min() >= 5
    assert len(rows) == survey["household"].value_counts().clip(upper=ROWS).sum()
    report = verify_bundle(project, in_batches(Table(survey)), made.path, Silent())
    assert report.holds, [(c.title, c.finding) for c in report.failed]
    project.close()


def test_the_recipient_s_guide_tells_of_units(released):
    _, _, paths = released
    text = (paths["Public"] / "README.md").read_text()
    assert "Rows with the same “household” belong together" in text
    assert "drawn once for all rows" in text
    assert "1.73" in text  # the root of K
    assert "N, is that of independent rows as well: divide it by 3." in text
    assert "This is said of one row" in text
    assert "household" not in read(paths["Public"]).columns


def test_statistics_are_measured_in_one_row_of_a_unit_whatever_its_values(survey):
    unit, codes = Unit(("household",), ROWS), units_of(Table(survey), ("household",))
    places = survey.assign(rent=np.arange(len(survey), dtype=float))
    column = encode_attribute(Table(places), ColumnSpec("rent", Role.SENSITIVE, Kind.NUMERIC))
    found = by_unit(unit, codes, column).attribute.units
    assert found.unit == MeasuredUnit(("household",), 1)
    rows = found.attribute.numbers.astype(int)
    assert sorted(codes[rows]) == sorted(set(codes))
    other = replace(column, attribute=replace(column.attribute, numbers=column.values[::-1]))
    shown = by_unit(unit, codes, other).attribute.units.attribute.numbers
    assert np.array_equal(len(survey) - 1 - shown, rows)


@pytest.mark.parametrize("mechanism", ["laplace", "distribution", "finegrain"])
def test_a_unit_s_loss_is_that_of_its_rows_and_of_the_statistics_once(survey, mechanism):
    """By hand: K rows at ε each, and statistics of one of them at ε0."""
    numeric = mechanism == "laplace"
    spec = (
        ColumnSpec("rent", Role.SENSITIVE, Kind.NUMERIC)
        if numeric
        else (ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESS)))
    )
    document = protected(survey)
    (attribute,) = MemorySurvey(Table(survey)).attributes([spec], document.unit)
    made = mechanism_called(mechanism)
    settings = made.first_settings((attribute,), NOISE)
    row_cost = settings["bounds_epsilon" if numeric else "frequencies_epsilon"]
    assert made.byproduct_epsilon(settings) == pytest.approx(row_cost)
    entry = PolicyEntry((spec.name,), mechanism, dict(settings))
    columns = [spec if spec.name == one.name else one for one in document.columns]
    document = replace(document, columns=tuple(columns), policy=(entry,))
    level = {"laplace": 0.5, "distribution": 0.3, "finegrain": 0.8}[mechanism]
    plan = EntryPlan((spec.name,), mechanism, dict(settings), {}, level, "")
    of_row = level if numeric else np.log(made.matrix(level, (attribute,), settings).gamma)
    expected = ROWS * of_row + row_cost
    assert loss_by_unit(document, plan, (attribute,)) == pytest.approx(expected)


def test_the_guide_says_so_where_a_unit_leaves_as_a_pseudonym(survey, tmp_path):
    settled = protected(survey)
    household = replace(settled.column("household"), pseudonym=Pseudonym())
    project = new_project(tmp_path, settled.with_column(household))
    made = make_release(
        project, in_batches(Table(survey)), "Public", tmp_path / "out", "csv", Silent()
    )
    text = " ".join((made.path / "README.md").read_text().split())
    shown = read(made.path)["household"]
    assert shown.duplicated().any()
    assert "“household” leaves as a pseudonym" in text
    assert "rows can be linked by it" in text
    assert "are not released" not in text
    project.close()


@pytest.mark.slow
def test_the_error_of_an_estimate_stays_within_the_factor_that_is_told(survey):
    table, document = Table(survey), protected(survey, 9)
    p, m = LEVELS["Public"], len(WATER)
    estimates, rows = [], 0
    for number in range(120):
        keys = KeyRing(number.to_bytes(32, "big"))
        made = by_household(document, table, "Public", keys)
        rows = len(made)
        observed = (made["water"] == "well").mean()
        estimates.append((observed - (1 - p) / m) / p)
    truth = (survey["water"] == "well").mean()
    seen = truth * p + (1 - p) / m
    naive = math.sqrt(seen * (1 - seen) / rows) / p
    assert np.mean(estimates) == pytest.approx(truth, abs=4 * np.std(estimates) / math.sqrt(120))
    assert naive * 1.3 < np.std(estimates) < naive * math.sqrt(9)


def test_the_guarantee_speaks_of_all_rows_of_a_household(survey):
    document, table = protected(survey), Table(survey)
    found = guarantee_of(document, material_of(document, table).attributes)
    assert found.complete
    promises = {p.entry.key: p.promise for p in found.for_recipient("Public")}
    assert "All rows with the same household show the same released value" in (
        promises["water"].sentence
    )
    assert f"At most {ROWS} rows with the same household leave" in promises["illness"].sentence
    whole = {fact.symbol: fact.value for fact in promises["illness"].facts}["ε of a unit"]
    p, m = LEVELS["Public"], len(ILLNESS)
    assert whole == pytest.approx(math.log(1 + m * p / (1 - p)), rel=1e-6)


def test_units_are_counted_where_an_attribute_is_drawn_once(survey):
    attributes = material_of(protected(survey), Table(survey)).attributes
    assert attributes["water"].counts.sum() == survey["household"].nunique()
    assert attributes["illness"].counts.sum() == len(survey)


@pytest.mark.parametrize("mechanism", ["uniform", "gaussian", "laplace"])
def test_rows_share_a_level_so_that_together_they_tell_no_more(mechanism, survey):
    attributes = material_of(protected(survey), Table(survey)).attributes
    found = mechanism_called(mechanism)
    if mechanism == "uniform":
        level = found.shared(0.6, 4, (attributes["illness"],), {})
        gamma = found.matrix(level, (attributes["illness"],), {}).gamma
        assert gamma**4 <= found.matrix(0.6, (attributes["illness"],), {}).gamma
        assert found.shared(0.6, 1, (attributes["illness"],), {}) == 0.6
    else:
        assert found.shared(0.5, 4, (), {}) == {"gaussian": 2.0, "laplace": 0.125}[mechanism]


def test_the_plan_holds_the_unit_and_makes_the_same_rows(survey):
    document, table = protected(survey), Table(survey)
    material = material_of(document, table)
    entries = plan_release(document, material.attributes, document.recipient("Public"))
    plan = plan_for(material, entries, "Public")
    again = Plan.from_json(plan.to_json())
    assert again == plan
    assert plan.unit == document.unit
    keys = KeyRing(bytes(32))
    rows = rows_of(material, keys)
    first = release_whole(plan, keys, rows, "id")
    pd.testing.assert_frame_equal(first, release_whole(again, keys, rows, "id"))


def test_a_unit_survives_the_document_s_text_and_the_rules(survey):
    document, table = protected(survey), Table(survey)
    assert document_from_json(document_to_json(document)) == document
    assert apply_rules(
        rules_of(document), MemorySurvey(table), replace(document, unit=None)
    ).unit == (document.unit)


def test_a_broken_claim_is_refused_by_name(survey):
    row = survey.index[survey["household"].duplicated()][0]
    survey.loc[row, "water"] = "truck" if survey.loc[row, "water"] != "truck" else "well"
    with pytest.raises(PolicyError, match="water is stated to be the same") as refused:
        material_of(protected(survey), Table(survey))
    assert str(row + 1) in str(refused.value)
    assert "truck" not in str(refused.value)


def test_a_row_without_its_unit_is_refused_by_name(survey):
    survey.loc[4, "household"] = None
    with pytest.raises(TableError, match=r"household says which rows.* row 5"):
        material_of(protected(survey), Table(survey))


def test_a_unit_s_column_that_would_leave_is_refused(survey):
    document = protected(survey)
    shown = document.with_column(replace(document.column("household"), role=Role.QUASI_IDENTIFIER))
    with pytest.raises(PolicyError, match="household says which rows belong together"):
        material_of(shown, Table(survey))


def test_a_bound_that_no_unit_reaches_is_told(survey):
    largest = int(survey["household"].value_counts().max())
    assert beyond_largest(Unit(("household",), largest), largest) == ""
    assert "No household has more than" in beyond_largest(Unit(("household",), 50), largest)


def test_what_is_the_same_in_every_household_is_proposed_to_be_drawn_once(survey):
    rows = MemorySurvey(Table(survey))
    found = unit_of_columns(a_document(), rows, ["household"], None, Silent())
    largest = int(survey["household"].value_counts().max())
    assert found == (Unit(("household",), largest, ("water",)), largest)
    with pytest.raises(PolicyError, match="No two rows share person"):
        unit_of_columns(a_document(), rows, ["person"], None, Silent())


def test_another_bound_after_a_release_is_another_ladder(released):
    project, table, _ = released
    document = project.document
    project.save_document(document.with_unit(replace(document.unit, most_rows=2)))
    with pytest.raises(LadderError, match="illness was released"):
        make_release(
            project, in_batches(table), "Public", project.path.parent / "more", "csv", Silent()
        )


@pytest.mark.slow
@pytest.mark.parametrize("most_rows", [None, 2])
def test_a_release_is_verified_and_traced_by_the_unit_that_was_in_force(released, most_rows):
    project, table, paths = released
    document = project.document
    today = None if most_rows is None else replace(document.unit, most_rows=most_rows)
    project.save_document(document.with_unit(today))
    assert verify_bundle(project, in_batches(table), paths["Ministry"], Silent()).holds
    leak = read_leak(paths["Ministry"], Silent())
    assert (
        "from the release to Ministry"
        in trace_file(project, in_batches(table), leak, Silent()).verdict
    )


def test_combinations_of_columns_that_are_drawn_once_are_counted_once_for_a_unit():
    frame = pd.DataFrame({"illness": ["HIV", "HIV", "cold"], "job": ["cook", "cook", "nurse"]})
    unit, codes = Unit(("person",), 2, ("illness", "job")), np.array([0, 0, 1])
    columns = [encode_attribute(Table(frame), ColumnSpec(name)) for name in frame]
    once = [by_unit(unit, codes, column).attribute for column in columns]
    assert combined(once).counts.tolist() == [1, 0, 0, 1]
    mixed = [by_unit(replace(unit, constant=("job",)), codes, each).attribute for each in columns]
    assert combined(mixed).counts.sum() == 3
