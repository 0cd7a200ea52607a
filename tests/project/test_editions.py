"""Two editions of a table: what they tell together, and where that is said."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import set_apart
from sfumato.formats.reading import detect_options
from sfumato.project.document.model import PolicyEntry
from sfumato.project.errors import SourceChanged, TargetExists
from sfumato.project.ledger import ReleaseState
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import bundle_name, make_release, plan_of
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.source import accept_edition, read_source
from sfumato.report.material import ReportOptions, collect
from sfumato.report.sections import compose
from tests.in_batches import in_batches
from tests.project import numbers
from tests.project.making import ILLNESSES, document, new_project, noon

ROWS = 400


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def write_edition(folder, name, shift=0):
    """Write an edition in which every third record has an illness `shift` values further on."""
    path = folder / name
    pd.DataFrame(
        {
            "person": [f"P{i:04d}" for i in range(ROWS)],
            "sex": ["fm"[i % 2] for i in range(ROWS)],
            "illness": [ILLNESSES[(i * i + shift * (i % 3 == 0)) % 4] for i in range(ROWS)],
        }
    ).to_csv(path, index=False)
    return path


def begin(folder, record_key="person", **changes):
    """A project of a first edition, in which bundles can be laid beside each other by person."""
    path = write_edition(folder, "first.csv")
    read, source = read_source(path, detect_options(path), Silent())
    read = read.in_memory(Silent())
    open_person = ColumnSpec("person", Role.INSENSITIVE, Kind.TEXT)
    settled = document(record_key=record_key, source=source, **changes).with_column(open_person)
    return new_project(folder, settled), read


def accepted(project, path):
    return accept_edition(project, path, Silent()).in_memory(Silent())


def release(project, read, out, recipient="Clinic A"):
    return make_release(project, in_batches(read), recipient, out, "csv", Silent())


def shown(outcome):
    return pd.read_csv(outcome.path / "data.csv").set_index("person")["illness"].sort_index()


def readme(outcome):
    return " ".join((outcome.path / "README.md").read_text(encoding="utf-8").split())


def told_by_card(project, read):
    attributes = attributes_of(project.document, read)
    return guarantee_of(project.document, attributes, project.releases).editions


def loss(retention, size=4):
    return math.log(1 + size * retention / (1 - retention))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_is_said_of_two_editions_is_true_of_their_bundles(tmp_path, out):
    project, first = begin(tmp_path)
    with project:
        before = release(project, first, out)
        assert "edition" not in readme(before)
        assert told_by_card(project, first) == ()
        second = accepted(project, write_edition(tmp_path, "second.csv", 1))
        (said,) = told_by_card(project, second)
        after = release(project, second, out)
        assert told_by_card(project, second) == (said,)
        material = collect(project, in_batches(second), noon, Silent())
    assert "certainly changed; a record that has not changed shows the same" in said
    assert "can find out which records only one of them has" in said
    assert "* can stand in one" not in said
    apart = set_apart(said, project.document.column_names)
    assert apart in readme(after)
    blocks = [b for s in compose(material, ReportOptions()).sections for b in s.blocks]
    assert apart in str(blocks)
    old, new = (
        frame.frame.set_index("person")["illness"].sort_index() for frame in (first, second)
    )
    differs = shown(before) != shown(after)
    changed = old.astype(str) != new.astype(str)
    assert 0 < differs.sum() < changed.sum()
    assert not (differs & ~changed).any()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_loss_of_a_record_that_changed_is_the_sum_of_its_editions(tmp_path, out):
    project, first = begin(tmp_path)
    with project:
        release(project, first, out, "Institute B")  # trusted with 0.3; Clinic A with 0.6
        for count, shift in ((2, 1), (3, 2)):
            path = write_edition(tmp_path, f"edition{count}.csv", shift)
            read = accepted(project, path)
            release(project, read, out, "Clinic A")
            (said,) = told_by_card(project, read)
            assert f"released from {count} editions" in said
            total, one = map(
                float, re.findall(r"is ε = ([\d.]+) at worst.* is ([\d.]+) for", said)[0]
            )
            expected = loss(0.3) + (count - 1) * loss(0.6)
            assert expected <= total <= expected + 0.0011
            assert loss(0.6) <= one <= loss(0.6) + 0.0011


def test_no_figure_is_said_to_bound_whether_a_value_stayed(tmp_path, out):
    # Of histories (stayed a) and (b, then c), the same value twice tells more than the sum: the
    # one shows it by one draw, the other by two.
    hit, miss = 0.6 + 0.4 / 4, 0.4 / 4
    assert math.log(hit / miss**2) > 2 * loss(0.6)
    project, first = begin(tmp_path)
    with project:
        release(project, first, out)
        second = accepted(project, write_edition(tmp_path, "second.csv", 1))
        (said,) = told_by_card(project, second)
    assert "If it is known that its value was another in each edition" in said
    assert said.endswith("No figure bounds what is revealed about whether it stayed.")


def test_no_group_is_said_to_learn_as_little_as_one_across_editions(tmp_path, out):
    project, first = begin(tmp_path)
    with project:
        release(project, first, out)
        attributes = attributes_of(project.document, first)
        alone = guarantee_of(project.document, attributes, project.releases).coalition
        second = accepted(project, write_edition(tmp_path, "second.csv", 1))
        attributes = attributes_of(project.document, second)
        together = guarantee_of(project.document, attributes, project.releases).coalition
    assert together == f"{alone} This holds within each edition of the table."


def test_two_editions_for_two_recipients_are_told_as_well(tmp_path, out):
    project, first = begin(tmp_path)
    with project:
        release(project, first, out, "Clinic A")
        second = accepted(project, write_edition(tmp_path, "second.csv", 1))
        assert "2 editions" in readme(release(project, second, out, "Institute B"))


def test_a_release_from_the_same_table_again_says_nothing_of_editions(tmp_path, out):
    project, first = begin(tmp_path)
    with project:
        release(project, first, out, "Clinic A")
        accept_edition(project, write_edition(tmp_path, "copy.csv"), Silent())
        assert "edition" not in readme(release(project, first, out, "Institute B"))
        assert told_by_card(project, first) == ()


def test_a_release_that_nobody_got_is_no_edition(tmp_path, out):
    project, first = begin(tmp_path)
    with project:
        planned = plan_of(
            project, PreparedTable(project, in_batches(first)), "Clinic A", "", Silent()
        )

        def take_its_name(step):
            if step == "prepared":
                (out / bundle_name(planned, "csv")).mkdir(parents=True)

        with pytest.raises(TargetExists):
            make_release(
                project, in_batches(first), "Clinic A", out, "csv", Silent(), at_step=take_its_name
            )
        assert [record.state for record in project.releases] == [ReleaseState.ABANDONED]
        second = accepted(project, write_edition(tmp_path, "second.csv", 1))
        assert "edition" not in readme(release(project, second, out))


def test_by_position_there_is_no_second_edition_to_tell_of(tmp_path, out):
    project, first = begin(tmp_path, record_key=None)
    with project:
        release(project, first, out)
        with pytest.raises(SourceChanged):
            accept_edition(project, write_edition(tmp_path, "second.csv", 1), Silent())
        again = release(project, first, out, "Institute B")
        assert "edition" not in readme(again)
        assert told_by_card(project, first) == ()


def test_where_groups_are_resampled_a_change_is_proved_of_the_group_only(tmp_path, out):
    settings = {
        "epsilon": 0.3,
        "delta": 0.17,
        "rule": "exact",
        "sampling": "blind",
        "retention_probability": 0.6,
        "public": ["sex"],
    }
    policy = (PolicyEntry(("illness",), "reconstruction", settings),)
    project, first = begin(tmp_path, policy=policy)
    with project:
        release(project, first, out)
        second = accepted(project, write_edition(tmp_path, "second.csv", 1))
        (said,) = told_by_card(project, second)
    assert "proves that a true value in its group has changed" in said
    assert "certainly changed" not in said


def test_of_numbers_it_is_said_how_well_two_histories_are_told_apart(tmp_path, out):
    table = numbers.a_table(missing=False)
    settled = replace(numbers.a_document(table), record_key="person")
    with numbers.new_project(tmp_path, settled) as project:
        before = numbers.release(project, table, out, "Clinic A")
        frame = table.frame.assign(income=table.frame["income"] + 100.0 * (table.frame.index < 9))
        later = replace(table, frame=frame)
        source = replace(settled.source, digest="ef" * 32)
        project.save_document(replace(settled, source=source))
        after = numbers.release(project, later, out, "Clinic A")
        attributes = attributes_of(project.document, later)
        of_numbers, of_sex = guarantee_of(project.document, attributes, project.releases).editions
    said = " ".join((after / "README.md").read_text(encoding="utf-8").split())
    assert set_apart(of_numbers, project.document.column_names) in said
    assert set_apart(of_sex, project.document.column_names) in said
    # Whoever knows a person's age sees only the part of income's noise that age does not tell.
    related = np.corrcoef(table.frame["age"], table.frame["income"])[0, 1]
    own_variance = 0.25 * (1 - related**2)
    chance = NormalDist().cdf(math.sqrt(2 / own_variance) / 2)
    (written,) = re.findall(r"at worst ([\d.]+) %", of_numbers)
    assert chance <= float(written) / 100 <= chance + 0.0011
    assert len({len(pd.read_csv(path / "data.csv")) for path in (before, after)}) == 1
