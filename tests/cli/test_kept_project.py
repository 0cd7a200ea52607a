"""A project that an earlier version kept, and its bundles: later versions release the same bytes.

`tests/samples/kept/people.sfumato` was made by the version of commit c81af77 and holds every
mechanism; its bundles were made again when records came to be known by a keyed hash of 128 bits.
Both stay as they are until released bytes are meant to change.
"""

import json
import shutil
from pathlib import Path

import pytest

from sfumato.commands.shared.command import PASSPHRASE_VARIABLE
from tests.cli.conftest import CommandLine

KEPT = Path(__file__).parents[1] / "samples" / "kept"
BUNDLES = sorted((KEPT / "bundles").iterdir())


@pytest.fixture
def line(tmp_path):
    for name in ("people.csv", "people.sfumato"):
        shutil.copy(KEPT / name, tmp_path)
    return CommandLine(tmp_path, {PASSPHRASE_VARIABLE: "kept since before the move"})


def described(bundle: Path) -> dict:
    """Return what a bundle's data package says of its data, but what later versions add."""
    package = json.loads((bundle / "datapackage.json").read_text(encoding="utf-8"))
    package["resources"] = [each for each in package["resources"] if each["name"] == "data"]
    for field in package["resources"][0]["schema"]["fields"]:
        field.get("sfumato", {}).pop("channel", None)
    return package


def test_the_kept_bundles_are_of_both_recipients():
    assert len(BUNDLES) == 2


@pytest.mark.few(1)
@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda bundle: bundle.name)
def test_a_kept_project_releases_the_same_bytes_and_the_kept_values_verify(line, bundle):
    package = described(bundle)
    recipient = package["sfumato"]["recipient"]
    reasons = ["--override", "as it was kept", "--accept", "as it was kept"]
    arguments = ["--recipient", recipient, "--out", line.folder, *reasons]
    project = line.folder / "people.sfumato"
    assert line.run("release", project, *arguments) == 0, line.remarks
    again = line.folder / bundle.name
    assert (again / "data.csv").read_bytes() == (bundle / "data.csv").read_bytes()
    assert described(again) == package
    line.run("verify", bundle, "--project", project)
    failed = [each for each in line.output.splitlines() if each.startswith("FAIL")]
    # The kept bundle lacks what bundles have got since; all that it holds is as it was released.
    added = "README.md, datapackage.json, ddi.xml, perturbed.R, perturbed.py."
    assert [each.rpartition("not as released: ")[2] for each in failed] == [added]
