"""Chains of views checked from exported files alone, on tables of several kinds.

Files are joined by the pseudonyms that all recipients share, and pyCANON counts the classes. Only
the order of rows is laid beside the table, by pseudonyms made by hand.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies
from sfumato.engine.core.columns import Pseudonym, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table, with_proposed_domain
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource, ViewRule
from sfumato.project.release.release import make_release
from tests.data import shared_data
from tests.in_batches import in_batches
from tests.keyed_hash import pseudonym_by_hand
from tests.late import LateModule
from tests.project.making import new_project
from tests.proposed import proposed_columns
from tests.samples.tables import companies, households, visits

anonymity = LateModule("pycanon.anonymity")

ASKED = {"Institute": (1, 0.0, 0.6), "Ministry": (3, 0.02, 0.3), "Public": (15, 0.05, 0.1)}
"""For each recipient, the most trusted first: k, the share of suppressed records, the level."""
FALSE_ALARM = 1e-9


def adult():
    frame = pd.read_csv(shared_data("adult/adult.csv"), sep=";")
    frame = frame.sample(3_000, random_state=2).reset_index(drop=True)
    return frame.assign(person=[f"a{number}" for number in frame.index])


TABLES = {
    "households": (lambda: households(400), "person", ("region", "sex", "rent"), "water"),
    "companies": (lambda: companies(800), "firm", ("sector", "staff", "costs"), "insolvency"),
    "visits": (lambda: visits(300), "visit", ("sex", "age", "ward"), "diagnosis"),
    "adult": (adult, "person", ("age", "sex", "race", "education"), "occupation"),
}


def decided(frame, key, public, sensitive):
    """The document of a table: everything else is dropped."""
    table = Table(frame)
    roles = {key: Role.IDENTIFYING, sensitive: Role.SENSITIVE}
    roles |= dict.fromkeys(public, Role.QUASI_IDENTIFIER)
    shared = {key: Pseudonym(None)}
    specs = [
        replace(
            spec,
            role=roles.get(spec.name, Role.IDENTIFYING),
            pseudonym=shared.get(spec.name),
        )
        for spec in proposed_columns(table)
    ]
    specs = [with_proposed_domain(table, s) if s.name == sensitive else s for s in specs]
    recipients = tuple(
        Recipient(name, {sensitive: {"retention_probability": level}}, view=ViewRule(k, share))
        for name, (k, share, level) in ASKED.items()
    )
    document = Document(
        source=TableSource("/data/made-up.csv", "ab" * 32, len(frame)),
        columns=tuple(specs),
        record_key=key,
        policy=(PolicyEntry((sensitive,), "uniform"),),
        recipients=recipients,
    )
    document, _ = with_proposed_hierarchies(document, table)
    return find_views(document, in_batches(table), Silent())


@pytest.fixture(scope="module", params=TABLES)
def exported(request, tmp_path_factory):
    """The files of every recipient, joined by the pseudonyms in them, and what the ledger tells."""
    make, key, public, sensitive = TABLES[request.param]
    frame = make()
    folder = tmp_path_factory.mktemp(request.param)
    files, told, places = {}, {}, {}
    project = new_project(folder, decided(frame, key, public, sensitive))
    for name in ASKED:
        made = make_release(project, in_batches(Table(frame)), name, folder / name, "csv", Silent())
        file = pd.read_csv(made.path / "data.csv", dtype=str, keep_default_na=False)
        files[name] = file.set_index(key)
        assert files[name].index.is_unique
        told[name] = made.record.details["view"]
        places[name] = files[name].index
    secret = project.secret.reveal()
    project.close()
    rows = {pseudonym_by_hand(secret, key, "shared", t): n for n, t in enumerate(frame[key])}
    first = files["Institute"].index
    return Exported(
        list(public),
        {name: file.loc[first] for name, file in files.items()},
        told,
        {name: index.map(rows).to_numpy() for name, index in places.items()},
    )


class Exported(NamedTuple):
    """What is public, the files and what the ledger tells; the table's row in each file's row."""

    public: list[str]
    files: dict[str, pd.DataFrame]
    told: dict[str, dict]
    rows: dict[str, np.ndarray]


def suppressed(file, public):
    return (file[public] == "*").all(axis=1)


@pytest.mark.slow
def test_k_and_unique_records_are_what_pycanon_and_pandas_count(exported):
    public, files, told, _ = exported
    for name, (k, share, _) in ASKED.items():
        smallest = anonymity.k_anonymity(files[name][public].reset_index(drop=True), public)
        alone = int((files[name].value_counts(public) == 1).sum())
        assert smallest >= k
        assert (told[name]["smallest"], told[name]["unique"]) == (smallest, alone)
        hidden = suppressed(files[name], public)
        assert hidden.all() or hidden.mean() <= share


@pytest.mark.few(2)
def test_what_is_suppressed_for_one_is_suppressed_for_all_who_are_trusted_less(exported):
    public, files, _, _ = exported
    for more, less in itertools.pairwise(ASKED):
        assert not (suppressed(files[more], public) & ~suppressed(files[less], public)).any()


@pytest.mark.few(2)
def test_every_column_is_a_function_of_the_more_trusted_file_s_column(exported):
    public, files, _, _ = exported
    for more, less in itertools.pairwise(ASKED):
        shown = ~suppressed(files[less], public)
        for name in public:
            before, after = files[more].loc[shown, name], files[less].loc[shown, name]
            assert after.groupby(before).nunique().max() == 1


@pytest.mark.few(3)
def test_a_coalition_sees_the_finest_view_and_no_more(exported):
    public, files, _, _ = exported
    for names in (*itertools.combinations(ASKED, 2), tuple(ASKED)):
        together = pd.concat([files[name][public].add_suffix(name) for name in names], axis=1)
        finest = files[names[0]][public]
        assert together.drop_duplicates().shape[0] == finest.drop_duplicates().shape[0]
        joint = pd.concat([together, finest], axis=1)
        assert joint.drop_duplicates().shape[0] == finest.drop_duplicates().shape[0]


@pytest.mark.few(3)
def test_the_order_of_a_file_is_unrelated_to_the_table_s_and_to_another_file_s(exported):
    """Each of six ranks correlated by chance as much as is refused: once in 10⁹ times."""
    table = np.arange(len(exported.rows["Public"]))
    for one, other in itertools.combinations([table, *exported.rows.values()], 2):
        assert sorted(one) == sorted(other)
        assert stats.spearmanr(np.argsort(one), np.argsort(other)).pvalue > FALSE_ALARM
