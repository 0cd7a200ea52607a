"""``sfumato report``."""

from __future__ import annotations

import pytest

from sfumato.commands.shared.command import ExitCode


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["html", "pdf"])
def test_a_report_is_written(made, themed, ending):
    made.release("Clinic A")
    path = made.folder / f"filed.{ending}"
    assert made.run("report", made.project, "--out", path) == ExitCode.OK, made.remarks
    assert made.output.strip() == str(path)
    assert path.stat().st_size > 1000


def test_a_report_for_outsiders_keeps_the_threshold(made, themed):
    path = made.folder / "filed.html"
    arguments = ("--for", "outside", "--threshold", "25")
    assert made.run("report", made.project, "--out", path, *arguments) == ExitCode.OK
    assert "fewer than 25 records" in path.read_text(encoding="utf-8")


def test_another_ending_is_refused(made, themed):
    path = made.folder / "filed.docx"
    assert made.run("report", made.project, "--out", path) == ExitCode.EXPECTED_ERROR
    assert "HTML or PDF" in made.remarks


@pytest.mark.slow
def test_a_long_table_is_reported_in_parts_as_in_memory(made, themed):
    told = []
    for memory in ("1000", "0"):
        arguments = ("--out", made.folder / f"{memory}.html", "--memory", memory)
        assert made.run("report", made.project, *arguments) == ExitCode.OK, made.remarks
        assert ("The table is read in parts" in made.remarks) == (memory == "0")
        told.append((made.folder / f"{memory}.html").read_text(encoding="utf-8"))
    assert told[1] == told[0]
