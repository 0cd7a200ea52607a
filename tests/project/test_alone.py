"""Records that are alone in what goes out as it is, counted by hand."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Suppression, Taxonomy
from sfumato.engine.table.table import Table
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import prepare
from sfumato.project.publication.prepared import counted_rows
from sfumato.project.release.uniqueness import (
    alone_from,
    left_out_sentence,
    publication_limits,
    release_sentence,
    told_alone,
)
from tests.in_batches import in_batches
from tests.project.counting_alone import alone_in_release
from tests.project.test_population import every_row

FRAME = pd.DataFrame(
    {
        "town": ["Bonn", "Bonn", "Bonn", "Lyon", "Lyon", "Rome"],
        "stay": [1, 1, 2, 2, 2, 2],
        "ward": ["a", "b", "a", "b", "a", "b"],
        "illness": ["x", "y", "x", "x", "y", "y"],
    }
)
WARDS = ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL, Domain(("a", "b")))
DOCUMENT = Document(
    columns=(
        ColumnSpec("town", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
        ColumnSpec("stay", Role.INSENSITIVE, Kind.NUMERIC),
        WARDS,
        ColumnSpec("illness", Role.SENSITIVE, Kind.CATEGORICAL, Domain(("x", "y"))),
    )
)


def test_records_of_a_release_are_counted_by_all_public_columns_and_by_those_marked():
    found = alone_in_release(DOCUMENT, Table(FRAME), Silent())
    assert found.columns == ("town", "stay")
    # Bonn with a stay of 2, and Rome; by the town alone only Rome.
    assert (found.records, found.alone, found.smallest) == (6, 2, 1)
    assert (found.marked, found.marked_alone) == (("town",), 1)
    told = release_sentence(found)
    assert told.startswith(
        "2 of 6 records are unique on the columns released unchanged (town and stay)"
    )
    assert told.endswith("Unique on the quasi-identifiers only (town): 1.")


def test_a_release_of_sensitive_columns_only_leaves_nobody_alone():
    alone = replace(DOCUMENT, columns=(WARDS,))
    assert alone_in_release(alone, Table(FRAME[["ward"]]), Silent()) is None


def alone_at(document, table, node):
    return counted_rows(
        every_row(prepare(document, in_batches(table), Silent()), node), Silent()
    ).alone


def test_what_a_generalized_table_shows_exactly_is_counted_beside_its_classes():
    document = replace(DOCUMENT, generalization=Generalization("illness", ("town",)))
    towns = (("Bonn", "DE"), ("Lyon", "elsewhere"), ("Rome", "elsewhere"))
    document = document.with_hierarchy("town", Taxonomy(towns))
    found = alone_at(document, Table(FRAME), (1,))
    assert found.exact == ("stay",)
    # The third record has a stay of its own in its class; before, the last was alone as well.
    assert (found.records, found.alone, found.before, found.smallest) == (6, 1, 2, 1)
    assert alone_from(told_alone(found)) == found
    limits = publication_limits(document, found, advice=True)
    assert limits[0].startswith("stay is published unchanged")
    assert "1 of 6 records is unique" in limits[1]
    assert limits[2].startswith("Make it a quasi-identifier")
    assert publication_limits(document, found, advice=False) == limits[:2]
    assert left_out_sentence(document).startswith("ward is also sensitive and is left out")


def test_where_all_is_generalized_nothing_has_to_be_said():
    document = replace(
        DOCUMENT,
        columns=tuple(column for column in DOCUMENT.columns if column.name != "stay"),
        generalization=Generalization("illness", ("town",)),
    )
    document = document.with_hierarchy("town", Suppression())
    assert alone_at(document, Table(FRAME.drop(columns="stay")), (1,)) is None
    assert publication_limits(document, None, advice=True) == ()


def test_a_missing_sensitive_value_that_counts_in_a_class_is_told():
    document = replace(DOCUMENT, generalization=Generalization("illness", ("town",)))
    illness = document.column("illness")
    known = Domain(("flu", "gout")), Domain(("flu", "gout", None))
    told = [
        " ".join(
            publication_limits(
                document.with_column(replace(illness, domain=domain)), None, advice=False
            )
        )
        for domain in known
    ]
    assert ["A missing illness counts as a value" in one for one in told] == [False, True]
