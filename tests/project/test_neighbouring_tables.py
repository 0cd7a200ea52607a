"""Bundles and reports of two tables that differ in one record's sensitive value, side by side.

Whatever differs outside the released cells tells whoever knows all other records about that one.
The settings are the same, as they are kept: `test_settings_see_the_table_through_noise_alone` says
that they follow from the table by counts with noise only.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.report.material import Audience, ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.report.writing import draw, to_html
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project.making import CHEAP, PASSPHRASE, crossed, noon

ROWS = 400
ILLNESSES = ("asthma", "cold", "flu", "gout", "HIV", "measles")
DOMAIN = Domain(ILLNESSES, {"HIV": "HIV infection"})
FORMATS = ("csv", "parquet", "sav", "dta")
CATEGORICAL = sorted(
    name
    for name, each in all_mechanisms().items()
    if Kind.CATEGORICAL in each.kinds and each.least_attributes == 1
)
NUMERIC = {
    "one column of numbers": (("income",),),
    "columns of numbers together": (("income", "rent"),),
    "columns of numbers apart": (("income",), ("rent",)),
}
"""Which columns each entry covers."""
FORMS = {"rounding": {"income": 10.0}, "lowest": {"income": 0.0}, "highest": {"income": 6_000.0}}


def frame_of(last_illness, last_income):
    """Return a table whose last record is ill with something that nobody else has, or not."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "person": [f"P{i:04d}" for i in range(ROWS)],
            "sex": [("f", "m")[i % 2] for i in range(ROWS)],
            "age": rng.integers(20, 80, ROWS),
            "illness": [*rng.choice(ILLNESSES[:4], ROWS - 1), last_illness],
            "income": [*rng.normal(3_000.0, 700.0, ROWS - 1).round(2), last_income],
        }
    )
    # The two depend on each other so much that the custodian is warned.
    return frame.assign(rent=(0.3 * frame["income"] + rng.normal(0.0, 90.0, ROWS)).round(2))


def tables():
    return [Table(frame_of(*last)) for last in (("cold", 2_500.0), ("HIV", 8_750.25))]


def columns(numeric):
    illness = ColumnSpec("illness", Role.INSENSITIVE if numeric else Role.SENSITIVE, domain=DOMAIN)
    income, rent = (
        ColumnSpec(name, Role.SENSITIVE if name in numeric else Role.IDENTIFYING, Kind.NUMERIC)
        for name in ("income", "rent")
    )
    if numeric:
        illness = replace(illness, role=Role.IDENTIFYING)
    return (
        ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
        ColumnSpec("sex", Role.QUASI_IDENTIFIER),
        ColumnSpec(
            "age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, None, Binning((0.0, 40.0, 60.0, 120.0))
        ),
        illness,
        income,
        rent,
    )


def document_for(name):
    """A document whose settings were completed for the first table, once and for all."""
    covered = NUMERIC.get(name, (("illness",),))
    mechanism = mechanism_called("gaussian" if name in NUMERIC else name)
    numeric = [column for names in covered for column in names] if name in NUMERIC else []
    document = Document(
        title="Ward 7",
        source=TableSource("/data/ward.csv", "ab" * 32, ROWS),
        columns=columns(numeric),
        policy=tuple(PolicyEntry(names, mechanism.name) for names in covered),
    )
    known = attributes_of(document, tables()[0])
    entries = []
    for names in covered:
        settings = mechanism.first_settings([known[column] for column in names], NOISE)
        forms = FORMS if names == ("income",) and name in NUMERIC else {}
        entries.append(PolicyEntry(names, mechanism.name, {**settings, **forms}))
    stated = mechanism.default_statements(2)
    return replace(
        document,
        policy=tuple(entries),
        recipients=tuple(
            Recipient(who, {entry.key: statement for entry in entries})
            for who, statement in zip(("Clinic A", "Institute B"), stated, strict=True)
        ),
    )


@pytest.fixture(scope="module", params=[*CATEGORICAL, *NUMERIC])
def twins(request, tmp_path_factory):
    """Two copies of one project, with one secret, and a table for each."""
    folder = tmp_path_factory.mktemp("twins")
    paths = [folder / name / "ward.sfumato" for name in ("one", "other")]
    for path in paths:
        path.parent.mkdir()
    ProjectFile.create(
        paths[0], PASSPHRASE, document_for(request.param), cost=CHEAP, clock=noon
    ).close()
    shutil.copy(paths[0], paths[1])
    opened = [ProjectFile.open(path, PASSPHRASE, clock=noon) for path in paths]
    yield list(zip(opened, tables(), strict=True))
    for project in opened:
        project.close()


def released(twins, format_name, **options):
    return [
        make_release(
            project,
            in_batches(table),
            "Clinic A",
            project.path.parent / "out",
            format_name,
            Silent(),
            **options,
        ).path
        for project, table in twins
    ]


def without_id(bundle, name):
    """A text of the bundle without the release's identifier.

    That is keyed by the secret, so it tells nothing of the table that it is made from.
    """
    text = (bundle / name).read_text(encoding="utf-8")
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    identifier = package["sfumato"]["release"]
    assert re.fullmatch("[0-9a-f]{32}", identifier)
    return text.replace(identifier, "identifier")


def described(bundle):
    """The descriptor without sizes and digests: the data's, and the README's for its identifier."""
    package = json.loads(without_id(bundle, "datapackage.json"))
    for resource in package["resources"]:
        del resource["bytes"], resource["hash"]
    return package


def facts_of_data(bundle, format_name):
    """What the data file says beside its cells."""
    path = bundle / f"data.{format_name}"
    if format_name == "csv":
        return path.read_text(encoding="utf-8").splitlines()[0]
    if format_name == "parquet":
        file = pq.ParquetFile(path)
        sizes = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
        return file.schema_arrow, file.schema_arrow.metadata, file.metadata.metadata, sizes
    read = pyreadstat.read_sav if format_name == "sav" else pyreadstat.read_dta
    _, meta = read(path)
    return (
        meta.column_names_to_labels,
        meta.variable_value_labels,
        meta.missing_ranges,
        meta.file_label,
        meta.table_name,
        meta.original_variable_types,
        meta.variable_measure,
        meta.number_rows,
    )


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("twins", "format_name"), crossed([*CATEGORICAL, *NUMERIC], FORMATS), indirect=["twins"]
)
def test_bundles_of_neighbouring_tables_differ_in_released_cells_alone(twins, format_name):
    one, other = released(twins, format_name)
    assert sorted(p.name for p in one.iterdir()) == sorted(p.name for p in other.iterdir())
    assert without_id(one, "README.md") == without_id(other, "README.md")
    assert described(one) == described(other)
    assert facts_of_data(one, format_name) == facts_of_data(other, format_name)


@pytest.mark.few(3)
def test_archives_of_neighbouring_tables_have_the_same_entries(twins):
    one, other = released(twins, "csv", as_zip=True)
    entries = []
    for path in (one, other):
        with zipfile.ZipFile(path) as archive:
            entries.append(
                [
                    (i.filename, i.date_time, i.external_attr, i.comment, i.extra, i.create_system)
                    for i in archive.infolist()
                ]
            )
            assert archive.comment == b""
    assert entries[0] == entries[1]


@pytest.mark.turns(4)
@pytest.mark.slow
def test_reports_for_outsiders_do_not_differ_between_neighbouring_tables(twins):
    project = twins[0][0]
    pages = []
    for _, table in twins:
        report = compose(
            collect(project, in_batches(table), noon, Silent()), ReportOptions(Audience.OUTSIDE)
        )
        pages.append(to_html(report, [draw(picture, "svg") for picture in report.pictures]))
    assert pages[0] == pages[1]
    assert "correlation" not in pages[0]


class Constant:
    """Stands for noise that hides everything: whatever is measured, the answer is the same."""

    def counts(self, what, counts, epsilon):
        return tuple(range(len(counts)))

    def integers(self, what, exact, sensitivity, epsilon):
        return tuple(10_000 for _ in exact)


@pytest.mark.parametrize("name", [*CATEGORICAL, *NUMERIC])
def test_settings_see_the_table_through_noise_alone(name):
    document = document_for(name)
    for entry in document.policy:
        mechanism = mechanism_called(entry.mechanism)
        found = []
        for table in tables():
            known = attributes_of(document, table)
            chosen = [known[column] for column in entry.attributes]
            found.append(dict(mechanism.first_settings(chosen, Constant())))
            assert mechanism.byproduct_epsilon(found[-1]) <= 2
            # In which groups shares were measured stays in the project: no rules, no bundle has it.
            if measured := found[-1].get("measured_shares"):
                found[-1]["measured_shares"] = measured["counts"]
        assert found[0] == found[1]


def test_a_release_without_noise_of_its_own_is_found_out():
    # The comparison above would see a profile that was solved for the exact counts.
    fine = mechanism_called("finegrain")
    exact = []
    for table in tables():
        spec = ColumnSpec("illness", Role.SENSITIVE, domain=DOMAIN)
        shares = encode_column(table, spec).attribute.frequencies
        stated = {"theta": 3.0, "frequencies": "stated", "shares": shares.tolist()}
        attribute = encode_column(table, spec).attribute
        exact.append(fine.complete_settings((attribute,), stated, NOISE)["profile"])
    assert exact[0] != exact[1]
