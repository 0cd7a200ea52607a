"""The benchmarks run, and say what they measured."""

from __future__ import annotations

import json
import threading
import time
from hashlib import sha256

import pytest

from tests.benchmarks.__main__ import main, names_found
from tests.benchmarks.harness import Case, measure
from tests.benchmarks.results import HEAD, kept
from tests.data import shared_data

FIELDS = ["bench", "case", "seconds", "baseline", "baseline_seconds", "ratio", "peak_mb"]


QUICKEST = "finegrain"
ON_ADULT = {"chain"}
"""Measured on Adult alone, which is not everywhere."""


@pytest.mark.slow
@pytest.mark.parametrize("name", names_found())
def test_a_benchmark_prints_one_line_of_json_a_case(name, capsys):
    if name in ON_ADULT:
        shared_data("adult/adult.csv")
    assert main([name, "--json", "--quick", "--rounds", "1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    for line in lines:
        assert list(line)[: len(FIELDS)] == FIELDS
        assert line["bench"] == name
        assert line["ratio"] == pytest.approx(
            line["seconds"] / line["baseline_seconds"], rel=0.1, abs=1e-3
        )


@pytest.mark.slow
def test_a_table_for_people_has_a_heading(capsys):
    assert main([QUICKEST, "--quick", "--rounds", "1"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["bench", "case", "seconds"]
    assert all(row.startswith(QUICKEST) for row in rows)


def test_an_unknown_name_is_refused_with_the_known_ones(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["nonesuch"])
    assert caught.value.code == 2
    assert "ladder" in capsys.readouterr().err


def test_memory_and_the_ratio_of_medians_are_measured():
    case = Case("c", lambda: bytearray(5_000_000), lambda: sum(range(1000)))
    figures = measure("b", case, rounds=3).as_json("sum")
    assert 5.0 <= figures["peak_mb"] < 6.0
    assert figures["baseline"] == "sum"
    assert figures["ratio"] > 0


@pytest.mark.slow
@pytest.mark.turns(1)
def test_processor_time_counts_all_threads_and_no_waiting():
    # SHA-256 of a long text lets go of the interpreter's lock, so both threads work at once.
    text = bytes(20_000_000)

    def on_two_threads() -> None:
        threads = [threading.Thread(target=sha256, args=(text,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    case = Case("c", on_two_threads, lambda: sha256(text))
    figures = measure("b", case, rounds=3).as_json("one thread")
    assert 1.4 < figures["cpu_ratio"] < 3.0


def test_a_round_runs_the_case_beside_its_baseline(monkeypatch):
    order: list[str] = []
    monkeypatch.setattr(time, "perf_counter", lambda: float(len(order) ** 2))
    case = Case("c", lambda: order.append("case"), lambda: order.append("baseline"))
    measured = measure("b", case, rounds=2)
    assert order == ["baseline", "case"] * 3 + ["case"]
    assert measured.seconds > measured.baseline


def test_a_slow_baseline_is_measured_less_often_and_what_was_found_is_told():
    calls: list[str] = []
    case = Case(
        *("c", lambda: calls.append("case"), lambda: calls.append("baseline")),
        peak_mb=lambda: 0.0,
        baseline_rounds=1,
        baseline_name="slow",
        facts=lambda: {"nodes": 7},
    )
    figures = measure("b", case, rounds=3).as_json("quick")
    assert calls == ["baseline", "case", "case", "case", "case"]
    assert (figures["baseline"], figures["nodes"]) == ("slow", 7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fig5", "20,000 simulations of Alice"),
        ("fig6", "match uniform perturbation"),
        ("fig7", "After 4 releases"),
        ("fig8", "12 releases of 40 records"),
        ("noisy-counts", "λ=0.1 ε=0.2 high, exact"),
    ],
)
def test_a_figure_is_run_again_and_told_beside_the_paper(name, words, capsys):
    assert main([name, "--quick"]) == 0
    told = capsys.readouterr().out
    assert words in told
    assert "paper" in told


@pytest.mark.slow
def test_a_reproduction_draws_its_figure_and_writes_its_values(tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["fig7", "fig8", "noisy-counts", "--quick", "--json", "--out", str(out)]) == 0
    [growth, cost, counts] = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(growth["points"]) == 4
    assert cost["figure"] == "fig8"
    assert len(counts["rows"]) == 14
    assert sorted(path.suffix for path in out.iterdir()) == [".csv"] * 3 + [".png"] * 2


@pytest.mark.parametrize("count", ["0", "-3", "many", "2.5", "nan"])
def test_a_size_of_a_reproduction_is_a_whole_number(count, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["fig5", "--simulations", count])
    assert caught.value.code == 2
    assert "whole number" in capsys.readouterr().err


def test_what_is_kept_takes_the_place_of_a_cases_earlier_figures(tmp_path):
    table = tmp_path / "RESULTS.md"
    table.write_text(f"Before.\n\n{HEAD}")
    figures = {"cpu_seconds": 0.5, "baseline_cpu_seconds": 0.25, "cpu_ratio": 2.0, "ratio": 1.5}
    cases = [("ladder", "p = 0.5"), ("audit", "all"), ("ladder", "p = 0.1")]
    made = [{**figures, "peak_mb": 7.4, "bench": bench, "case": case} for bench, case in cases]
    kept(made, table)
    kept([{**made[0], "cpu_seconds": 4.0}], table)
    *_, first, second, third = table.read_text().splitlines()
    assert first.startswith("| audit | all | 0.5 | 0.25 | 2.00 | 1.50 | 7 | ")
    assert second.startswith("| ladder | p = 0.5 | 4 | 0.25 | ")
    assert third.startswith("| ladder | p = 0.1 | 0.5 | ")
    assert table.read_text().startswith(f"Before.\n\n{HEAD}")
