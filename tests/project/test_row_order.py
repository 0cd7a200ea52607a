"""The order of a release's rows: its own, whatever the table's; or the table's, with a reason."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.randomness.row_order import release_order
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.reading import detect_options, read_table
from sfumato.project.document.model import (
    Document,
    PolicyEntry,
    document_from_json,
    document_to_json,
)
from sfumato.project.errors import AdoptionError, RulesError
from sfumato.project.ledger import order_to_tell
from sfumato.project.publication.publish import publish_table
from sfumato.project.release import bundle_making
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project import adopting, numbers, test_small_groups, verifying
from tests.project.making import crossed, new_project
from tests.project.test_generalizing import decided
from tests.project.verifying import a_document, a_table, edit, failed, release, verify
from tests.row_order import order_of

FALSE_ALARM = 1e-9
"""How often a statistical test here fails on a secret for which all is well."""
REASON = "The registry joins by row number."


ALONE = [name for name, each in all_mechanisms().items() if each.least_attributes == 1]
"""The mechanisms that protect a column by itself."""


def documents(mechanism: str) -> tuple[Document, Table]:
    """A document with a record key, and its table."""
    if mechanism in ("gaussian", "laplace"):
        table = numbers.a_table()
        document = numbers.a_document(table)
        person = [f"P{place:05d}" for place in range(table.rows)]
        table = replace(table, frame=table.frame.assign(person=person))
        columns = (*document.columns, ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT))
        document = replace(document, columns=columns, record_key="person")
        return with_laplace_noise(document) if mechanism == "laplace" else document, table
    if mechanism == "reconstruction":
        return test_small_groups.protected(record_key="person"), test_small_groups.table()
    document, method = a_document(record_key="person"), mechanism_called(mechanism)
    attributes = [attributes_of(document, a_table())["illness"]]
    settings = method.complete_settings(
        attributes, method.default_settings(attributes), KeyedNoise(KeyRing(bytes(32)))
    )
    policy = (PolicyEntry(("illness",), mechanism, settings), document.policy[1])
    statements = {"illness": method.default_statements(1)[0]}
    recipient = document.recipients[0]
    known = replace(recipient, statements={**recipient.statements, **statements})
    return replace(document, policy=policy, recipients=(known,)), a_table()


def with_laplace_noise(document: Document) -> Document:
    """The document with Laplace noise, between stated bounds, in the place of Gaussian noise."""
    first, *others = document.policy
    bounds = {"lowest": 0, "highest": 100_000, "step": 10, "bounds": "stated"}
    apart = tuple(PolicyEntry((name,), "laplace", bounds) for name in first.attributes)
    stated = {entry.key: {"epsilon": 2.0} for entry in apart}
    recipients = tuple(
        replace(each, statements={**each.statements, **stated}) for each in document.recipients
    )
    return replace(document, policy=(*apart, *others), recipients=recipients)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def in_two_orders(table, folder):
    """The table as files have it, as it is and with its rows shuffled, each with a place for it."""
    turned = np.random.default_rng(7).permutation(table.rows)
    for order, suffix in ((np.arange(table.rows), "csv"), (turned, "csv"), (turned, "parquet")):
        frame = table.frame.iloc[order].reset_index(drop=True)
        for name in frame.select_dtypes("category"):  # in the order in which they appear
            frame[name] = pd.Categorical(frame[name].astype(object), frame[name].dropna().unique())
        name = f"rows from {order[0]}.{suffix}"
        path = folder / name
        frame.to_csv(path, index=False) if suffix == "csv" else frame.to_parquet(path)
        yield read_table(path, detect_options(path), Silent()), folder / f"made from {name}"


@pytest.fixture
def project(tmp_path):
    with verifying.new_project(tmp_path) as made:
        yield made


@pytest.fixture
def as_in_table(tmp_path):
    with verifying.new_project(tmp_path, a_document(rows_as_in_table=REASON)) as made:
        yield made


# ----- a release has an order of its own


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("mechanism", "format_name"), crossed(ALONE, ("csv", "parquet", "sav", "dta"))
)
def test_the_rows_of_the_table_may_come_in_any_order(tmp_path, mechanism, format_name):
    document, table = documents(mechanism)
    name = document.recipients[0].name
    with verifying.new_project(tmp_path, document) as project:
        found = [
            contents(
                make_release(project, in_batches(given), name, folder, format_name, Silent()).path
            )
            for given, folder in in_two_orders(table, tmp_path)
        ]
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        assert [file for file in other if other[file] != found[0][file]] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
def test_the_rows_of_a_table_to_publish_may_come_in_any_order(tmp_path, format_name):
    with verifying.new_project(tmp_path, replace(decided(), record_key="person")) as project:
        found = [
            contents(publish_table(project, in_batches(given), folder, format_name, Silent()).path)
            for given, folder in in_two_orders(a_table(), tmp_path)
        ]
    for other in found[1:]:
        assert other.keys() == found[0].keys()
        assert [file for file in other if other[file] != found[0][file]] == []


def test_a_dropped_identifier_does_not_come_back_by_position(project, tmp_path):
    open_income = {}
    for name in ("Clinic A", "Institute B"):
        path = release(project, tmp_path / "out", name)
        open_income[name] = read_bundle(path, Silent()).table.frame
    one, other = open_income.values()
    true = a_table().frame
    for frame in (one, other):
        alike = int((frame["zip"].astype(str) == true["zip"]).sum())
        assert alike <= stats.binom(900, 1 / 90).isf(FALSE_ALARM)
    assert int((one["zip"] == other["zip"]).sum()) <= stats.binom(900, 1 / 90).isf(FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("record_key", [None, "person"])
def test_the_released_order_is_independent_of_the_table_s(tmp_path, record_key):
    # Every record shows its own number, so that its row can be found without any key.
    frame = a_table().frame.assign(income=np.arange(900.0))
    given = replace(a_table(), frame=frame)
    with verifying.new_project(tmp_path, a_document(record_key=record_key)) as project:
        for name in ("Clinic A", "Clinic D"):
            path = release(project, tmp_path / "out", name, table=given)
            places = read_bundle(path, Silent()).table.frame["income"].to_numpy(np.int64)
            assert sorted(places.tolist()) == list(range(900))
            assert stats.spearmanr(places, np.arange(900)).pvalue > FALSE_ALARM
            counts = np.histogram2d(places, np.arange(900), bins=3)[0]
            assert stats.chi2_contingency(counts).pvalue > FALSE_ALARM
            stayed = int((places == np.arange(900)).sum())
            assert stayed <= stats.poisson(1).isf(FALSE_ALARM)
            assert places.tolist() == order_of(project, path, given).tolist()


def test_the_groups_of_a_resampled_release_are_not_in_one_piece(tmp_path):
    with verifying.new_project(tmp_path, test_small_groups.protected()) as project:
        table = test_small_groups.table()
        path = release(project, tmp_path / "out", table=table)
        zips = read_bundle(path, Silent()).table.frame["zip"].astype(str).to_numpy()
    alike = int((zips[1:] == zips[:-1]).sum())
    assert alike <= stats.binom(899, 1 / 12).isf(FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_release_has_the_same_order_in_every_format_and_edition_of_the_file(project, tmp_path):
    incomes = [
        read_bundle(release(project, tmp_path / name, format_name=name), Silent())
        .table.frame["income"]
        .to_numpy(np.float64)
        for name in ("csv", "parquet", "sav", "dta")
    ]
    for other in incomes[1:]:
        assert (other == incomes[0]).all()


def test_a_publication_leaves_in_an_order_of_its_own(tmp_path):
    with verifying.new_project(tmp_path, decided()) as project:
        path = publish_table(project, in_batches(a_table()), tmp_path / "out", "csv", Silent()).path
        frame = read_bundle(path, Silent()).table.frame
        assert verify_bundle(project, in_batches(a_table()), path, Silent()).holds
    true = a_table().frame["income"].to_numpy()
    assert len(frame) == len(true)
    assert int((frame["income"].to_numpy(np.float64) == true).sum()) < 45
    assert sorted(frame["income"]) == pytest.approx(sorted(true))


def test_a_publication_whose_rows_were_sorted_back_is_found_out(tmp_path):
    with verifying.new_project(tmp_path, decided()) as project:
        path = publish_table(project, in_batches(a_table()), tmp_path / "out", "csv", Silent()).path
        order = order_of(project, path, a_table())
        edit(path, lambda rows: [rows[place] for place in np.argsort(order)], vouch=True)
        found = failed(verify_bundle(project, in_batches(a_table()), path, Silent()))
    assert found["Table"] == "Its rows are those that were published, in another order."


# ----- verification


def test_a_release_from_before_orders_were_noted_verifies_in_the_table_s_order(
    tmp_path, monkeypatch
):
    with verifying.new_project(tmp_path, a_document(rows_as_in_table=REASON)) as project:
        details = bundle_making._details

        def without(*args):
            made = details(*args)
            del made["row_order"]
            return made

        monkeypatch.setattr(bundle_making, "_details", without)
        path = release(project, tmp_path / "out")
        [record] = project.releases
        assert "row_order" not in record.details
        assert record.rows_as_in_table
        project.save_document(a_document())
        assert failed(verify(project, path)) == {}


def test_a_record_key_that_was_changed_since_does_not_matter(tmp_path):
    with verifying.new_project(tmp_path, a_document(record_key="person")) as project:
        path = release(project, tmp_path / "out")
        project.save_document(a_document())
        assert failed(verify(project, path)) == {}


# ----- the table's order, with a reason


def test_the_table_s_order_is_kept_where_the_custodian_says_why(as_in_table, tmp_path):
    path = release(as_in_table, tmp_path / "out")
    frame = read_bundle(path, Silent()).table.frame
    assert frame["zip"].astype(str).tolist() == a_table().frame["zip"].tolist()
    [record] = as_in_table.releases
    assert record.details["row_order"] == {"order": "table", "reason": REASON}
    assert (record.rows_as_in_table, record.rows_reason) == (True, REASON)
    assert failed(verify(as_in_table, path)) == {}


def test_what_the_table_s_order_gives_away_is_told_to_everybody(as_in_table, tmp_path):
    path = release(as_in_table, tmp_path / "out")
    assert ROWS_AS_IN_TABLE in (path / "README.md").read_text(encoding="utf-8")
    package = json.loads((path / "datapackage.json").read_bytes())
    assert package["sfumato"]["row_order"] == "table"
    document = as_in_table.document
    guarantee = guarantee_of(document, attributes_of(document, a_table()))
    assert guarantee.cautions[0] == ROWS_AS_IN_TABLE


def test_a_random_order_is_told_of_as_such(project, tmp_path):
    path = release(project, tmp_path / "out")
    readme = " ".join((path / "README.md").read_text(encoding="utf-8").split())
    assert "The rows are in a random order of this release's own." in readme
    assert ROWS_AS_IN_TABLE not in readme
    assert json.loads((path / "datapackage.json").read_bytes())["sfumato"]["row_order"] == "keyed"
    [record] = project.releases
    assert record.details["row_order"] == order_to_tell("") == {"order": "keyed"}
    document = project.document
    assert (
        ROWS_AS_IN_TABLE not in guarantee_of(document, attributes_of(document, a_table())).cautions
    )


def test_a_readme_does_not_say_that_no_record_keeps_its_place(project, tmp_path):
    """Two random orders have one record at one place on average, so its row can be the same."""
    ids, keys = np.arange(300, dtype=np.uint64), KeyRing(bytes(32))
    orders = [release_order(ids, keys.for_row_order(f"{n:016x}"), Silent()) for n in range(40)]
    alike = [np.sum(one == other) for one, other in itertools.pairwise(orders)]
    assert 0.3 < np.mean(alike) < 2.0
    text = (release(project, tmp_path / "out") / "README.md").read_text(encoding="utf-8")
    assert "row at the same position in another release is anybody's" in text


def test_the_two_orders_are_two_releases(project, tmp_path):
    keyed = release(project, tmp_path / "out")
    project.save_document(a_document(rows_as_in_table=REASON))
    sorted_as_before = release(project, tmp_path / "out")
    first, second = project.releases
    assert first.release_id != second.release_id
    for path in (keyed, sorted_as_before):
        assert failed(verify(project, path)) == {}


def test_a_document_keeps_the_reason(project):
    document = a_document(rows_as_in_table=REASON)
    assert document_from_json(document_to_json(document)) == document
    plain = json.loads(document_to_json(a_document()))
    del plain["rows_as_in_table"]  # as projects had it before
    assert document_from_json(json.dumps(plain)) == a_document()


def test_rules_state_the_reason_and_never_an_empty_one():
    document = a_document(rows_as_in_table=REASON)
    text = rules_of(document)
    assert f'rows_as_in_table = "{REASON}"' in text
    assert apply_rules(text, MemorySurvey(a_table()), Document()).rows_as_in_table == REASON
    assert (
        apply_rules(rules_of(a_document()), MemorySurvey(a_table()), document).rows_as_in_table
        == ""
    )
    with pytest.raises(RulesError, match="the reason is empty"):
        apply_rules(text.replace(REASON, " "), MemorySurvey(a_table()), Document())


# ----- adopting


def test_a_bundle_in_an_order_of_its_own_is_not_adopted_row_by_row(tmp_path):
    table, document = adopting.ward(), adopting.settled()
    with new_project(tmp_path, document) as elsewhere:
        path = make_release(
            elsewhere, in_batches(table), "Clinic A", tmp_path / "out", "csv", Silent()
        ).path
    with pytest.raises(AdoptionError, match="random order of their own") as caught:
        adopting.examined(document, table, adopting.claim(path / "data.csv", 0.6))
    assert "key column" in caught.value.remedy


def test_a_bundle_in_the_table_s_order_is_adopted_row_by_row(tmp_path):
    table = adopting.ward()
    document = replace(adopting.settled(), rows_as_in_table=REASON)
    with new_project(tmp_path, document) as elsewhere:
        path = make_release(
            elsewhere, in_batches(table), "Clinic A", tmp_path / "out", "csv", Silent()
        ).path
    examination = adopting.examined(document, table, adopting.claim(path / "data.csv", 0.6))
    assert adopting.fits(examination)
