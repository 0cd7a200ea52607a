"""What coalitions restore from what they hold, and when that can't be told."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.coalitions.holdings import ReleaseBasis, holdings_of, members_of
from sfumato.analysis.coalitions.restored_files import (
    realized_plain,
    realized_sentences,
    weigh_held,
)
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.randomness.keys import KeyRing
from sfumato.project.document.model import TableSource
from tests.in_batches import in_batches
from tests.project import adopting, test_attacker
from tests.project.verifying import a_table, new_project, release

KEYS = KeyRing(bytes(range(32)))


def planned(document, table, *names):
    rows = rows_of(document, in_batches(table), KEYS)
    [entry] = document.policy
    attributes = rows.attributes(Silent())
    return rows, members_of(document, entry, attributes, (), ReleaseBasis.PLANNED, names)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_most_telling_release_of_everyone_is_held(tmp_path):
    with new_project(tmp_path) as project:
        for name in ("Public C", "Institute B", "Public C"):
            release(project, tmp_path / f"out {len(project.releases)}", name)
        rows = rows_of(project.document, in_batches(a_table()), project.keys)
        entry = project.document.policy[0]
        asked = (project.document, entry, rows.attributes(Silent()), project.releases)
        held = holdings_of(*asked, ReleaseBasis.RELEASED)
        assert [one.recipient for one in held] == ["Institute B", "Public C"]
        assert held[0].source == project.releases[1].source
        assert members_of(*asked, ReleaseBasis.RELEASED, ["Public C"]) == held[1:]
        either = holdings_of(*asked, ReleaseBasis.EITHER)
        assert {one.recipient for one in either if not one.planned} == {"Institute B", "Public C"}
        assert "Clinic A" in {one.recipient for one in either if one.planned}
        report = weigh_held(rows, held, Silent())
        assert report.released
        assert report.risk.largest_difference < 1e-13
        assert report.risk.together == pytest.approx(report.risk.risk.average)


def test_planned_releases_are_weighed_with_the_noise_that_will_fall():
    document, table = adopting.settled(), adopting.ward()
    rows, held = planned(document, table, "Institute B", "Clinic A")
    assert [one.recipient for one in held] == ["Clinic A", "Institute B"]
    report = weigh_held(rows, held, Silent())
    assert not report.released
    [part] = rows.parts(rows.read_for([held[0].plan]), "Making a release again", Silent())
    request = part.maker.request(held[0].plan)
    shares = request.columns[0].attribute.frequencies
    beliefs = uniform_matrix(0.6, 5).posterior(shares)
    true = request.columns[0].values
    seen = document.column("illness").domain.encode(
        part.maker.perturbed(held[0].plan, Silent())["illness"]
    )
    assert report.risk.risk.average == pytest.approx(beliefs[seen, true].mean())
    assert realized_plain(report)["records"] == table.rows
    assert report.where == "With the noise as it will fall"
    assert realized_sentences(report)[0].startswith("Clinic A and Institute B give")


def test_adopted_rungs_are_held_as_they_were_adopted(tmp_path):
    table = adopting.ward()
    [path] = adopting.ladder_files(tmp_path, table, 0.5)
    told = adopting.claim(path, 0.5, holder="Old Clinic")
    document = adopting.adopted(adopting.settled(), table, told)
    names = ("Clinic A", "Institute B", "Old Clinic")
    rows, held = planned(document, table, *names)
    [rung] = [one for one in held if one.adopted]
    assert (rung.recipient, rung.level, rung.planned) == ("Old Clinic", 0.5, False)
    report = weigh_held(rows, held, Silent())
    assert report.members == ("Clinic A", "Old Clinic", "Institute B")
    assert report.risk.largest_difference < 1e-13
    alone = weigh_held(rows, [rung], Silent())
    assert alone.released
    assert alone.risk.risk.average < report.risk.risk.average


def test_rows_that_change_places_are_left_out_with_the_reason():
    document, table = test_attacker.document("reconstruction"), test_attacker.crowd(400)
    rows, held = planned(document, table, "A", "B")
    report = weigh_held(rows, held, Silent())
    assert report.risk is None
    assert "change places within their groups" in report.reason
    [sentence] = realized_sentences(report)
    assert sentence.endswith("Only what is to be expected can be told.")
    assert realized_plain(report) == {"released": False, "reason": report.reason}


def test_another_edition_of_the_table_is_told():
    document, table = adopting.settled(record_key="person"), adopting.ward()
    rows, held = planned(document, table, "Clinic A")
    other = TableSource("/data/ward.csv", "cd" * 32, adopting.ROWS, {})
    earlier = [replace(one, source=other, recorded_at="2026-11-20") for one in held]
    assert "another edition of the source table" in weigh_held(rows, earlier, Silent()).reason
    same = [replace(one, source=document.source, recorded_at="2026-11-20") for one in held]
    assert weigh_held(rows, same, Silent()).risk is not None


def test_what_can_t_be_made_again_is_told():
    document, table = adopting.settled(), adopting.ward()
    rows, [held] = planned(document, table, "Clinic A")
    off = replace(held, plan=replace(held.plan, ladder="another"))
    report = weigh_held(rows, [off], Silent())
    assert report.reason.startswith("what Clinic A holds can't be made again. ")


def test_progress_never_goes_back():
    document, table = adopting.settled(), adopting.ward()
    rows, held = planned(document, table, "Clinic A", "Institute B")
    seen = []

    class Watching:
        def report(self, fraction, text):
            seen.append(fraction)
            assert text

    weigh_held(rows, held, Watching())
    assert all(a <= b + 1e-12 for a, b in pairwise(seen))
    assert np.min(seen) >= 0.0
    assert np.max(seen) <= 1.0
