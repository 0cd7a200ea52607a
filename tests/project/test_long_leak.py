"""A leaked file is traced against a table in parts as against the whole table."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.document.model import ViewRule
from sfumato.project.verification import leak_comparison
from sfumato.project.verification.compared import differing
from sfumato.project.verification.leak import read_leak, trace_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.test_long_release import (
    bundle,
    frame_of,
    long_of,
    seen_coarsely,
    whole_of,
)
from tests.project.test_long_units import by_house, of_units

ward, small_parts = test_long_release.ward, test_long_release.small_parts


def two_recipients(*rules):
    """Clinic B is trusted less than Clinic A; both may have views."""

    def change(document):
        document = seen_coarsely(*(rules or (None, None)))(document)
        first, second = document.recipients[:2]
        less = {
            key: {name: level / 2 if level < 1 else level for name, level in stated.items()}
            for key, stated in second.statements.items()
        }
        return replace(document, recipients=(first, replace(second, statements=less)))

    return change


def told(report):
    """What a report says, without the makers of its candidates."""
    return (
        [(each.recipients, each.plans, each.view) for each in report.candidates],
        report.traced,
        report.compared,
        report.ignored,
        report.pseudonyms,
        str(report.verdict),
    )


def released(project, folder):
    bundle(project, whole_of(project), folder, "csv")
    [made] = folder.iterdir()
    return read_leak(made, Silent()).frame


def other(frame):
    """The same values in rows that no release of this project made."""
    return frame.apply(lambda column: column.sample(frac=1, random_state=len(column.name)).array)


LEAKS = {
    "all": lambda frame: frame,
    "some rows": lambda frame: frame.iloc[40:120].assign(added="x"),
    "few columns": lambda frame: frame[["age", "illness"]],
    "altered": lambda frame: pd.concat([frame.iloc[:60], other(frame.iloc[60:120])]),
    "strangers": other,
    "numbers as texts": lambda frame: frame.iloc[:80].assign(age=frame["age"].astype(str)),
}
VIEWS = {
    "as they are": (),
    "views": (
        ViewRule(2, 0.9, {"age": 1, "zip": 2, "grade": 0}),
        ViewRule(4, 0.9, {"age": 2, "zip": 2, "grade": 1}),
    ),
}


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("views", VIEWS)
def test_a_leak_is_traced_in_parts_as_in_the_whole_table(ward, tmp_path, views, monkeypatch):
    with ward(frame_of(), two_recipients(*VIEWS[views])) as project:
        frame = released(project, tmp_path / "out")
        # Another policy than the release's is in force today.
        dropped = replace(project.document.column("smoker"), role=Role.IDENTIFYING)
        project.save_document(project.document.with_column(dropped))
        verdicts = {}
        for name, change in LEAKS.items():
            leak = Table(change(frame).reset_index(drop=True))
            wanted = told(trace_file(project, in_batches(whole_of(project)), leak, Silent()))
            assert told(trace_file(project, long_of(project), leak, Silent())) == wanted, name
            verdicts[name] = wanted[-1]
        monkeypatch.setattr(leak_comparison, "MOST_ALIKE", 30)
        with pytest.raises(TableError, match="More than 30 rows of the table are like"):
            trace_file(project, long_of(project), Table(frame), Silent())
    for name in ("all", "some rows"):
        assert "from the release to Clinic A" in verdicts[name]
        assert "Pseudonyms of name that Clinic A alone is given" in verdicts[name]
    assert "from the release to" not in verdicts["strangers"]


@pytest.mark.slow
def test_a_leak_of_records_told_apart_by_position_is_traced_in_parts(ward, tmp_path):
    def change(document):
        return replace(two_recipients(*VIEWS["views"])(document), record_key=None)

    with ward(frame_of(), change) as project:
        frame = released(project, tmp_path / "out").iloc[40:160]
        wanted = told(trace_file(project, in_batches(whole_of(project)), Table(frame), Silent()))
        assert told(trace_file(project, long_of(project), Table(frame), Silent())) == wanted
    assert "from the release to Clinic A" in wanted[-1]


def of_houses(*rules):
    """Rows of a house are protected together, and show one illness; at most two of them leave."""

    def change(document):
        return by_house(2, "illness")(two_recipients(*rules)(document))

    return change


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("views", VIEWS)
def test_a_leak_of_rows_that_belong_together_is_traced_in_parts(ward, tmp_path, views):
    frame = of_units(frame_of())
    frame["zip"] = frame["house"]  # the same in all rows of a house
    with ward(frame, of_houses()) as project:
        first = released(project, tmp_path / "out")
        # By today's policy three rows of a house leave, and whoever sees them may have views.
        today = of_houses(*VIEWS[views])(project.document)
        project.save_document(today.with_unit(replace(today.unit, most_rows=3)))
        verdicts = {}
        for name in ("all", "altered", "strangers"):
            leak = Table(LEAKS[name](first).reset_index(drop=True))
            wanted = told(trace_file(project, in_batches(whole_of(project)), leak, Silent()))
            assert told(trace_file(project, long_of(project), leak, Silent())) == wanted, name
            verdicts[name] = wanted[-1]
    assert "from the release to Clinic A" in verdicts["all"]


@pytest.mark.parametrize("coded", [(True, True), (True, False), (False, False)])
def test_an_altered_text_is_found_whether_texts_are_held_once_or_row_by_row(coded):
    made, shown = (
        pa.array(["a", "", None, "b", "c", "a"]),
        pa.array(["a", None, "", "a", "d", None]),
    )
    pair = [t.dictionary_encode() if c else t for t, c in zip((made, shown), coded, strict=True)]
    assert differing(*pair).tolist() == [False, False, False, True, True, True]
