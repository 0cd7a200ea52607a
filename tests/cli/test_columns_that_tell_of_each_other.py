"""What is said of columns that determine one another, beside what can be computed of their files.

Beliefs are enumerated from the matrices that bundles publish, over all that a file can show of one
person whose label follows from the code.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.project.project_file import ProjectFile
from tests.project.making import CHEAP

PASSPHRASE = "correct horse battery staple"
CODES, LABELS = ("E11", "J00", "J10", "M10"), ("diabetes", "cold", "flu", "gout")
LEVELS = {"Clinic A": (0.5, 0.2), "Clinic B": (0.2, 0.5)}
RULES = f"""\
format = 1
[columns.code]
role = "sensitive"
values = {list(CODES)}
[columns.label]
role = "sensitive"
values = {list(LABELS)}
[columns.ward]
role = "insensitive"
[[policy]]
attributes = ["code"]
mechanism = "uniform"
[[policy]]
attributes = ["label"]
mechanism = "uniform"
""" + "".join(
    f"""
[[recipients]]
name = "{name}"
[recipients.levels]
code = {{ retention_probability = {code} }}
label = {{ retention_probability = {label} }}
"""
    for name, (code, label) in LEVELS.items()
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of 400 people whose labels follow from their codes."""
    monkeypatch.setitem(ProjectFile.create.__func__.__kwdefaults__, "cost", CHEAP)
    monkeypatch.setenv("SFUMATO_PASSPHRASE", PASSPHRASE)
    places = np.arange(400) % 4
    frame = pd.DataFrame({"code": np.array(CODES)[places], "label": np.array(LABELS)[places]})
    frame["ward"] = np.array(["west", "east"])[places // 2]
    frame.to_csv(tmp_path / "ward.csv", index=False)
    (tmp_path / "rules.toml").write_text(RULES, encoding="utf-8")
    path = tmp_path / "ward.sfumato"
    sf.create(path, tmp_path / "ward.csv", PASSPHRASE, rules=tmp_path / "rules.toml").close()
    return path


def released(project: Path, name: str) -> Path:
    with sf.open(project, PASSPHRASE) as opened:
        return opened.release(name, project.parent / name, accept="tested")


def matrices(bundle: Path) -> list[Any]:
    """How likely each value is shown where each is true, of codes and of labels."""
    schema = sf.read_bundle(bundle).description["resources"][0]["schema"]
    told = {field["name"]: field for field in schema["fields"]}
    return [np.array(told[name]["sfumato"]["channel"]["transition"]) for name in ("code", "label")]


def seen_of_a_person(by_code: Any, by_label: Any) -> Any:
    """How likely each pair of values is shown, a row each, where each code is true."""
    pairs = itertools.product(by_code, by_label)
    return np.array([code * label for code, label in pairs])


def test_a_readme_promises_no_less_than_two_columns_tell_of_one_value(project):
    bundle = released(project, "Clinic A")
    shown = seen_of_a_person(*matrices(bundle))
    odds = (shown.max(axis=1) / shown.min(axis=1)).max()
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    limits = readme.split("What this does not promise")[1]
    assert "may learn more of one than its own promise says" in limits
    (told,) = re.findall(r"code.* and .*label.* together multiply .* at most ([\d.]+)", limits)
    assert odds <= float(told) <= 1.02 * odds
    assert odds > 1.9 * max(matrix.max() / matrix.min() for matrix in matrices(bundle))


def test_the_audit_does_not_say_that_files_tell_no_more_together(project, capsys):
    codes, labels = zip(*(matrices(released(project, name)) for name in LEVELS), strict=True)
    right = {
        "Clinic A": seen_of_a_person(codes[0], labels[0]).max(axis=1).sum() / 4,
        # A lower level tells nothing beside a higher one.
        "together": seen_of_a_person(codes[0], labels[1]).max(axis=1).sum() / 4,
    }
    odds = [seen_of_a_person(codes[0], labels[1]), codes[0]]
    assert odds[0].max() / odds[0].min() > 4 * odds[1].max() / odds[1].min()
    assert right["together"] >= right["Clinic A"]
    capsys.readouterr()
    assert main(["audit", "together", str(project)]) == 0
    said = capsys.readouterr().out
    assert "No file changes anyone's odds on a record's value" not in said
    assert "may learn more of one than its own promise says" in said
    assert "together they may so learn more than anyone does alone" in said


def test_a_readme_leaves_open_what_a_column_released_as_it_is_tells(project):
    bundle = released(project, "Clinic B")
    seen = sf.read_bundle(bundle)
    assert set(seen.data["ward"]) == {"west", "east"}
    # Who is in the ward west has one of two codes for certain, whatever the file shows of codes.
    limits = (bundle / "README.md").read_text(encoding="utf-8").split("does not promise")[1]
    assert "released as they are, stay visible, with all that these tell of the others" in limits
