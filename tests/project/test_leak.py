"""Files that were found somewhere, traced to the releases that they come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.tracing import FALSE_ALARM
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.errors import NotTraceable
from sfumato.project.verification.leak import LeakReport, read_leak, trace_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.test_long_leak import VIEWS, released, told, two_recipients
from tests.project.test_long_release import frame_of, long_of, whole_of
from tests.project.verifying import (
    SECRETS,
    a_document,
    a_table,
    levels,
    new_project,
    release,
)
from tests.project.whole_table import released_columns
from tests.row_order import order_of


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def rows_of(path, count, seed, columns=None):
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str})
    chosen = frame.iloc[np.random.default_rng(seed).permutation(len(frame))[:count]]
    return chosen if columns is None else chosen[columns]


def true_rows(project, path):
    """The table's rows in the order of a bundle."""
    return a_table().frame.iloc[order_of(project, path, a_table())].reset_index(drop=True)


def trace(project, frame) -> LeakReport:
    report = trace_file(
        project, in_batches(a_table()), Table(frame.reset_index(drop=True)), Silent()
    )
    assert not any(secret in report.verdict for secret in SECRETS)
    return report


def sources(report):
    return [report.name_of(suspect) for suspect in report.traced.sources]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_shuffled_part_is_traced_to_its_recipient(project, tmp_path):
    for seed, recipient in enumerate(("Clinic A", "Institute B", "Public C")):
        path = release(project, tmp_path / "out", recipient)
        report = trace(project, rows_of(path, 60, seed))
        named = "Clinic A, Clinic D" if recipient == "Clinic A" else recipient
        assert sources(report) == [named]
        assert named in report.verdict


def test_missing_and_added_columns_do_not_matter(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    part = rows_of(path, 200, 5, ["illness", "zip"]).assign(remark="?")
    report = trace(project, part)
    assert sources(report) == ["Institute B"]
    assert report.ignored == ("remark",)
    assert set(report.compared) == {"illness", "zip"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_mixture_of_two_files_is_traced_to_both(project, tmp_path):
    one = release(project, tmp_path / "out", "Institute B")
    other = release(project, tmp_path / "out", "Public C")
    report = trace(project, pd.concat([rows_of(one, 120, 1), rows_of(other, 60, 2)]))
    assert sorted(sources(report)) == ["Institute B", "Public C"]
    assert report.traced.mixed
    assert "mixture of 2 releases" in report.verdict


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_release_that_the_ledger_never_saw_is_traced_by_the_policy(project, tmp_path):
    path = release(project, tmp_path / "out", "Public C")
    report = trace(project, rows_of(path, 100, 3))
    assert sources(report) == ["Public C"]


def test_the_same_table_perturbed_with_another_key_is_put_down_to_nobody(project, tmp_path):
    with new_project(tmp_path, name="copy") as copy:
        path = release(copy, tmp_path / "copy", "Clinic A")
    report = trace(project, rows_of(path, 400, 3))
    assert sources(report) == []
    assert "come from no release of this project" in report.verdict


def test_the_table_itself_is_told_from_the_release_of_the_most_trusted(project, tmp_path):
    path = release(project, tmp_path / "out", "Clinic A")
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str})
    frame[["illness", "work"]] = true_rows(project, path)[["illness", "work"]]
    report = trace(project, frame.sample(300, random_state=1))
    assert sources(report) == []
    assert report.verdict == (
        "The 300 rows are the source table's own, as no recipient was given them."
    )


def test_rows_of_the_table_among_those_of_a_release_accuse_nobody_else(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str})
    true = frame.assign(**true_rows(project, path)[["illness", "work"]])
    report = trace(project, pd.concat([frame[:300], true[300:600]]))
    assert sources(report) == ["Institute B"]
    assert report.traced.altered > 0.3


def test_numbers_read_as_text_are_compared_all_the_same(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    part = rows_of(path, 100, 4)
    part["zip"] = part["zip"].astype(int)
    assert "zip" in trace(project, part).compared


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_found_csv_is_read_from_disk(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    found = tmp_path / "found.csv"
    rows_of(path, 150, 8).to_csv(found, index=False)
    leak = read_leak(found, Silent())
    assert sources(trace_file(project, in_batches(a_table()), leak, Silent())) == ["Institute B"]
    whole = read_leak(path, Silent())
    assert sources(trace_file(project, in_batches(a_table()), whole, Silent())) == ["Institute B"]


ROUNDED = {
    "to whole ones": lambda numbers: numbers.round(),
    "to hundreds": lambda numbers: numbers.round(-2),
    "to six digits": lambda numbers: numbers.map(lambda one: float(f"{one:.6g}")),
    "to a spreadsheet's 15 digits": lambda numbers: numbers.map(lambda one: float(f"{one:.15g}")),
    "to Stata's floats": lambda numbers: numbers.astype("float32").astype(str).astype(float),
}


def with_noisy_income(mechanism, settings, term, stated):
    """Return the document with noise on incomes, for two recipients."""
    document = a_document()
    columns = [
        ColumnSpec("income", Role.SENSITIVE, Kind.NUMERIC) if one.name == "income" else one
        for one in document.columns
    ]
    recipients = [
        Recipient(name, {**levels(0.3 - 0.1 * at), "income": {term: stated[at]}})
        for at, name in enumerate(("Clinic A", "Institute B"))
    ]
    return replace(
        document,
        columns=tuple(columns),
        policy=(*document.policy, PolicyEntry(("income",), mechanism, settings)),
        recipients=tuple(recipients),
    )


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("how", ROUNDED)
def test_numbers_that_were_rounded_name_their_recipient_and_nobody_else(tmp_path, how):
    noise = {"measured": "stated", "spreads": {"income": 1e3}, "covariance": [[1e6]]}
    document = with_noisy_income("gaussian", noise, "sigma_squared", (0.5, 1.5))
    with new_project(tmp_path, document) as project:
        part = rows_of(release(project, tmp_path / "out", "Institute B"), 200, 3)
        part["income"] = ROUNDED[how](part["income"])
        report = trace(project, part)
    assert sources(report) == ["Institute B"]
    assert report.traced.rule is None
    assert report.traced.altered < 0.2


@pytest.mark.slow
@pytest.mark.turns(1)
def test_noise_of_another_key_is_put_down_to_nobody(tmp_path):
    bounds = {"lowest": 0, "highest": 10_000, "step": 1_000, "bounds": "stated"}
    document = with_noisy_income("laplace", bounds, "epsilon", (4.0, 2.0))
    with new_project(tmp_path, document, name="copy") as copy:
        path = release(copy, tmp_path / "copy", "Institute B")
    with new_project(tmp_path, document) as project:
        own = release(project, tmp_path / "out", "Institute B")
        for seed in range(3):
            other = rows_of(path, 300, seed, ["age", "income"])
            assert sources(trace(project, other)) == []
            copied = rows_of(path, 300, seed, ["age", "illness", "income"])
            copied = copied.loc[copied.index.repeat(20)]
            assert sources(trace(project, copied)) == []
        part = rows_of(own, 300, 3, ["age", "zip", "income"])
        assert sources(trace(project, part)) == ["Institute B"]
        assert sources(trace(project, part.loc[part.index.repeat(20)])) == ["Institute B"]


def test_a_file_without_perturbed_columns_says_which_are_needed(project):
    with pytest.raises(NotTraceable, match="illness, work"):
        trace(project, pd.DataFrame({"zip": ["00001"], "city": ["X"]}))


def test_a_project_without_recipients_has_nothing_to_compare_with(tmp_path):
    with (
        new_project(tmp_path, a_document(recipients=())) as empty,
        pytest.raises(NotTraceable, match="no release"),
    ):
        trace(empty, pd.DataFrame({"illness": ["flu"]}))


def test_a_few_rows_of_one_column_name_nobody(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    report = trace(project, rows_of(path, 3, 6, ["illness"]))
    assert sources(report) == []
    assert "chance" in report.verdict


def in_table_order(project, path):
    """A released file's rows as recipients could bring them together."""
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str})
    return frame.set_axis(order_of(project, path, a_table())).sort_index()


def test_a_file_of_another_table_is_put_down_to_nobody_where_there_is_one_recipient(tmp_path):
    document = a_document()
    only = replace(document, recipients=document.recipients[:1])
    with new_project(tmp_path, only) as project:
        frame = a_table().frame
        other = frame.assign(illness=frame["illness"].to_numpy()[::-1], zip="00000")
        report = trace(project, other)
    assert sources(report) == []


@pytest.mark.slow
def test_cells_mixed_from_two_files_are_traced_to_both_and_to_how(project, tmp_path):
    one, other = (
        in_table_order(project, release(project, tmp_path / "out", recipient))
        for recipient in ("Institute B", "Public C")
    )
    mixed = one.copy()
    for name in ("illness", "work"):
        higher = one[name].fillna("") > other[name].fillna("")
        mixed[name] = one[name].where(higher, other[name])
    report = trace(project, mixed.sample(300, random_state=1))
    assert sorted(sources(report)) == ["Institute B", "Public C"]
    assert report.traced.rule == "higher"
    assert "mixed from the releases to" in report.verdict
    assert "by taking the higher value each time" in report.verdict


ward, small_parts = test_long_release.ward, test_long_release.small_parts
OTHER_NAMES = {"age": "c1", "illness": "c2", "zip": "c3", "work": "c4", "income": "c5"}
CHANGES = {
    "all renamed": lambda frame: frame.rename(columns=OTHER_NAMES),
    "some renamed": lambda frame: frame.rename(columns={"zip": "c3", "illness": "c2"}),
    "reordered and sampled": lambda frame: frame.rename(columns=OTHER_NAMES)[
        ["c4", "c5", "c2", "c1", "c3"]
    ].sample(300, random_state=1),
    "three columns": lambda frame: frame.rename(columns=OTHER_NAMES)[["c3", "c2", "c5"]],
    "columns added": lambda frame: frame.rename(columns=OTHER_NAMES).assign(
        code=[f"x{row}" for row in range(len(frame))], one=1
    ),
}


def named(report):
    return [report.name_of(suspect) for suspect in report.traced.sources]


@pytest.mark.few(1)
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_with_other_names_is_traced_and_what_was_matched_is_told(project, tmp_path, change):
    path = release(project, tmp_path / "out", "Institute B")
    frame = CHANGES[change](pd.read_csv(path / "data.csv", dtype={"zip": str}))
    report = trace(project, frame)
    assert named(report) == ["Institute B"]
    names = {new: old for old, new in OTHER_NAMES.items()}
    assert report.matched
    assert report.matched.items() <= names.items()
    for name, of in report.matched.items():
        assert f"{name} is {of}" in report.matches
    assert "in at most 1 of 1,000 files of other origin" in report.matches
    assert set(report.matched) <= set(report.compared)
    assert not any(secret in report.matches for secret in SECRETS)


def test_names_that_are_known_are_not_matched_anew(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    report = trace(project, pd.read_csv(path / "data.csv", dtype={"zip": str}))
    assert (report.matched, report.matches) == ({}, "")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_two_columns_that_fit_alike_are_left_aside(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    frame = pd.read_csv(path / "data.csv", dtype={"zip": str}).rename(columns=OTHER_NAMES)
    twin = frame["c2"].sample(frac=1.0, random_state=3).array
    report = trace(project, frame.assign(twin=twin))
    assert "illness" not in report.matched.values()
    assert {"c2", "twin"} <= set(report.ignored)


def strangers():
    """Files of other origin, some of which show the same values."""
    at, draw = np.arange(400), np.random.default_rng(4)
    yield pd.DataFrame({"x": draw.normal(size=400), "y": draw.integers(0, 9, 400)})
    yield pd.DataFrame({"name": [f"n{i}" for i in at], "state": draw.choice(["on", "off"], 400)})
    shuffled = a_table().frame.drop(columns="person").rename(columns=OTHER_NAMES)
    yield shuffled.apply(lambda c: c.sample(frac=1.0, random_state=len(c.name)).array)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_file_of_other_origin_names_nobody(project):
    for frame in strangers():
        try:
            report = trace(project, frame)
        except NotTraceable:
            continue
        assert named(report) == []


@pytest.mark.slow
@pytest.mark.turns(3)
def test_renamed_files_made_with_other_keys_name_nobody_more_often_than_is_stated():
    """The nearest that a file of other origin can come: the same table, perturbed by others."""
    trials, alarms, document = 60, 0, a_document()
    for trial in range(trials):
        keys, theirs = (KeyRing(number.to_bytes(32, "big")) for number in (trial, 1_000 + trial))
        recipient = document.recipients[trial % 3]
        frame = released_columns(document, a_table(), recipient, theirs, Silent())
        frame = frame.rename(columns=OTHER_NAMES)[list(OTHER_NAMES.values())]
        project = SimpleNamespace(
            document=document, keys=keys, path=Path("ward.sfumato"), releases=()
        )
        report = trace(project, frame.sample(150, random_state=trial))
        assert "c2" in report.matched
        alarms += bool(named(report))
    # Three standard errors above what is stated.
    assert alarms <= trials * FALSE_ALARM + 3 * np.sqrt(trials * FALSE_ALARM)


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("views", VIEWS)
def test_renamed_columns_are_matched_in_parts_as_in_the_whole_table(ward, tmp_path, views):
    with ward(frame_of(), two_recipients(*VIEWS[views])) as project:
        frame = released(project, tmp_path / "out")
        names = {name: f"c{place}" for place, name in enumerate(frame.columns)}
        leak = Table(frame.rename(columns=names).iloc[::-1].reset_index(drop=True))
        whole = trace_file(project, in_batches(whole_of(project)), leak, Silent())
        parts = trace_file(project, long_of(project), leak, Silent())
        assert whole.matched
        assert whole.matched == parts.matched
        assert told(whole) == told(parts)
        assert whole.traced.sources
