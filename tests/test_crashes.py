"""A worker that crashes says where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CRASHING = """
import os

def goes_down():
    os.abort()

def test_that_crashes():
    goes_down()
"""


@pytest.mark.slow
def test_where_a_worker_crashed_stands_at_the_end_of_what_a_run_prints(tmp_path):
    (tmp_path / "test_crashing.py").write_text(CRASHING, encoding="utf-8")
    # A run of its own: nothing of this one's workers.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    plugins = ("-p", "tests.crashes", "-p", "xdist", "-p", "no:cacheprovider")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-n1", *plugins, str(tmp_path), f"--rootdir={tmp_path}"],
        cwd=tmp_path,
        env={
            **own,
            "PYTHONPATH": str(Path(__file__).parents[1]),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    end = ran.stdout.partition("where worker 'gw0' crashed")[2]
    assert "Fatal Python error: Aborted" in end
    assert "in goes_down" in end
