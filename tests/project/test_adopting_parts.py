"""Earlier releases that have some of the records only, from the file to the promise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.coalitions.holdings import ReleaseBasis, holdings_of
from sfumato.analysis.coalitions.restored_files import weigh_held
from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.uniform.adoption import check_ladder, check_uniform
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.formats.options import RaggedRows
from sfumato.formats.reading import detect_options
from sfumato.project.adoption.examination import adopt
from sfumato.project.document.model import Recipient, document_from_json, document_to_json
from sfumato.project.errors import AdoptionError
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project import adopting as made
from tests.project.adopting import codes, files, released
from tests.project.making import new_project

TABLE = made.ward(6_000)
TRUE = TABLE.frame["illness"].cat.codes.to_numpy().astype(np.uint8)
HALF = np.random.default_rng(2).random(6_000) < 0.5
LEVELS = (0.9, 0.7, 0.45, 0.1)


def settled():
    return replace(
        made.settled(6_000),
        recipients=tuple(
            Recipient(f"p {p}", {"illness": {"retention_probability": p}}) for p in LEVELS
        ),
    )


def part_of(path, rows, name="part.csv"):
    """Write the rows of a release that a holder was given, in another order."""
    frame = pd.read_csv(path)[rows].sample(frac=1, random_state=1)
    frame.to_csv(path.with_name(name), index=False)
    return path.with_name(name)


def failed(checks) -> list[str]:
    return [check.title for check in checks if not check.holds]


@pytest.mark.slow
def test_a_file_of_a_part_of_the_records_becomes_a_rung_for_these(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.7)
    told = made.claim(part_of(whole, HALF), 0.7, match=made.by_key(), holder="Old Clinic")
    examination = made.examined(settled(), TABLE, told)
    assert made.fits(examination)
    assert examination.file.part == (HALF.sum(), 6_000)
    assert examination.spare == 0
    document = adopt(settled(), "illness", examination)
    assert document_from_json(document_to_json(document)) == document
    with new_project(tmp_path, document) as project:
        shown = released(project, TABLE, tmp_path / "out", *(f"p {p}" for p in LEVELS))
    earlier = codes(pd.read_csv(whole)["illness"])
    assert (shown[0.7][HALF] == earlier[HALF]).all()
    for rows in (HALF, ~HALF):
        rungs = {1.0: TRUE[rows], **{level: values[rows] for level, values in shown.items()}}
        for upper, lower in zip((1.0, *LEVELS), LEVELS, strict=False):
            assert failed(check_uniform(rungs[upper], rungs[lower], 5, lower / upper)) == []
            assert failed(check_ladder(TRUE[rows], rungs[upper], rungs[lower], 5)) == []
    assert (shown[0.7][~HALF] == earlier[~HALF]).mean() < 0.7


def test_what_a_holder_of_a_part_restores_is_told_from_the_records_it_has(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.7)
    average = {}
    for name, path in (("whole", whole), ("part", part_of(whole, HALF))):
        told = made.claim(path, 0.7, match=made.by_key(), holder="Old Clinic")
        document = adopt(settled(), "illness", made.examined(settled(), TABLE, told))
        rows = rows_of(document, in_batches(TABLE), KeyRing(bytes(32)))
        [entry] = document.policy
        asked = (document, entry, rows.attributes(Silent()), ())
        report = weigh_held(rows, holdings_of(*asked, ReleaseBasis.RELEASED), Silent())
        assert report.members == ("Old Clinic",)
        average[name] = report.risk.risk.average
    shares = np.bincount(TRUE, minlength=5) / len(TRUE)
    earlier = codes(pd.read_csv(whole)["illness"])
    beliefs = uniform_matrix(0.7, 5).posterior(shares)[earlier, TRUE]
    assert average["whole"] == pytest.approx(beliefs.mean())
    assert average["part"] == pytest.approx(np.where(HALF, beliefs, shares[TRUE]).mean())


@pytest.mark.slow
def test_a_release_beside_a_part_verifies(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.7)
    told = made.claim(part_of(whole, HALF), 0.7, match=made.by_key(), holder="Old Clinic")
    with new_project(tmp_path, made.adopted(settled(), TABLE, told)) as project:
        for name in ("p 0.9", "p 0.7", "p 0.1"):
            outcome = make_release(
                project, in_batches(TABLE), name, tmp_path / "out", "csv", Silent()
            )
            report = verify_bundle(project, in_batches(TABLE), outcome.path, Silent())
            assert [check.finding for check in report.failed] == []
            assert any("beside Old Clinic" in check.title for check in report.checks)


@pytest.mark.slow
def test_two_holders_may_have_different_records_at_one_level(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.7)
    first = made.claim(part_of(whole, HALF, "one.csv"), 0.7, match=made.by_key())
    second = made.claim(part_of(whole, ~HALF, "two.csv"), 0.7, match=made.by_key())
    document = made.adopted(settled(), TABLE, first, second)
    assert [file.rung for file in files(document)] == [True, True]
    with new_project(tmp_path, document) as project:
        shown = released(project, TABLE, tmp_path / "out", "p 0.7", "p 0.45")
    assert (shown[0.7] == codes(pd.read_csv(whole)["illness"])).all()
    assert failed(check_uniform(shown[0.7], shown[0.45], 5, 0.45 / 0.7)) == []


@pytest.mark.slow
@pytest.mark.turns(1)
def test_two_parts_are_compared_in_the_records_that_both_have(tmp_path):
    upper, lower = made.ladder_files(tmp_path, TABLE, 0.7, 0.3)
    alone, _ = made.independent_files(tmp_path, TABLE, 0.3, 0.2)
    most = np.random.default_rng(3).random(6_000) < 0.8
    document = made.adopted(
        settled(), TABLE, made.claim(part_of(upper, HALF), 0.7, match=made.by_key())
    )
    for path, fits in ((lower, True), (alone, False)):
        told = made.claim(part_of(path, most, f"most-{fits}.csv"), 0.3, match=made.by_key())
        examination = made.examined(document, TABLE, told)
        assert made.fits(examination) == fits
        assert bool(examination.damage) != fits


def test_two_files_of_one_level_that_show_different_values_form_no_ladder(tmp_path):
    one, other = made.independent_files(tmp_path, TABLE, 0.5, 0.5001)
    document = made.adopted(
        settled(), TABLE, made.claim(part_of(one, HALF), 0.5, match=made.by_key())
    )
    examination = made.examined(document, TABLE, made.claim(other, 0.5))
    assert failed(examination.pairs[0].checks) == ["One level, one release"]


def test_the_promise_says_for_which_records_somebody_counts(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.95)
    told = made.claim(part_of(whole, HALF), 0.95, match=made.by_key(), holder="Old Clinic")
    document = made.adopted(settled(), TABLE, told)
    words = guarantee_of(document, attributes_of(document, TABLE)).coalition
    assert words.startswith("Any group of recipients learns no more than Old Clinic alone.")
    assert f"to Old Clinic has {HALF.sum():,} of 6,000 records" in words
    assert "takes Old Clinic's place" in words


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_record_that_comes_later_is_no_reason_to_refuse_the_file(tmp_path):
    early = Table(TABLE.frame.iloc[:5_000])
    (path,) = made.ladder_files(tmp_path, early, 0.7)
    keyed = replace(settled(), record_key="person")
    document = made.adopted(keyed, early, made.claim(path, 0.7, match=made.by_key()))
    assert files(document)[0].part is None
    grown = replace(document, source=replace(document.source, rows=6_000))
    with new_project(tmp_path, grown) as project:
        shown = released(project, TABLE, tmp_path / "out", "p 0.7")
    assert (shown[0.7][:5_000] == codes(pd.read_csv(path)["illness"])).all()
    assert failed(check_uniform(TRUE[5_000:], shown[0.7][5_000:], 5, 0.7)) == []


def test_rows_that_can_not_be_read_may_belong_to_the_records_that_seem_absent(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.7)
    lines = whole.read_text().splitlines()
    lines[7] += ",too many,fields"
    whole.write_text("\n".join(lines))
    told = made.claim(whole, 0.7, match=made.by_key())
    options = replace(detect_options(whole), ragged_rows=RaggedRows.SKIP)
    with pytest.raises(AdoptionError, match=r"1 row of .* can't be read, and 1 record has no row"):
        made.examined(settled(), TABLE, replace(told, options=options))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_truncated_release_is_verified_beside_a_part_that_has_none_of_its_records(tmp_path):
    (whole,) = made.ladder_files(tmp_path, TABLE, 0.7)
    last = np.arange(6_000) >= 5_000
    told = made.claim(part_of(whole, last), 0.7, match=made.by_key(), holder="Old Clinic")
    sorted_as_before = replace(settled(), rows_as_in_table="Public C joins by row number")
    with new_project(tmp_path, made.adopted(sorted_as_before, TABLE, told)) as project:
        outcome = make_release(
            project, in_batches(TABLE), "p 0.9", tmp_path / "out", "csv", Silent()
        )
        data = outcome.path / "data.csv"
        data.write_text("".join(data.read_text().splitlines(keepends=True)[:2_001]))
        report = verify_bundle(project, in_batches(TABLE), outcome.path, Silent())
    assert report.failed
    assert not any("beside Old Clinic" in check.title for check in report.checks)
