"""Rows that belong together: what is promised of them beside an attack on exported files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure.pooled_rows import found_unit, pooled_rows
from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.repeated_units import find_repeated_units, repeated_unit
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.release_columns import material_of
from tests.project.whole_table import released_columns
from tests.samples.make_households import ILLNESS, WATER, households

LEVELS = {"Institute": 0.6, "Ministry": 0.3, "Public": 0.15}


def a_document(household=Role.QUASI_IDENTIFIER):
    return Document(
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("household", household),
            ColumnSpec("region", Role.QUASI_IDENTIFIER),
            ColumnSpec("sex", Role.QUASI_IDENTIFIER),
            ColumnSpec("water", Role.SENSITIVE, domain=Domain(WATER)),
            ColumnSpec("rent", Role.IDENTIFYING, Kind.NUMERIC),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESS)),
        ),
        record_key="person",
        policy=(PolicyEntry(("water",), "uniform"), PolicyEntry(("illness",), "uniform")),
        recipients=tuple(
            Recipient(name, {key: {"retention_probability": level} for key in ("water", "illness")})
            for name, level in LEVELS.items()
        ),
    )


def weighed(document, table, units):
    attributes = material_of(document, table).attributes
    return pooled_rows(document, attributes, units, (), ReleaseBasis.PLANNED, Silent())


def attack(exported, truth, retention):
    """Guess each household's water from the exported rows alone; return the share of rows."""
    shares = truth.drop_duplicates("household")["water"].value_counts(normalize=True)
    same = (1 + (len(WATER) - 1) * retention) / len(WATER)
    other = (1 - retention) / len(WATER)
    seen = pd.crosstab(exported["household"], exported["water"]).reindex(columns=shares.index)
    guess = (seen.fillna(0) * np.log(same / other) + np.log(shares)).idxmax(axis=1)
    true = truth.groupby("household")["water"].first()
    return exported["household"].map(guess == true).mean()


@pytest.mark.slow
def test_pooled_rows_of_exported_files_restore_what_is_told(tmp_path):
    frame = households(300)
    table, document = Table(frame), a_document()
    found = weighed(document, table, [repeated_unit(table, "household", Silent())])
    assert {one.attribute for one in found} == {"water"}
    assert [one.recipient for one in found] == list(LEVELS)
    for one in found:
        shares = []
        for number in range(4):
            keys = KeyRing(bytes([number]) * 32)
            recipient = document.recipient(one.recipient)
            made = released_columns(document, table, recipient, keys, Silent())
            made.to_csv(tmp_path / "file.csv", index=False)
            exported = pd.read_csv(tmp_path / "file.csv")
            shares.append(attack(exported, frame, LEVELS[one.recipient]))
        attacked = sum(shares) / len(shares)
        assert one.restored.error == 0.0
        assert attacked == pytest.approx(one.restored.rows, abs=0.03)
        assert one.restored.rows > one.restored.one_row + 0.05


def test_the_guarantee_tells_the_custodian_what_pooling_restores():
    frame = households(200)
    table, document = Table(frame), a_document()
    found = weighed(document, table, find_repeated_units(table, Silent()))
    attributes = material_of(document, table).attributes
    (caution,) = guarantee_of(document, attributes, (), found).in_house
    shown = [one for one in found if one.column == "household"]
    worst = max(shown, key=lambda one: one.restored.rows - one.restored.one_row)
    assert f"{100 * worst.restored.rows:.1f} % of the rows" in caution
    assert "The file itself shows household." in caution
    hidden = a_document(Role.IDENTIFYING)
    (other,) = guarantee_of(
        hidden,
        attributes,
        (),
        weighed(hidden, table, [repeated_unit(table, "household", Silent())]),
    ).in_house
    assert "Whoever knows which rows belong together" in other


def test_a_household_where_the_attribute_differs_is_left_out_and_told():
    frame = households(200)
    row = frame.index[frame["household"].duplicated()][0]
    frame.loc[row, "water"] = "truck" if frame.loc[row, "water"] != "truck" else "well"
    table = Table(frame)
    found = weighed(a_document(), table, find_repeated_units(table, Silent()))
    assert {one.varying for one in found} == {1}


def test_the_mean_of_a_household_s_numbers_is_as_much_closer_as_its_rows_say():
    frame = households(200)
    table = Table(frame)
    document = a_document().with_column(ColumnSpec("rent", Role.SENSITIVE, Kind.NUMERIC))
    column = encode_column(table, document.column("rent"))
    noise = KeyedNoise(KeyRing(bytes(32)))
    mechanism = mechanism_called("gaussian")
    settings = mechanism.first_settings((column.attribute,), noise)
    entry = PolicyEntry(("rent",), "gaussian", dict(settings))
    statement = mechanism.default_statements(1)[0]
    document = Document(
        columns=document.columns,
        policy=(*document.policy, entry),
        recipients=(Recipient("Institute", {"rent": statement}),),
    )
    unit = repeated_unit(table, "household", Silent())
    known = {"rent": column.attribute}
    (found,) = pooled_rows(document, known, [unit], (), ReleaseBasis.PLANNED, Silent())
    sizes = frame.groupby("household")["rent"].transform("size")
    assert found.spread[0] / found.spread[1] == pytest.approx(sizes.mean() ** 0.5)


def test_a_unit_is_told_where_something_sensitive_is_the_same():
    table = Table(households(200))
    document = a_document()
    unit = repeated_unit(table, "household", Silent())
    told = found_unit(document, unit)
    assert "Rows with the same household" in told
    assert "water is the same in all of them" in told
    assert found_unit(document, repeated_unit(table, "sex", Silent())) == ""
