"""Sfumato from Python does what its help says, and needs neither Qt nor a screen."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.analysis.readiness import readiness
from sfumato.engine.core.errors import Cancelled, SfumatoError
from sfumato.engine.core.progress import Callback
from sfumato.project.errors import ReleaseError, WrongPassphrase
from sfumato.project.project_file import ProjectFile
from sfumato.resources import resource_path
from tests.project.making import CHEAP

PASSPHRASE = "correct horse battery staple"
PEOPLE = 400
RULES = """\
format = 1
record_key = "person"

[columns.person]
role = "identifying"
kind = "text"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "flu", "gout"]

[columns.region]
role = "insensitive"
kind = "categorical"

[[policy]]
attributes = ["illness"]
mechanism = "uniform"

[[recipients]]
name = "Clinic A"
levels = { illness = { retention_probability = 0.7 } }

[[recipients]]
name = "Public"
levels = { illness = { retention_probability = 0.4 } }
"""


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guess of a passphrase costs little."""
    monkeypatch.setitem(ProjectFile.create.__func__.__kwdefaults__, "cost", CHEAP)


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    """A folder with a table and its rules."""
    random = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "person": [f"P{number:04d}" for number in range(PEOPLE)],
            "illness": random.choice(["asthma", "flu", "gout"], PEOPLE, p=[0.6, 0.3, 0.1]),
            "region": random.choice(["east", "west"], PEOPLE),
        }
    )
    frame.to_csv(tmp_path / "ward.csv", index=False)
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    return tmp_path


def made(ward: Path, **more: object) -> sf.Project:
    return sf.create(
        ward / "ward.sfumato",
        ward / "ward.csv",
        PASSPHRASE,
        rules=ward / "rules.toml",
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_project_is_made_checked_released_verified_and_traced(ward):
    with made(ward) as project:
        assert project.recipients == ("Clinic A", "Public")
        assert dict(project.columns.set_index("column")["role"])["illness"] == "sensitive"
        assert {found.recipient for found in project.check()} == {"Clinic A", "Public"}
        [found] = project.check("Public")
        assert (found.recipient, found.standing) == ("Public", ())
        [worth] = project.worth("Public")
        assert 0 < worth.columns[0].records < PEOPLE
        bundle = project.release("Clinic A", ward / "out", format="parquet")
        assert bundle.parent == ward / "out"
        assert [record.recipient for record in project.releases] == ["Clinic A"]
        report = project.verify(bundle)
        assert report.holds
        assert report.recipient == "Clinic A"
        assert project.trace(bundle).traced.rows == PEOPLE
    assert sf.verify(bundle, ward / "ward.sfumato", PASSPHRASE).holds


def test_what_was_changed_in_a_bundle_does_not_verify(ward):
    with made(ward) as project:
        bundle = project.release("Clinic A", ward / "out")
        (bundle / "data.csv").write_text("region,illness\neast,flu\n")
        assert not project.verify(bundle).holds


def test_a_reason_is_kept_where_something_grave_stays_open(ward):
    rules = (ward / "rules.toml").read_text().replace('"insensitive"', '"quasi-identifier"')
    (ward / "rules.toml").write_text(rules)
    frame = pd.read_csv(ward / "ward.csv")
    frame.loc[0, "region"] = "island"  # one person alone
    frame.to_csv(ward / "ward.csv", index=False)
    with made(ward) as project:
        assert project.check("Public")[0].standing
        with pytest.raises(ReleaseError):
            project.release("Public", ward / "out")
        assert not (ward / "out").exists()
        project.release("Public", ward / "out", accept="The island agreed")
        [kept] = project.releases
        reasons = {each["reason"] for each in kept.details["accepted"]}
        assert reasons == {"The island agreed"}


def test_what_is_wrong_is_said_by_name(ward):
    with made(ward) as project:
        with pytest.raises(SfumatoError, match="no recipient Nobody"):
            project.check("Nobody")
        with pytest.raises(SfumatoError, match="no recipient Nobody"):
            project.release("Nobody", ward / "out")
    with pytest.raises(WrongPassphrase):
        sf.open(ward / "ward.sfumato", "another one")
    with pytest.raises(AttributeError):
        _ = sf.nothing_of_that_name


def test_a_project_that_is_read_alone_is_left_as_it_is(ward):
    made(ward).close()
    before = (ward / "ward.sfumato").read_bytes()
    with sf.open(ward / "ward.sfumato", PASSPHRASE, read_only=True) as project:
        assert project.check()
        with pytest.raises(SfumatoError):
            project.release("Public", ward / "out")
    assert (ward / "ward.sfumato").read_bytes() == before


def test_whoever_watches_can_stop_it(ward):
    heard: list[float] = []
    watching = Callback(lambda fraction, _text: heard.append(fraction), lambda: len(heard) > 3)
    made(ward).close()
    with (
        sf.open(ward / "ward.sfumato", PASSPHRASE, context=watching) as project,
        pytest.raises(Cancelled),
    ):
        project.release("Public", ward / "out")
    assert heard
    assert not any((ward / "out").glob("*"))


@pytest.mark.parametrize(("format_name", "zipped"), [("csv", False), ("parquet", True)])
def test_a_recipient_reads_values_types_and_estimates_without_the_project(
    ward, format_name, zipped
):
    with made(ward) as project:
        path = project.release("Clinic A", ward / "out", format=format_name, zip=zipped)
    bundle = sf.read_bundle(path)
    assert list(bundle.data) == ["illness", "region"]
    assert len(bundle.data) == PEOPLE
    assert bundle.description["sfumato"]["recipient"] == "Clinic A"
    true = pd.read_csv(ward / "ward.csv")["illness"].value_counts()
    found = bundle.crosstab(["illness"]).set_index("illness")
    # Six standard errors are exceeded once in 500 million times.
    assert ((found["count"] - true).abs() < 6 * found["standard_error"]).all()
    [first, _second] = bundle.impute("illness", ["region"], times=2)
    assert set(first["illness"]) <= {"asthma", "flu", "gout"}
    regressed = bundle.regression(("illness", "flu"), ["region"])
    assert len(regressed) == 2


def test_programs_of_a_bundle_are_never_run(ward):
    with made(ward) as project:
        path = project.release("Clinic A", ward / "out")
    (path / "perturbed.py").write_text("raise SystemExit('run')")
    assert len(sf.read_bundle(path).crosstab(["illness"])) == 3


def test_what_is_no_bundle_is_refused_by_name(ward):
    with pytest.raises(sf.SfumatoError, match="no data package"):
        sf.read_bundle(ward)


@pytest.mark.slow
@pytest.mark.parametrize("language", ["", "de"])
def test_the_page_of_the_help_runs_as_it_stands(tmp_path, monkeypatch, language):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SFUMATO_PASSPHRASE", PASSPHRASE)
    for name in ("clinic.csv", "clinic.toml"):
        shutil.copy(resource_path("samples", name), tmp_path / name)
    text = resource_path("help", *filter(None, [language]), "python.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    space: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "python.md", "exec"), space)
    assert isinstance(space["bundle"], sf.ReceivedBundle)


@pytest.mark.slow
def test_neither_qt_nor_a_screen_is_needed_and_importing_the_name_alone_takes_nothing():
    code = (
        "import sys, sfumato as sf; few = len(sys.modules); sf.open, sf.read_bundle;"
        "print([name for name in sys.modules if name.startswith(('PySide6', 'shiboken6',"
        " 'sfumato.ui', 'matplotlib'))], 'pandas' in sys.modules, few)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={key: value for key, value in os.environ.items() if key != "DISPLAY"},
    )
    found, rest = ended.stdout.split("]")
    assert found == "["
    assert rest.split()[0] == "True"
    assert int(rest.split()[1]) < 100


def test_a_check_after_a_release_finds_again_what_the_release_found(ward, monkeypatch):
    with made(ward) as project:
        project.release("Public", ward / "out")
        monkeypatch.setattr(readiness, "check_rows", lambda *_: pytest.fail("checked again"))
        assert project.check("Public")
