"""``sfumato plan``: a plan that anybody may see, and the keys that it needs alone."""

from __future__ import annotations

import base64
import os
import stat

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.row_order import order_words
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_plan, make_release
from sfumato.project.release.workers import KeySource, read_plan, releaser_from
from tests.cli.conftest import REASON
from tests.cluster.sent import STRICT
from tests.in_batches import in_batches
from tests.project.batched import as_batch, hospital, hospital_document
from tests.project.making import PASSPHRASE, table
from tests.project.verifying import new_project


def plan(line, *more):
    out, keys = line.folder / "plan.json", line.folder / "keys.bin"
    return line.run(
        *("plan", line.project, "--recipient", "Clinic A", "--out", out, "--keys", keys, *more)
    )


@pytest.fixture
def planned(made):
    assert plan(made, "--accept", REASON) == ExitCode.OK, made.remarks
    return made


def ordered(releaser, batch):
    """Return released rows, and what they are sorted by in the release's own order."""
    released, hashes = releaser.release_part(batch)
    key = releaser.keys.for_row_order(releaser.plan.release_id)
    return released, order_words(hashes[:, 0].copy(), key)


def test_a_plan_and_its_keys_make_the_release_that_the_project_makes(planned):
    assert planned.output.splitlines() == [
        str(planned.folder / "plan.json"),
        str(planned.folder / "keys.bin"),
    ]
    assert "treat it like the data" in planned.remarks
    sent = read_plan(planned.folder / "plan.json")
    releaser = releaser_from(sent.to_json(), KeySource.in_file(planned.folder / "keys.bin"))
    batch = pa.RecordBatch.from_pandas(table().frame, preserve_index=False)
    released, words = ordered(releaser, batch)
    assert planned.release() == ExitCode.OK, planned.remarks
    lines = (planned.bundles()[0] / "data.csv").read_text().splitlines()[1:]
    rows = released.take(np.lexsort((words[:, 1], words[:, 0]))).to_pylist()
    assert [",".join(row.values()) for row in rows] == [line.replace('"', "") for line in lines]


def test_a_plan_that_is_made_in_parts_is_that_of_the_whole_table(planned):
    files = [planned.folder / name for name in ("plan.json", "keys.bin")]
    whole = [file.read_bytes() for file in files]
    for file in files:
        file.unlink()
    assert plan(planned, "--memory", "0") == ExitCode.OK, planned.remarks
    assert "read in parts" in planned.remarks
    assert [file.read_bytes() for file in files] == whole


def test_only_the_owner_can_read_the_keys_and_the_secret_is_in_neither_file(planned):
    keys = planned.folder / "keys.bin"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    with ProjectFile.open(planned.project, PASSPHRASE, read_only=True) as project:
        secret = project.secret.reveal()
    content = keys.read_bytes() + (planned.folder / "plan.json").read_bytes()
    assert secret not in content
    assert secret.hex().encode() not in content
    assert b"P00" not in content


def test_the_ledger_counts_plan_and_keys_as_a_release(planned):
    with ProjectFile.open(planned.project, PASSPHRASE, read_only=True) as project:
        [record] = project.releases
    assert record.counts
    assert (record.recipient, record.format_name) == ("Clinic A", "plan and keys")
    assert list(record.files) == ["plan.json"]
    assert planned.run("ledger", planned.project) == ExitCode.OK
    assert "Clinic A" in planned.output


def test_what_is_grave_stops_a_plan_as_it_stops_a_release(made):
    rules = made.folder / "rules.toml"
    rules.write_text(rules.read_text().replace("probability = 0.6", "probability = 1.0"))
    assert made.run("rules", made.project, "--apply", rules) == ExitCode.OK
    assert plan(made) == ExitCode.EXPECTED_ERROR
    assert "Not ready to release" in made.remarks
    assert not (made.folder / "keys.bin").exists()
    assert plan(made, "--accept", REASON) == ExitCode.OK
    with ProjectFile.open(made.project, PASSPHRASE, read_only=True) as project:
        assert project.releases[0].details["accepted"][0]["reason"] == REASON


def test_nothing_is_overwritten(planned):
    before = (planned.folder / "keys.bin").read_bytes()
    (planned.folder / "plan.json").unlink()
    assert plan(planned) == ExitCode.EXPECTED_ERROR
    assert "exists already" in planned.remarks
    assert (planned.folder / "keys.bin").read_bytes() == before
    assert not (planned.folder / "plan.json").exists()


def test_a_plan_that_can_not_be_written_takes_its_keys_back(made):
    out = made.folder / "missing" / "plan.json"
    arguments = ("--out", out, "--keys", made.folder / "keys.bin", "--accept", REASON)
    code = made.run("plan", made.project, "--recipient", "Clinic A", *arguments)
    assert code == ExitCode.EXPECTED_ERROR
    assert "no folder" in made.remarks
    assert not (made.folder / "keys.bin").exists()
    with ProjectFile.open(made.project, PASSPHRASE, read_only=True) as project:
        assert not any(record.counts for record in project.releases)


def test_records_without_a_key_of_their_own_are_not_sent(made):
    rules = made.folder / "rules.toml"
    rules.write_text(rules.read_text().replace('record_key = "person"\n', ""))
    assert made.run("rules", made.project, "--apply", rules) == ExitCode.OK
    assert plan(made, "--accept", REASON) == ExitCode.EXPECTED_ERROR
    assert "position" in made.remarks
    assert "record key" in made.remarks


@pytest.mark.slow
def test_a_plan_knows_the_rows_that_its_view_suppresses(tmp_path):
    document, table = hospital_document(view=STRICT), hospital()
    with new_project(tmp_path, document) as project:
        out, keys = tmp_path / "plan.json", tmp_path / "keys.bin"
        record = make_plan(project, in_batches(table), "Clinic A", out, keys, Silent())
        assert record.details["view"]["suppressed"] > 0
        bundle = make_release(
            project, in_batches(table), "Clinic A", tmp_path / "out", "csv", Silent()
        ).path
    sent = read_plan(out)
    releaser = releaser_from(sent.to_json(), KeySource.in_file(keys))
    released, words = ordered(releaser, as_batch(table))
    rows = released.take(np.lexsort((words[:, 1], words[:, 0])))
    shown = pd.read_csv(bundle / "data.csv", keep_default_na=False)
    assert shown["zip"].tolist() == rows["zip"].to_pylist()
    assert "*" in shown["age"].tolist()


KEY_PLACES = ("variable", "function", "file")


@pytest.mark.few(1)
@pytest.mark.parametrize("place", KEY_PLACES)
def test_keys_are_found_in_each_sort_of_place_and_said_to_be_missing(planned, monkeypatch, place):
    content = (planned.folder / "keys.bin").read_bytes()
    sent = read_plan(planned.folder / "plan.json")
    monkeypatch.setenv("SFUMATO_TEST_PLACE", base64.b64encode(content).decode())
    source = {
        "variable": KeySource.in_variable("SFUMATO_TEST_PLACE"),
        "function": KeySource.from_function("tests.cli.test_plan:scope"),
        "file": KeySource.in_file(planned.folder / "keys.bin"),
    }[place]
    releaser = releaser_from(sent.to_json(), source)
    assert releaser.keys.fingerprint == sent.keys
    assert content.hex()[40:80] not in repr((releaser, source))
    (planned.folder / "empty.bin").write_bytes(b"")
    nowhere = {
        "variable": KeySource.in_variable("SFUMATO_TEST_NOTHING"),
        "function": KeySource.from_function("tests.cli.test_plan:no_such"),
        "file": KeySource.in_file(planned.folder / "empty.bin"),
    }[place]
    with pytest.raises(Exception, match="holds no keys"):
        nowhere.keys()


def scope():
    return os.environ["SFUMATO_TEST_PLACE"]
