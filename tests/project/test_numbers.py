"""Attributes that stay numbers, protected together: released, verified, traced, refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.disclosure.recipient_traceability import recipient_traceability
from sfumato.analysis.disclosure.record_path import record_path
from sfumato.analysis.guarantee import guarantee_of, in_table
from sfumato.engine.core.columns import Binning, ColumnSpec, Kind, MissingRule, Role
from sfumato.engine.core.errors import DomainError, LadderError, PolicyError, SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.reading import detect_options
from sfumato.project.adoption.examination import Claim, adopt, examine
from sfumato.project.adoption.rows import RowsToMatch
from sfumato.project.document.edits import with_spacing
from sfumato.project.document.entry_plan import plan_release
from sfumato.project.document.model import (
    Document,
    PolicyEntry,
    Recipient,
    document_from_json,
    document_to_json,
)
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.leak import read_leak, trace_file
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project.numbers import (
    KEY,
    LEVELS,
    TOGETHER,
    a_document,
    a_table,
    failed,
    new_project,
    release,
    verify,
)
from tests.project.whole_table import released_columns
from tests.row_order import in_table_order


@pytest.fixture
def table():
    return a_table()


@pytest.fixture
def project(tmp_path, table):
    made = new_project(tmp_path, a_document(table))
    yield made
    made.close()


def with_settings(table, **settings) -> Document:
    return a_document(table, settings)


@pytest.mark.few(2)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
def test_every_format_keeps_released_numbers_to_the_last_bit(tmp_path, project, table, format_name):
    path = release(project, table, tmp_path, "Clinic A", format_name)
    report = verify(project, table, path)
    assert failed(report) == {}
    made = released_columns(
        project.document,
        table,
        project.document.recipient("Clinic A"),
        project.keys,
        Silent(),
    )
    read = in_table_order(project, path, table)
    for name in TOGETHER:
        exact = made[name].to_numpy(np.float64, na_value=np.nan)
        assert np.array_equal(exact, read[name].to_numpy(np.float64), equal_nan=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
def test_rounded_and_bounded_numbers_come_back_too(tmp_path, table, format_name):
    settings = {"rounding": {"age": 1.0, "income": 0.1}, "lowest": {"age": 0.0}}
    with new_project(tmp_path, with_settings(table, **settings)) as project:
        path = release(project, table, tmp_path, "Public C", format_name)
        assert failed(verify(project, table, path)) == {}
        ages = read_bundle(path).table.frame["age"].dropna()
        assert (ages >= 0).all()
        assert (ages == ages.round()).all()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_several_releases_verify_beside_one_another(tmp_path, project, table):
    paths = [release(project, table, tmp_path, name) for name in LEVELS]
    for path in paths:
        report = verify(project, table, path)
        assert failed(report) == {}
        assert any(KEY in check.title and "beside" in check.title for check in report.checks)


def test_an_altered_number_is_found_and_its_row_named(tmp_path, project, table):
    path = release(project, table, tmp_path, "Clinic A")
    lines = (path / "data.csv").read_text().split("\n")
    cells = lines[8].rstrip("\r").split(",")
    cells[1] = "41.5"
    lines[8] = ",".join(cells) + "\r"
    (path / "data.csv").write_text("\n".join(lines), newline="")
    findings = failed(verify(project, table, path))
    assert "row 8" in findings[f"{KEY}: values"]


def test_a_release_that_the_ledger_lost_is_recognised_by_its_numbers(tmp_path, table):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with new_project(tmp_path / "a", a_document(table)) as project:
        path = release(project, table, tmp_path, "Institute B")
        package = path / "datapackage.json"
        content = json.loads(package.read_text())
        content["sfumato"]["release"] = "0" * 32
        package.write_text(json.dumps(content))
        report = verify(project, table, path)
    assert report.recipient == "Institute B"
    assert "Ledger" in failed(report)


def test_the_bundle_tells_what_an_estimate_needs_and_nothing_secret(tmp_path, project, table):
    path = release(project, table, tmp_path, "Clinic A")
    package = json.loads((path / "datapackage.json").read_text())
    fields = {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
    told = fields["age"]["sfumato"]
    assert told["attributes"] == ["age", "income"]
    assert told["parameters"]["sigma_squared"] == 0.25
    assert fields["income"]["type"] == "number"
    assert "age and income" in (path / "README.md").read_text()


def test_a_joint_entry_is_written_to_rules_and_read_again(table):
    document = with_settings(table, rounding={"age": 1.0})
    text = rules_of(document)
    again = apply_rules(text, MemorySurvey(table), Document())
    assert again.policy == document.policy
    assert again.recipients == document.recipients
    assert rules_of(replace(again, title=document.title)) == text


def test_rules_may_leave_the_covariance_to_the_table(table):
    text = """
format = 1
other_columns = "identifying"
[columns.age]
role = "sensitive"
kind = "numeric"
[columns.income]
role = "sensitive"
[[policy]]
attributes = ["age", "income"]
mechanism = "gaussian"
settings = { noise = "separate" }
[[recipients]]
name = "Clinic A"
[recipients.levels]
"age + income" = { normalized_error = 0.3 }
"""
    document = apply_rules(text, MemorySurvey(table), Document())
    settings = document.policy[0].settings
    assert settings["noise"] == "separate"
    assert len(settings["covariance"]) == 2
    assert settings["measured"] == "noisy"
    assert document.column("income").domain is None
    assert guarantee_of(document, attributes_of(document, table)).complete


def test_a_document_with_numbers_survives_being_saved(table):
    document = a_document(table)
    assert document_from_json(document_to_json(document)) == document


def test_missing_numbers_stay_missing_unless_they_are_refused(table):
    document = a_document(table)
    recipient = document.recipients[0]
    frame = released_columns(document, table, recipient, KeyRing(bytes(32)), Silent())
    assert (frame["income"].isna() == table.frame["income"].isna()).all()
    assert not frame["age"].isna().any()
    refusing = replace(document.column("income"), missing=MissingRule.REFUSED)
    with pytest.raises(DomainError, match="income is missing in 12 rows, first in row 6"):
        released_columns(
            document.with_column(refusing), table, recipient, KeyRing(bytes(32)), Silent()
        )


def test_an_attribute_can_t_leave_its_ladder_once_released(tmp_path, project, table):
    release(project, table, tmp_path, "Clinic A")
    document = project.document
    attributes = [encode_column(table, document.column(n)).attribute for n in TOGETHER]
    gaussian = mechanism_called("gaussian")
    apart = tuple(
        PolicyEntry((a.name,), "gaussian", gaussian.first_settings([a], NOISE)) for a in attributes
    )
    recipients = tuple(
        replace(r, statements={**r.statements, **{n: {"sigma_squared": 1.0} for n in TOGETHER}})
        for r in document.recipients
    )
    project.save_document(
        replace(document, policy=(*apart, document.policy[1]), recipients=recipients)
    )
    with pytest.raises(LadderError, match=r"moved from the policy entry age \+ income to age"):
        release(project, table, tmp_path, "Institute B")


def test_rounding_does_not_leave_the_ladder(tmp_path, project, table):
    release(project, table, tmp_path, "Clinic A")
    document = project.document
    entry = document.policy[0]
    rounded = replace(entry, settings={**entry.settings, "rounding": {"age": 1.0}})
    project.save_document(replace(document, policy=(rounded, *document.policy[1:])))
    path = release(project, table, tmp_path, "Institute B")
    assert failed(verify(project, table, path)) == {}


def test_the_guarantee_does_not_call_rounded_numbers_a_ladder(table):
    rounded = with_settings(table, rounding={"age": 5.0})
    told = guarantee_of(rounded, attributes_of(rounded, table)).coalition
    assert "Because numbers of age + income are rounded or bounded, a group can learn" in told
    alone = replace(rounded, recipients=rounded.recipients[:1])
    assert "rounded" not in guarantee_of(alone, attributes_of(alone, table)).coalition
    plain = a_document(table)
    assert "rounded" not in guarantee_of(plain, attributes_of(plain, table)).coalition


def test_the_guarantee_speaks_of_units_and_of_coalitions(table):
    document = a_document(table)
    guarantee = guarantee_of(document, attributes_of(document, table))
    assert guarantee.complete
    first = guarantee.promises[0]
    assert first.recipient == "Clinic A"
    assert "age" in first.promise.sentence
    assert "standard deviation" in first.promise.sentence
    assert "±" in in_table(first, attributes_of(document, table))
    assert "no more than Clinic A alone" in guarantee.coalition


def broken(column, values):
    return Table(a_table(missing=False).frame.assign(**{column: values}))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("age", ["secret"] * 600, "age does not hold numbers"),
        ("income", [np.inf, *range(599)], "income holds infinite numbers in 1 row"),
        ("income", [np.nan] * 600, "income holds no numbers"),
        ("age", [42] * 600, "age"),
    ],
)
def test_columns_that_noise_can_t_protect_are_named(column, values, message):
    table = broken(column, pd.Series(values))
    with pytest.raises((DomainError, PolicyError), match=message) as refused:
        a_document(table)
    assert refused.value.remedy
    assert "secret" not in str(refused.value)


def test_fewer_records_than_attributes_are_refused():
    with pytest.raises(SfumatoError, match="record") as refused:
        a_document(a_table(rows=1, missing=False))
    assert refused.value.remedy


@pytest.mark.parametrize("statement", [{"sigma_squared": 0.0}, {"sigma_squared": -1.0}])
def test_levels_without_noise_are_refused(table, statement):
    document = a_document(table)
    worse = replace(document.recipients[0], statements={KEY: statement})
    broken = replace(document, recipients=(worse,))
    steps = guarantee_of(broken, attributes_of(broken, table)).next_steps
    assert any("out of range" in step for step in steps)


def test_numbers_that_were_binned_since_need_another_mechanism(table):
    document = a_document(table)
    binned = ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC, binning=Binning((0, 40, 90)))
    changed = document.with_column(binned)
    steps = guarantee_of(changed, attributes_of(changed, table)).next_steps
    assert any("age" in step for step in steps)


KEYS = KeyRing(b"7" * 32)
TABLE = a_table()


def only_numbers() -> Document:
    document = a_document(TABLE)
    sex = replace(document.column("sex"), role=document.column("hours").role)
    return replace(document.with_column(sex), policy=document.policy[:1])


def five_alike() -> Document:
    stated = {KEY: {"sigma_squared": 1.0}}
    recipients = tuple(Recipient(f"Office {number}", stated) for number in range(5))
    return replace(only_numbers(), recipients=recipients)


def test_near_levels_have_more_noise_each_and_lie_on_one_ladder():
    spaced = with_spacing(five_alike(), 0.01)
    attributes = attributes_of(spaced, TABLE)
    plans = [plan_release(spaced, attributes, r)[0] for r in spaced.recipients]
    assert [plan.level for plan in plans] == pytest.approx(
        [1.0 / (1.0 - 0.01 * mark) for mark in range(5)], rel=1e-5
    )
    assert sorted({plan.level for plan in plans}) == [plan.level for plan in plans]
    assert len({plan.ladder for plan in plans}) == 1


def test_near_levels_make_a_few_leaked_rows_name_their_recipient():
    alike = recipient_traceability(rows_of(five_alike(), in_batches(TABLE), KEYS), Silent())
    assert "get the same values" in alike.sentence
    price = recipient_traceability(
        rows_of(with_spacing(five_alike(), 0.01), in_batches(TABLE), KEYS), Silent()
    )
    assert price.figures.most_rows <= 3
    assert price.lowered["Office 4"] == pytest.approx(0.04)


@pytest.mark.slow
def test_a_leaked_part_is_traced_to_the_last_digit_of_its_floats(tmp_path):
    with new_project(tmp_path, with_spacing(five_alike(), 0.01)) as project:
        path = release(project, TABLE, tmp_path / "out", "Office 3")
        whole = pd.read_csv(path / "data.csv", dtype=str)
        found = tmp_path / "found.csv"
        draw = np.random.default_rng(3)
        whole.iloc[draw.permutation(len(whole))[:40]].to_csv(found, index=False)
        report = trace_file(project, in_batches(TABLE), read_leak(found, Silent()), Silent())
        assert [report.name_of(suspect) for suspect in report.traced.sources] == ["Office 3"]
        assert report.traced.altered < 0.05
        foreign = pd.read_csv(found).assign(age=lambda frame: frame["age"] + 0.001)
        foreign.to_csv(found, index=False)
        other = trace_file(project, in_batches(TABLE), read_leak(found, Silent()), Silent())
        assert other.traced.altered > 0.5


@pytest.mark.slow
def test_a_record_s_number_drifts_with_every_level_and_stops_where_releases_do():
    document = a_document(TABLE)
    entry = document.policy[0]
    path = record_path(rows_of(document, in_batches(TABLE), KEYS), entry, "income", 7, Silent())
    true = float(TABLE.column("income").iloc[6])
    assert path.is_numeric
    assert path.stretches == ()
    assert path.numbers[0] == pytest.approx(true, abs=0.01 * TABLE.column("income").std())
    assert len(np.unique(path.numbers)) == len(path.numbers)
    found = {stop.recipient: stop for stop in path.stops}
    for recipient in document.recipients:
        frame = released_columns(document, TABLE, recipient, KEYS, Silent())
        stop = found[recipient.name]
        assert frame["income"].iloc[6] == stop.value
        assert stop.trust == pytest.approx(1.0 / (1.0 + LEVELS[recipient.name]))
        near = int(np.argmin(np.abs(path.trusts - stop.trust)))
        assert path.numbers[near] == pytest.approx(
            stop.value, abs=1.5 * TABLE.column("income").std()
        )


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_missing_number_stays_missing_all_the_way_down():
    document = a_document(TABLE)
    path = record_path(
        rows_of(document, in_batches(TABLE), KEYS), document.policy[0], "income", 6, Silent()
    )
    assert path.is_numeric
    assert np.isnan(path.numbers).all()
    assert all(pd.isna(stop.value) for stop in path.stops)


@pytest.mark.slow
def test_an_adopted_copy_that_moved_with_the_project_is_found(tmp_path):
    document = only_numbers()
    columns = tuple(encode_column(TABLE, document.column(name)) for name in ("age", "income"))
    factor = np.linalg.cholesky(document.policy[0].settings["covariance"])
    noise = 0.5**0.5 * factor @ np.random.default_rng(1).normal(size=(2, TABLE.rows))
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    frame = TABLE.frame[["age", "income"]] + noise.T
    frame.to_csv(old / "copy.csv", index=False)
    names = {"age": "age", "income": "income"}
    claim = Claim(old / "copy.csv", detect_options(old / "copy.csv"), names, 0.5, holder="Old")
    found = examine(document, KEY, claim, columns, RowsToMatch.of(TABLE), Silent())
    document = adopt(document, KEY, found)
    old.rename(new)
    entry = document.policy[0]
    with pytest.raises(SfumatoError, match=r"copy\.csv"):
        record_path(rows_of(document, in_batches(TABLE), KEYS), entry, "age", 3, Silent())
    path = record_path(
        rows_of(document, in_batches(TABLE), KEYS, (new,)), entry, "age", 3, Silent()
    )
    assert path.is_numeric
    price = recipient_traceability(
        rows_of(with_spacing(document, 0.01), in_batches(TABLE), KEYS, (new,)), Silent()
    )
    assert price.figures.most_rows <= 3
