"""Rules applied to what one pass tells of a long table decide what they do of the table itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.init import MemoryRoom, document_for
from sfumato.engine.core.columns import Binning, ColumnSpec, Kind, Role
from sfumato.engine.core.errors import DomainError, SfumatoError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing, sample_rows
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.randomness.record_ids import record_ids_by_key
from sfumato.engine.table.proposals import proposals
from sfumato.engine.table.table import encode_column
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import open_batches, read_table
from sfumato.formats.tables import parquet
from sfumato.project.document.model import Document
from sfumato.project.release import batched_table, bucket_counts, table_survey
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.table_survey import survey_of
from sfumato.project.rules.rules import apply_rules

ROWS = 400
OPTIONS = ReadOptions(format="parquet")
RULES = """
format = 1
record_key = "person"
other_columns = "insensitive"
columns.person = { role = "identifying" }
columns.illness = { role = "sensitive" }
columns.ward = { role = "sensitive", kind = "categorical", missing = "value" }
columns.grade = { role = "sensitive", kind = "numeric", bin_edges = [0, 10, 20, 50] }
columns.cost = { role = "sensitive", kind = "numeric" }
columns.stay = { role = "sensitive", kind = "numeric" }
columns.sex = { role = "sensitive" }
columns.smoker = { role = "sensitive" }
policy = [
    { attributes = ["illness"], mechanism = "finegrain", settings = { theta = 8.0 } },
    { attributes = ["ward"], mechanism = "uniform" },
    { attributes = ["grade"], mechanism = "uniform" },
    { attributes = ["cost", "stay"], mechanism = "gaussian" },
    { attributes = ["sex", "smoker"], mechanism = "joint", settings = { mode = "strict" } },
]
[hierarchies.zip]
file = "zip.csv"
"""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 70)
    monkeypatch.setattr(bucket_counts, "BUCKET_ROWS", 40)
    monkeypatch.setattr(bucket_counts, "BUCKET_NUMBERS", 40)
    monkeypatch.setattr(bucket_counts, "HELD_NUMBERS", 0)
    monkeypatch.setattr(batched_table, "SAMPLE", 90)


def frame_of(rows=ROWS):
    rng = np.random.default_rng(2)
    illness = rng.choice(["cold", "flu", "gout"], rows).astype(object)
    illness[380] = "rare"
    ward = rng.choice(["A", "B"], rows).astype(object)
    ward[390] = None
    return pd.DataFrame(
        {
            "person": [f"P{i:05}" for i in range(rows)],
            "zip": rng.choice(["10115", "20095"], rows),
            "illness": illness,
            "ward": ward,
            "grade": rng.integers(0, 50, rows),
            "cost": rng.lognormal(5, 1, rows),
            "stay": rng.geometric(0.2, rows).astype(float),
            "sex": rng.choice(["f", "m"], rows),
            "smoker": rng.choice([True, False], rows),
            "visits": rng.integers(0, 9, rows),
        }
    )


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "zip.csv").write_text("10115;east\n20095;north\n")
    frame_of().to_parquet(tmp_path / "ward.parquet", index=False)
    return tmp_path


def survey_in(folder):
    batches = open_batches(folder / "ward.parquet", OPTIONS, Silent())
    return survey_of(BatchedTable(batches, folder), Silent())


def whole_in(folder):
    return read_table(folder / "ward.parquet", OPTIONS, Silent())


def decided(rules, table, folder):
    noise = KeyedNoise(KeyRing(bytes(32)))
    return apply_rules(rules, table, Document(), folder, noise)


@pytest.mark.parametrize("counted", [1 << 16, 3], ids=["counted", "read by columns"])
def test_rules_make_the_same_document_of_a_long_table(folder, monkeypatch, counted):
    monkeypatch.setattr(table_survey, "_COUNTED", counted)
    survey, whole = survey_in(folder), whole_in(folder)
    document = decided(RULES, survey, folder)
    assert document == decided(RULES, MemorySurvey(whole), folder)
    assert "rare" in document.column("illness").domain.values
    assert None in document.column("ward").domain.values
    wanted = attributes_of(document, whole)
    for name, attribute in survey.attributes_of(document, Silent()).items():
        assert attribute.domain == wanted[name].domain
        if attribute.counts is not None:
            assert attribute.counts.tolist() == wanted[name].counts.tolist()


def test_what_is_proposed_rests_on_counts_of_all_rows(folder):
    survey, whole = survey_in(folder), whole_in(folder)
    assert survey.sample.rows == 90
    assert survey.proposals() == proposals(whole)
    assert [each.count for each in survey.profiles] == [ROWS] * len(whole.columns)


@pytest.mark.parametrize(
    "spec",
    [
        ColumnSpec("cost", Role.SENSITIVE, Kind.NUMERIC),
        ColumnSpec("grade", Role.SENSITIVE, Kind.NUMERIC, binning=Binning((0.0, 10.0, 50.0))),
        ColumnSpec("person", Role.SENSITIVE, Kind.CATEGORICAL),
    ],
    ids=["numbers", "bins", "many values"],
)
def test_no_column_that_is_looked_at_is_read_as_a_whole(folder, monkeypatch, spec):
    monkeypatch.setattr(table_survey, "_COUNTED", 3)
    monkeypatch.setattr(table_survey, "frame_of", None)
    survey, whole = survey_in(folder), encode_column(whole_in(folder), spec).attribute
    attribute = survey.encoded(spec, Silent()).attribute
    if whole.counts is not None:
        assert attribute.domain == whole.domain
        assert attribute.counts.tolist() == whole.counts.tolist()
        return
    assert len(attribute.numbers) == 90
    assert attribute.present == whole.present == ROWS
    spreads = [float(each.numbers.std()) for each in (attribute, whole)]
    assert attribute.reach * spreads[0] == pytest.approx(whole.reach * spreads[1])


def test_an_infinite_number_outside_the_sample_is_refused_by_its_row(folder):
    frame = frame_of()
    place = next(i for i in range(ROWS) if i not in sample_rows(ROWS, 90))
    frame.loc[place, "cost"] = np.inf
    frame.to_parquet(folder / "ward.parquet", index=False)
    with pytest.raises(DomainError, match=rf"infinite .*first in row {place + 1}\."):
        survey_in(folder).encoded(ColumnSpec("cost", Role.SENSITIVE, Kind.NUMERIC), Silent())


def document_in_parts(folder, rules=RULES, **more):
    told = []
    made = document_for(
        folder / "ward.parquet", rules, None, Silent(), folder, told.append,
        room=MemoryRoom(folder, 0.0), **more,
    )  # fmt: skip
    return made.document, made.proposed, " ".join(note.text for note in told)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_project_is_made_of_a_long_table_as_of_the_table_in_memory(folder):
    document, proposed, told = document_in_parts(folder, None)
    whole = document_for(folder / "ward.parquet", None, None, Silent())
    assert (document, proposed) == (whole.document, whole.proposed)
    assert "90 rows" in told
    assert document.source.rows == ROWS
    document, _, _ = document_in_parts(folder)
    assert document.record_key == "person"
    assert sorted(path.name for path in folder.iterdir()) == ["ward.parquet", "zip.csv"]


ILLNESSES = 'values = ["cold", "flu", "gout", "rare"]'
MISFITS = {
    "a value outside": ("illness", "Secret", ILLNESSES, "illness.*row 212"),
    "a value outside, uniform": ("ward", "Secret", 'values = ["A", "B"]', "ward.*row 212"),
    "none": ("sex", None, 'missing = "refused"', "sex.*row 212"),
    "a number outside": ("grade", 77, "", "grade.*row 212"),
    "an infinity": ("stay", float("inf"), "", "stay.*row 212"),
    "no key": ("person", None, "", "person.*row 212"),
    "a key twice": ("person", "P00007", "", "rows 8 and 212 share a key"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", MISFITS)
def test_a_row_that_does_not_fit_is_named(folder, case):
    name, value, stated, words = MISFITS[case]
    frame = frame_of()
    if name in ("person", "sex"):
        frame[name] = frame[name].astype(object)
    frame.loc[211, name] = value
    frame["ward"] = frame["ward"].fillna("B")
    frame.to_parquet(folder / "ward.parquet", index=False)
    rules = RULES.replace('mechanism = "gaussian"', 'mechanism = "gaussian", settings = SPREADS')
    rules = rules.replace("SPREADS", "{ spreads = { cost = 9.0, stay = 2.0 } }")
    if stated:
        rules = rules.replace(f"columns.{name} = {{", f"columns.{name} = {{ {stated},")
        rules = rules.replace(', missing = "value"', "")
    with pytest.raises(SfumatoError, match=words) as refused:
        document_in_parts(folder, rules)
    assert "Secret" not in str(refused.value)


def test_a_record_key_of_few_values_is_refused_as_in_memory_by_the_first_rows(folder, monkeypatch):
    survey, sexes = survey_in(folder), whole_in(folder).frame["sex"]
    with pytest.raises(TableError) as whole:
        record_ids_by_key(sexes, KeyRing(bytes(32)), Silent())
    monkeypatch.setattr(table_survey, "Buckets", None)
    with pytest.raises(TableError) as refused:
        survey.check_key("sex", Silent())
    assert str(refused.value) == str(whole.value)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_levels_of_what_is_released_by_groups_are_looked_at_in_parts(folder):
    grouped = 'attributes = ["ward"], mechanism = "reconstruction"'
    rules = RULES.replace('attributes = ["ward"], mechanism = "uniform"', grouped)
    frame_of().to_parquet(folder / "ward.parquet", index=False)
    document, _, told = document_in_parts(folder, rules)
    wanted, _ = whole_document(folder, rules)
    assert (document.columns, document.recipients) == (wanted.columns, wanted.recipients)
    assert "read in parts" in told


HOMES = """
format = 1
record_key = "person"
other_columns = "insensitive"
columns.person = { role = "identifying" }
columns.home = { role = "identifying" }
columns.illness = { role = "sensitive" }
columns.ward = { role = "sensitive" }
policy = [
    { attributes = ["illness"], mechanism = "uniform" },
    { attributes = ["ward"], mechanism = "uniform" },
]
"""


def write_homes(folder, most=3):
    """The same table with homes of up to some people, all of one ward."""
    frame = frame_of()
    home = np.arange(ROWS) * 7919 % ROWS // most
    frame["home"] = [f"H{one:03}" for one in home]
    frame["ward"] = np.where(home % 3 == 0, "A", "B")
    frame.to_parquet(folder / "ward.parquet", index=False)


def whole_document(folder, rules, **more):
    told = []
    made = document_for(folder / "ward.parquet", rules, None, Silent(), folder, told.append, **more)
    return made.document, " ".join(note.text for note in told)


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [None, 2, 9], ids=["all rows", "two rows", "more than any has"])
def test_rows_belong_to_units_in_parts_as_in_memory(folder, rows):
    write_homes(folder)
    for rules in (None, HOMES):
        wanted, said_whole = whole_document(folder, rules, units=["home"], unit_rows=rows)
        document, _, told = document_in_parts(folder, rules, units=["home"], unit_rows=rows)
        assert document == wanted
        assert "read in parts" in told
        assert ("larger than" in told) == ("larger than" in said_whole)
    assert document.unit.constant == ("ward",)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_rules_that_state_units_count_them_in_parts(folder):
    write_homes(folder)
    rules = f'{HOMES}[unit]\ncolumns = ["home"]\nmost_rows = 2\nconstant = ["ward"]\n'
    document, _, told = document_in_parts(folder, rules)
    assert document == whole_document(folder, rules)[0]
    assert "read in parts" in told
    counts = survey_in(folder).attributes_of(document, Silent())["ward"].counts
    whole = attributes_of(document, whole_in(folder))["ward"].counts
    assert counts.tolist() == whole.tolist()
    assert counts.sum() < ROWS


def test_units_that_differ_in_what_they_share_are_refused_in_parts(folder):
    write_homes(folder)
    rules = f'{HOMES}[unit]\ncolumns = ["home"]\nmost_rows = 2\nconstant = ["illness"]\n'
    with pytest.raises(SfumatoError) as refused:
        whole_document(folder, rules)
    with pytest.raises(SfumatoError) as in_parts:
        document_in_parts(folder, rules)
    assert str(in_parts.value) == str(refused.value)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_weights_are_looked_at_in_all_rows(folder):
    rules = RULES.replace("columns.person", 'columns.visits = { role = "weight" }\ncolumns.person')
    frame = frame_of()
    frame["visits"] += 1
    frame.to_parquet(folder / "ward.parquet", index=False)
    _, _, told = document_in_parts(folder, rules)
    assert "read in parts" in told
    frame.loc[311, "visits"] = 0
    frame.to_parquet(folder / "ward.parquet", index=False)
    with pytest.raises(TableError, match=r"weight in column visits .*first in row 312"):
        document_in_parts(folder, rules)
