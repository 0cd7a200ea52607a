"""Chains of views with suppressed cells, checked from exported files alone.

Files are joined by the pseudonyms that all recipients share; pandas counts what they show.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import pytest

from sfumato.analysis.coarsening.views import find_views, released_rows, views_in, with_importance
from sfumato.engine.core.columns import Leaves
from sfumato.engine.core.errors import DiversityError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import SeenView
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.readme import readme_of
from sfumato.project.document.model import ViewRule
from sfumato.project.release.release import make_release
from sfumato.project.release.views import coarsening_of
from sfumato.project.verification.found import verify_file
from sfumato.report.material import collect
from tests.formats.bundles import case as bundle_case
from tests.in_batches import in_batches
from tests.project.making import new_project, noon
from tests.project.test_released_chain import TABLES, decided

ASKED = {"Institute": (3, 0.1), "Ministry": (6, 0.15), "Public": (15, 0.2)}
"""For each recipient, the most trusted first: k, and the share of suppressed cells."""
KEYS = KeyRing(bytes(32))
FORMATS = {"households": "csv", "companies": "parquet", "visits": "sav", "adult": "dta"}


class Exported(NamedTuple):
    """What is public, the files, and what the ledger and the bundles tell."""

    public: list[str]
    files: dict[str, pd.DataFrame]
    told: dict[str, dict]
    packages: dict[str, dict]
    readme: str
    held: bool


def with_cells(document, table, asked=ASKED):
    rules = {name: ViewRule(k, share, cells=True) for name, (k, share) in asked.items()}
    people = tuple(replace(each, view=rules[each.name]) for each in document.recipients)
    return find_views(replace(document, recipients=people), in_batches(table), Silent())


@pytest.fixture(scope="module", params=TABLES)
def exported(request, tmp_path_factory):
    """The files of every recipient, joined by the pseudonyms in them, as texts."""
    make, key, public, sensitive = TABLES[request.param]
    frame, folder = make(), tmp_path_factory.mktemp(request.param)
    table = Table(frame)
    document = with_cells(decided(frame, key, public, sensitive), table)
    files, told, packages, held, readme = {}, {}, {}, True, ""
    with new_project(folder, document) as project:
        for name in ASKED:
            kind = FORMATS[request.param]
            made = make_release(project, in_batches(table), name, folder / name, kind, Silent())
            file = read_bundle(made.path).table.frame
            files[name] = file.astype(object).fillna("").astype(str).set_index(key).sort_index()
            told[name] = made.record.details["view"]
            held &= verify_file(project, in_batches(table), made.path, Silent()).holds
            readme = (made.path / "README.md").read_text(encoding="utf-8")
            packages[name] = json.loads((made.path / "datapackage.json").read_text("utf-8"))
    return Exported(list(public), files, told, packages, readme, held)


def starred(file, public):
    return file[public] == "*"


@pytest.mark.few(2)
def test_every_class_of_a_file_has_k_records_a_star_being_a_value(exported):
    for name, (k, share) in ASKED.items():
        sizes = exported.files[name].value_counts(exported.public)
        assert sizes.min() >= k
        told = exported.told[name]
        assert (told["smallest"], told["unique"]) == (sizes.min(), int((sizes == 1).sum()))
        cells = starred(exported.files[name], exported.public).to_numpy()
        own = told.get("suppressed_cells", told["suppressed"] * len(exported.public))
        levels = exported.packages[name]["sfumato"]["view"]["levels"]
        if all(each["level"] < each["highest"] for each in levels.values()):
            assert cells.sum() == own
        assert own <= share * cells.size


@pytest.mark.few(3)
def test_every_file_s_rows_are_a_function_of_the_more_trusted_file_s_rows(exported):
    public, files = exported.public, exported.files
    for more, less in itertools.combinations(ASKED, 2):
        before, after = files[more][public], files[less][public]
        pairs = pd.concat([before.add_suffix(" before"), after], axis=1).drop_duplicates()
        assert len(pairs) == len(before.drop_duplicates())
        assert not (starred(before, public) & ~starred(after, public)).to_numpy().any()


@pytest.mark.few(3)
def test_some_cells_are_starred_beside_others_that_are_shown(exported):
    partly = [
        starred(file, exported.public).any(axis=1) & ~starred(file, exported.public).all(axis=1)
        for file in exported.files.values()
    ]
    assert any(each.any() for each in partly)


@pytest.mark.few(3)
def test_files_are_verified_and_recipients_told_how_many_cells_are_starred(exported):
    assert exported.held
    for name, package in exported.packages.items():
        view = package["sfumato"]["view"]
        stars = starred(exported.files[name], exported.public).sum()
        for column, count in view.get("suppressed_cells", {}).items():
            assert count == stars[column]
            assert view["levels"][column]["level"] < view["levels"][column]["highest"]


def test_of_a_column_that_is_left_out_no_cells_are_told_nor_explained():
    contents = bundle_case(60).contents
    hidden, shown = [
        each.name for each in contents.columns if contents.perturbation_of(each.name) is None
    ][:2]
    levels = {hidden: (2, 2), shown: (1, 2)}
    for count in (0, 3):
        view = SeenView(levels, 2, 0, "", cells={hidden: 24, shown: count})
        told = replace(contents, view=view)
        assert view.shown_cells == {shown: count}
        names = {each.name: each.name for each in contents.columns}
        text = readme_of(told, names, "csv")
        assert ("Single cells of these columns show" in text) == bool(count)


def ward():
    table = Table(TABLES["households"][0]())
    _, key, public, sensitive = TABLES["households"]
    return table, decided(table.frame, key, public, sensitive)


@pytest.mark.few(3)
def test_the_group_that_the_readme_names_is_the_one_that_most_records_show(exported):
    rows = re.findall(r"^\| (\S+) \| \*\*coarsened\*\* \| (.*) \|$", exported.readme, re.M)
    file = exported.files["Public"]
    for column, example in rows:
        shown = file[column][file[column] != "*"].value_counts()
        named = re.match(r"a group of values, such as “(.+?)(…?)”: level \d", example)
        often = {each for each in shown.index if each.startswith(named[1].replace("\\", ""))}
        assert shown.max() in set(shown[list(often)])
    assert rows, exported.told["Public"]


def test_a_view_that_would_hide_more_cells_than_may_be_is_refused(tmp_path):
    table, document = ward()
    rule = ViewRule(15, 0.001, dict.fromkeys(TABLES["households"][2], 0), cells=True)
    people = tuple(replace(each, view=rule) for each in document.recipients[:1])
    with (
        new_project(tmp_path, replace(document, recipients=people)) as project,
        pytest.raises(DiversityError, match="cells have to be suppressed"),
    ):
        make_release(project, in_batches(table), people[0].name, tmp_path / "out", "csv", Silent())


def test_what_is_important_to_nobody_leaves_no_trace_in_views_of_whole_records():
    _, document = ward()
    changed = with_importance(document, ("sex",))
    for before, after in zip(document.recipients, changed.recipients, strict=True):
        assert coarsening_of(document, before) == coarsening_of(changed, after)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_important_column_keeps_more_of_its_cells():
    table, document = ward()
    public = TABLES["households"][2]
    rule = ViewRule(5, 0.9, dict.fromkeys(public, 0), cells=True)
    people = tuple(replace(each, view=rule) for each in document.recipients[:1])
    document = replace(document, recipients=people)
    kept = []
    for order in ((), ("rent",)):
        changed = with_importance(document, order)
        (seen,) = views_in(
            changed, released_rows(changed, in_batches(table), KEYS, Silent()), Silent()
        )
        kept.append(seen.view.starred_in(public.index("rent")))
    assert kept[1] < kept[0]


def test_a_column_that_is_no_quasi_identifier_has_no_importance():
    _, document = ward()
    with pytest.raises(PolicyError, match="water is not a quasi-identifier"):
        with_importance(document, ("water",))
    with pytest.raises(PolicyError, match="named twice"):
        with_importance(document, ("sex", "sex"))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_column_whose_every_cell_is_suppressed_is_left_out_in_readme_and_report(tmp_path):
    table, document = ward()
    names = TABLES["households"][2]
    frame = table.frame.assign(rent=range(table.rows))
    rule = ViewRule(15, 1.0, dict.fromkeys(names, 0), cells=True)
    people = tuple(replace(each, view=rule) for each in document.recipients[:1])
    with new_project(tmp_path, replace(document, recipients=people)) as project:
        known = Table(frame)
        made = make_release(
            project, in_batches(known), people[0].name, tmp_path / "out", "csv", Silent()
        )
        readme = (made.path / "README.md").read_text(encoding="utf-8")
        material = collect(project, in_batches(known), noon, Silent())
    shown = read_bundle(made.path).table.frame
    assert (shown["rent"] == "*").all()
    assert "| rent | **left out** | every row shows `*` |" in readme
    assert "Beyond their levels, at most 100.0 % of their cells show *" in readme
    assert material.ways[people[0].name]["rent"] is Leaves.LEFT_OUT
    assert material.ways[people[0].name]["sex"] is not Leaves.LEFT_OUT
