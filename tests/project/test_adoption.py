"""Earlier releases from other tools: examined, adopted, and further levels fitted to them."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.errors import LevelError
from sfumato.engine.mechanisms.uniform.adoption import check_ladder, check_uniform
from sfumato.project.adoption.adopt import without_file
from sfumato.project.adoption.examination import adopt
from sfumato.project.document.entry_plan import ladder_of
from sfumato.project.document.model import (
    PolicyEntry,
    Recipient,
    document_from_json,
    document_to_json,
)
from sfumato.project.errors import AdoptionError
from sfumato.project.release.release_columns import attributes_of
from tests.project import adopting as made
from tests.project.adopting import codes, entry, files, released
from tests.project.making import new_project

TABLE = made.ward()
TRUE = TABLE.frame["illness"].cat.codes.to_numpy().astype(np.uint8)


def coalition(document) -> str:
    return guarantee_of(document, attributes_of(document, TABLE)).coalition


def failed(checks) -> list[str]:
    return [check.title for check in checks if not check.holds]


# ----- two files that form a ladder


@pytest.mark.slow
def test_levels_are_fitted_to_a_ladder_so_that_no_coalition_learns_more(tmp_path):
    document = replace(
        made.settled(),
        recipients=tuple(
            Recipient(f"p {p}", {"illness": {"retention_probability": p}})
            for p in (0.9, 0.7, 0.45, 0.1)
        ),
    )
    told = [
        made.claim(path, level)
        for path, level in zip(
            made.ladder_files(tmp_path, TABLE, 0.7, 0.2), (0.7, 0.2), strict=True
        )
    ]
    document = made.adopted(document, TABLE, *told)
    with new_project(tmp_path, document) as project:
        shown = released(project, TABLE, tmp_path / "out", "p 0.9", "p 0.7", "p 0.45", "p 0.1")
    earlier = {p: codes(pd.read_csv(tmp_path / f"at-{p}.csv")["illness"]) for p in (0.7, 0.2)}
    assert (shown[0.7] == earlier[0.7]).all()
    rungs = {1.0: TRUE, **shown, **earlier}
    falling = sorted(rungs, reverse=True)
    for level in falling[1:]:
        assert failed(check_uniform(TRUE, rungs[level], 5, level)) == []
    for upper, lower in itertools.combinations(falling[1:], 2):
        assert failed(check_ladder(TRUE, rungs[upper], rungs[lower], 5)) == []
        assert failed(check_uniform(rungs[upper], rungs[lower], 5, lower / upper)) == []
    for one, two, three in itertools.combinations(falling, 3):
        assert failed(check_ladder(rungs[one], rungs[two], rungs[three], 5)) == []


def test_a_ladder_is_found_sound_and_does_no_damage(tmp_path):
    upper, lower = made.ladder_files(tmp_path, TABLE, 0.7, 0.2)
    document = made.adopted(made.settled(), TABLE, made.claim(upper, 0.7))
    examination = made.examined(document, TABLE, made.claim(lower, 0.2))
    assert made.fits(examination)
    assert examination.damage == ()
    document = adopt(document, "illness", examination)
    assert sorted((file.level, file.rung) for file in files(document)) == [(0.2, True), (0.7, True)]


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_order_of_adoption_is_of_no_account(tmp_path, order):
    paths = made.ladder_files(tmp_path, TABLE, 0.7, 0.2)
    told = [made.claim(path, level) for path, level in zip(paths, (0.7, 0.2), strict=True)]
    document = made.adopted(made.settled(), TABLE, *(told[place] for place in order))
    with new_project(tmp_path, document) as project:
        shown = released(project, TABLE, tmp_path / "out", "Clinic A")
        ladder = project.releases[0].plans[0].ladder
    expected = made.adopted(made.settled(), TABLE, *told)
    assert ladder == ladder_of(expected, entry(expected), attributes_of(expected, TABLE))
    assert failed(check_uniform(TRUE, shown[0.6], 5, 0.6)) == []


# ----- two files that do not


def test_independent_randomized_response_is_warned_of_with_the_damage(tmp_path):
    upper, lower = made.independent_files(tmp_path, TABLE, 0.6, 0.4)
    document = made.adopted(made.settled(), TABLE, made.claim(upper, 0.6, holder="Old Clinic"))
    examination = made.examined(document, TABLE, made.claim(lower, 0.4, holder="Registry"))
    assert not made.fits(examination)
    assert failed(examination.checks) == [], "each of them alone is sound"
    assert "Kept alike" in failed(examination.pairs[0].checks)
    assert "show one and the same value" in examination.damage[0]
    assert "on average; with a ladder" in examination.damage[1]
    document = adopt(document, "illness", examination)
    assert {file.holder: file.rung for file in files(document)} == {
        "Old Clinic": True,
        "Registry": False,
    }
    assert "not on the ladder (illness to Registry)" in coalition(document)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_nothing_is_fitted_to_a_release_that_is_not_on_the_ladder(tmp_path):
    upper, lower = made.independent_files(tmp_path, TABLE, 0.8, 0.4)
    document = made.adopted(made.settled(), TABLE, made.claim(upper, 0.8), made.claim(lower, 0.4))
    alone = made.adopted(made.settled(), TABLE, made.claim(upper, 0.8))
    with new_project(tmp_path, document) as project:
        both = released(project, TABLE, tmp_path / "out", "Clinic A")[0.6]
        project.save_document(alone)
        one = released(project, TABLE, tmp_path / "again", "Clinic A")[0.6]
    assert (both == one).all()


def test_the_most_trusted_file_is_the_rung_whichever_came_first(tmp_path):
    upper, lower = made.independent_files(tmp_path, TABLE, 0.6, 0.4)
    document = made.adopted(made.settled(), TABLE, made.claim(lower, 0.4), made.claim(upper, 0.6))
    assert {file.level: file.rung for file in files(document)} == {0.6: True, 0.4: False}
    rung = next(file for file in files(document) if file.rung)
    left = without_file(document, "illness", rung.digest)
    assert [(file.level, file.rung) for file in files(left)] == [(0.4, True)]
    none = without_file(left, "illness", files(left)[0].digest)
    assert entry(none).settings == {}


def test_a_file_that_is_not_uniform_stands_beside_the_ladder(tmp_path):
    column = TABLE.frame["illness"].astype(str)
    swapped = column.where(np.arange(made.ROWS) % 2 == 0, "flu")
    path = made.write_release(tmp_path / "odd.csv", TABLE, swapped)
    examination = made.examined(made.settled(), TABLE, made.claim(path))
    assert failed(examination.checks) == ["Even replacement"]
    document = adopt(made.settled(), "illness", examination)
    assert not files(document)[0].rung
    assert "illness to odd.csv" in coalition(document)


# ----- levels


def test_a_level_is_estimated_and_rounded_within_its_interval(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.4)
    examination = made.examined(made.settled(), TABLE, made.claim(path))
    assert examination.file.estimated
    assert examination.file.level == 0.4
    assert examination.found.low < 0.4 < examination.found.high
    assert "with 95 % confidence" in examination.found.finding


def test_a_wrong_level_is_told(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.4)
    examination = made.examined(made.settled(), TABLE, made.claim(path, 0.6))
    assert "Level" in failed(examination.checks)
    assert not made.fits(examination)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.2, 1.5, float("nan")])
def test_a_level_outside_0_and_1_is_refused(tmp_path, level):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.4)
    with pytest.raises(LevelError, match="not between 0 and 1"):
        made.examined(made.settled(), TABLE, made.claim(path, level))


def test_two_different_files_of_one_level_contradict_each_other(tmp_path):
    one, two = made.independent_files(tmp_path, TABLE, 0.4, 0.41)
    document = made.adopted(made.settled(), TABLE, made.claim(one, 0.4))
    examination = made.examined(document, TABLE, made.claim(two, 0.4))
    assert failed(examination.pairs[0].checks) == ["One level, one release"]
    document = adopt(document, "illness", examination)
    assert sum(file.rung for file in files(document)) == 1
    both = [{**file.to_dict(), "rung": True} for file in files(document)]
    forced = replace(document, policy=(replace(entry(document), settings={"adopted": both}),))
    told = guarantee_of(forced, attributes_of(forced, TABLE)).next_steps
    assert any("Two different files" in step for step in told)


def test_a_copy_of_an_adopted_file_is_recognised(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.4)
    document = made.adopted(made.settled(), TABLE, made.claim(path, 0.4, holder="Old Clinic"))
    with pytest.raises(AdoptionError, match="adopted already, as the release to Old Clinic"):
        made.examined(document, TABLE, made.claim(path, 0.5))
    other = tmp_path / "copy.csv"
    pd.read_csv(path).to_csv(other, index=False, sep=";")
    with pytest.raises(AdoptionError, match="same values as the release to Old Clinic"):
        made.examined(document, TABLE, made.claim(other, 0.4))


# ----- files that don't match


def test_rows_in_another_order_are_matched_by_key(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.8)
    frame = pd.read_csv(path).sample(frac=1, random_state=3).rename(columns={"person": "id"})
    frame.to_csv(tmp_path / "shuffled.csv", index=False)
    told = made.claim(tmp_path / "shuffled.csv", match=made.by_key(file_column="id"))
    assert made.examined(made.settled(), TABLE, told).file.level == 0.8
    with pytest.raises(AdoptionError, match="no more than rows of other records"):
        made.examined(made.settled(), TABLE, made.claim(tmp_path / "shuffled.csv"))


def test_rows_that_belong_to_no_record_are_counted_and_left_aside(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.8)
    frame = pd.read_csv(path)
    more = pd.concat([pd.DataFrame({"person": ["X1", "X2"], "illness": "flu"}), frame])
    more.to_csv(tmp_path / "more.csv", index=False)
    told = made.claim(tmp_path / "more.csv", 0.8, match=made.by_key())
    examination = made.examined(made.settled(), TABLE, told)
    assert examination.spare == 2
    assert made.fits(examination)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_files_that_do_not_match_the_table_are_refused(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.8)
    frame = pd.read_csv(path)
    cases = {
        "rows": (frame.iloc[:-3], {}, "2,997 rows, and the table has 3,000"),
        "others": (
            frame.assign(person="X" + frame["person"]),
            {"match": made.by_key()},
            "no row for any of the table's 3,000 records",
        ),
        "twice": (
            pd.concat([frame, frame.iloc[:1]]),
            {"match": made.by_key()},
            "second time in 1 row, first in row 3,001",
        ),
        "empty": (
            frame.assign(person=frame["person"].where(frame.index != 6)),
            {"match": made.by_key()},
            "missing in 1 row, first in row 7",
        ),
        "column": (frame, {"columns": {"illness": "disease"}}, "has no column disease"),
        "values": (
            frame.replace({"illness": {"flu": "grippe"}}),
            {},
            "values that the domain does not have",
        ),
    }
    for name, (changed, how, message) in cases.items():
        place = tmp_path / f"{name}.csv"
        changed.to_csv(place, index=False)
        with pytest.raises(AdoptionError, match=message) as caught:
            made.examined(made.settled(), TABLE, made.claim(place, 0.8, **how))
        assert "grippe" not in str(caught.value)
        assert "P0" not in str(caught.value)


def test_values_with_other_names_are_mapped(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.8)
    names = {value: value[:2].upper() for value in made.ILLNESSES}
    pd.read_csv(path).replace({"illness": names}).to_csv(tmp_path / "short.csv", index=False)
    pairs = tuple((short, value) for value, short in names.items())
    told = made.claim(tmp_path / "short.csv", 0.8, values={"illness": pairs})
    document = made.adopted(made.settled(), TABLE, told)
    assert files(document)[0].rung
    assert document_from_json(document_to_json(document)) == document


def test_a_mechanism_that_adopts_nothing_says_so(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.8)
    document = replace(made.settled(), policy=(PolicyEntry(("illness",), "matrix"),))
    with pytest.raises(AdoptionError, match="can't fit levels"):
        made.examined(document, TABLE, made.claim(path, 0.8))


# ----- what is promised


def test_an_adopted_holder_is_counted_among_the_coalition(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.7)
    document = made.adopted(made.settled(), TABLE, made.claim(path, 0.7, holder="Old Clinic"))
    assert coalition(document) == "Any group of recipients learns no more than Old Clinic alone."
    lone = replace(document, recipients=document.recipients[:1])
    assert coalition(lone) == "Any group of recipients learns no more than Old Clinic alone."


def test_a_less_trusted_holder_changes_no_promise(tmp_path):
    (path,) = made.ladder_files(tmp_path, TABLE, 0.2)
    document = made.adopted(made.settled(), TABLE, made.claim(path, 0.2))
    assert coalition(document) == "Any group of recipients learns no more than Clinic A alone."
