"""Tables of ten million rows."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sfumato.engine.core.errors import Cancelled
from sfumato.formats.reading import detect_options, preview, read_table
from tests.benchmarks.reading import make_file
from tests.formats.reading import Watch

ROWS = 10_000_000


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "table.csv"
    make_file(path, ROWS)
    yield path
    path.unlink()


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read on Linux")
def test_ten_million_rows_of_eight_columns_take_less_than_a_gigabyte(large_file):
    command = [sys.executable, "-m", "tests.benchmarks.reading", str(large_file)]
    peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert float(peak) < 1000


@pytest.mark.slow
@pytest.mark.alone
def test_the_first_rows_of_a_large_file_are_shown_at_once(large_file):
    start = time.perf_counter()
    shown = preview(large_file, detect_options(large_file))
    assert shown.rows == 200
    assert time.perf_counter() - start < 2


@pytest.mark.slow
@pytest.mark.alone
def test_reading_a_large_file_stops_soon_after_it_is_asked_to(large_file):
    with pytest.raises(Cancelled):
        read_table(large_file, detect_options(large_file), Watch(stop_at=20))
