"""The packages as people install them: in a fresh Debian, without a checkout or a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from sfumato import __version__
from sfumato.commands.shared.command import ExitCode
from sfumato.resources import resource_path
from tests.packaging import PACKAGING
from tests.packaging.root import PASSPHRASE, PERSON, Root
from tests.packaging.screen import Screen
from tests.source_code import ROOT

NEEDED = (
    *("debootstrap", "lintian", "rpmlint", "rpm2cpio", "cpio", "Xvfb", "xdotool", "openbox"),
    *("desktop-file-validate", "appstreamcli", "objdump", "unshare"),
)
MISSING = [tool for tool in NEEDED if shutil.which(tool) is None]
ALONE = (
    "unshare" not in MISSING
    and not subprocess.run(
        ["unshare", "--net", "true"], capture_output=True, check=False
    ).returncode
)
"""Whether a process can be kept from the network, which some containers don't allow."""
PRIMARY = (993, 70)
"""Where the primary button of a panel is in the window."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.queued,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="packages are built from commits"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="not root"),
    pytest.mark.skipif(not ALONE, reason="nothing can be kept from the network here"),
]


def run(*command: object, **options: object) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        **options,
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The packages; those of the folder SFUMATO_PACKAGES where it is set, which spares building."""
    given = os.environ.get("SFUMATO_PACKAGES")
    if given:
        return Path(given)
    out = tmp_path_factory.mktemp("built")
    run(ROOT / "installer" / "package", "--out", out)
    return out


@pytest.fixture(scope="module")
def deb(built) -> Path:
    [package] = built.glob("*.deb")
    return package


@pytest.fixture(scope="module")
def older(deb, tmp_path_factory) -> Path:
    """The same package, called an older version."""
    folder = tmp_path_factory.mktemp("older")
    run("dpkg-deb", "--raw-extract", deb, folder / "content")
    control = folder / "content" / "DEBIAN" / "control"
    told = control.read_text(encoding="utf-8")
    control.write_text(told.replace(f"\nVersion: {__version__}\n", "\nVersion: 0.0.1\n"), "utf-8")
    run("dpkg-deb", "--build", "-Znone", folder / "content", folder / "older.deb")
    shutil.rmtree(folder / "content")
    return folder / "older.deb"


@pytest.fixture(scope="module")
def root(tmp_path_factory, older) -> Iterator[Root]:
    """A fresh Debian with the older version, and its person's table and rules."""
    folder = tmp_path_factory.mktemp("debian") / "root"
    released = Path("/etc/os-release").read_text(encoding="utf-8")
    [suite] = re.findall(r"^VERSION_CODENAME=(\w+)$", released, re.MULTILINE)
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", suite, folder],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        pytest.skip(f"debootstrap can't fetch a system: {made.stdout[-300:]}")
    made = Root(folder)
    made.install(older)
    for name in ("clinic.csv", "clinic.toml"):
        made.give(resource_path("samples", name))
    made.show_screens()
    yield made
    made.hide_screens()


@pytest.fixture(scope="module")
def worked(root) -> Root:
    """The root after the older version's work in the window: a project and three bundles."""
    home = f"/home/{PERSON}"
    with Screen() as screen:
        window = subprocess.Popen(
            root.as_person("sfumato", screen=screen.display),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            screen.wait_for("Untitled")
            screen.maximize()
            screen.press("ctrl+t")
            screen.wait_for("Open table")
            screen.write(f"{home}/clinic.csv")
            screen.press("Return")
            screen.until(lambda: screen.title().startswith("Untitled"))
            screen.click_until(*PRIMARY, lambda: "clinic" in screen.title())
            screen.press("F1")
            screen.wait_for("Help")
            screen.press("Escape")
            screen.wait_for("clinic")
            screen.press("alt+f", "p")
            screen.wait_for("Apply rules")
            screen.write(f"{home}/clinic.toml")
            screen.press("Return")
            screen.wait_for("Clinic 2025")
            screen.press("ctrl+s")
            screen.wait_for("Save project")
            screen.write(f"{home}/ward.sfumato")
            screen.press("Return")
            screen.wait_for("Choose a passphrase")
            for after in ("Tab", "Return"):
                screen.write(PASSPHRASE)
                screen.press(after)
            screen.until(lambda: screen.title().startswith("ward"))
            screen.press("ctrl+5")
            releases = root.home / "releases"
            screen.click_until(*PRIMARY, releases.is_dir)
            # A bundle that is being written has a name that begins with a dot.
            screen.until(lambda: len(list(releases.glob("[!.]*"))) == 3)
            screen.press("ctrl+q")
            told, complaints = window.communicate(timeout=60)
        finally:
            window.kill()
            window.communicate()
    assert (window.returncode, told, complaints) == (0, "", "")
    return root


def kept(root: Root) -> dict[Path, bytes]:
    """The person's settings and their project."""
    settings = root.home / ".config" / "Sfumato" / "Sfumato.conf"
    return {path: path.read_bytes() for path in (settings, root.home / "ward.sfumato")}


@pytest.fixture(scope="module")
def before(worked) -> dict[Path, bytes]:
    """What the person had before the upgrade."""
    return kept(worked)


@pytest.fixture(scope="module")
def upgraded(worked, before, deb) -> Root:
    """The root with the new version over the older one."""
    worked.install(deb)
    assert kept(worked) == before
    return worked


def test_the_window_goes_from_a_table_to_bundles(worked):
    bundles = sorted((worked.home / "releases").iterdir())
    assert len(bundles) == 3
    assert all(list(bundle.glob("*.csv")) for bundle in bundles)


def test_an_upgrade_keeps_settings_and_projects(upgraded, before):
    assert upgraded.told("sfumato", "--version") == f"Sfumato {__version__}\n"
    settings, project = before
    assert b"ward.sfumato" in before[settings]
    assert settings.read_bytes() == before[settings]
    assert project.is_file()


def test_what_was_released_before_the_upgrade_is_verified_after_it(upgraded):
    for bundle in sorted(path.name for path in (upgraded.home / "releases").iterdir()):
        told = upgraded.told(
            *("sfumato", "verify", f"releases/{bundle}", "--project", "ward.sfumato", "--json")
        )
        assert json.loads(told)["holds"]


def test_the_demonstration_runs_without_a_network(upgraded):
    assert "The demo is done." in upgraded.told("sfumato", "demo", "--out", "demo", quiet=False)
    assert len(list((upgraded.home / "demo" / "bundles").iterdir())) == 3
    assert list((upgraded.home / "demo" / "pictures").glob("*.png"))


def test_statistical_files_are_written_and_read_in_a_process_of_their_own(upgraded):
    release = ("sfumato", "release", "ward.sfumato", "--recipient", "Public file")
    written = ("--out", "statistical", "--format", "sav", "--accept", "a test")
    upgraded.told(*release, *written, quiet=False)
    [data] = (upgraded.home / "statistical").rglob("*.sav")
    place = data.relative_to(upgraded.home)
    upgraded.told("sfumato", "init", "again.sfumato", "--table", place, quiet=False)
    assert (upgraded.home / "again.sfumato").is_file()


def test_the_frozen_application_finds_what_the_sources_hold(upgraded):
    told = json.loads(upgraded.told("sfumato", "about", "--json"))
    command = (sys.executable, "-m", "sfumato", "about", "--json")
    assert told == json.loads(run(*command, cwd=ROOT / "app"))


def test_the_system_is_told_of_the_application_and_of_its_files(upgraded):
    share = upgraded.folder / "usr" / "share"
    run("desktop-file-validate", share / "applications" / "sfumato.desktop")
    for size in (16, 24, 32, 48, 64, 128, 256, 512):
        folder = share / "icons" / "hicolor" / f"{size}x{size}"
        assert (folder / "apps" / "sfumato.png").is_file()
        assert (folder / "mimetypes" / "application-x-sfumato.png").is_file()
    completion = share / "bash-completion" / "completions" / "sfumato"
    told = run("bash", "-c", f"source '{completion}' && complete -p sfumato")
    assert "sfumato" in told
    explained = json.loads((PACKAGING / "exceptions.json").read_text(encoding="utf-8"))
    page = share / "metainfo" / "sfumato.metainfo.xml"
    judged = subprocess.run(
        ["appstreamcli", "validate", "--no-net", "--no-color", str(page)],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    found = set(re.findall(r"^[EWI]: \S+: (\S+)", judged, re.MULTILINE))
    assert found == set(explained["appstreamcli"])


def test_lintian_and_rpmlint_find_nothing_unexplained(built, deb):
    explained = json.loads((PACKAGING / "exceptions.json").read_text(encoding="utf-8"))
    judged = subprocess.run(
        ["lintian", "--allow-root", "--tag-display-limit", "0", str(deb)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    ).stdout
    found = set(re.findall(r"^[EW]: \S+: (\S+)", judged, re.MULTILINE))
    assert found <= set(explained["lintian"])
    [rpm] = built.glob("*.rpm")
    judged = subprocess.run(
        ["rpmlint", str(rpm)], capture_output=True, text=True, timeout=600, check=False
    ).stdout
    found = set(re.findall(r"^\S+: [EW]: (\S+)", judged, re.MULTILINE))
    assert found <= set(explained["rpmlint"])


def test_the_rpm_holds_the_same_application(built, upgraded, tmp_path):
    [rpm] = built.glob("*.rpm")
    unpack = f"rpm2cpio '{rpm}' | cpio --extract --make-directories --quiet"
    run("bash", "-o", "pipefail", "-c", unpack, cwd=tmp_path)
    theirs = {
        path.relative_to(tmp_path).as_posix()
        for path in (tmp_path / "usr" / "lib" / "sfumato").rglob("*")
    }
    assert theirs == upgraded.files("usr/lib/sfumato")
    assert run(tmp_path / "usr" / "bin" / "sfumato", "--version") == f"Sfumato {__version__}\n"


def test_the_bill_of_materials_names_every_library_that_is_locked(built):
    [path] = built.glob("*.cdx.json")
    bill = json.loads(path.read_text(encoding="utf-8"))
    assert bill["metadata"]["component"]["version"] == __version__
    named = {each["name"].lower().replace("_", "-") for each in bill["components"]}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {re.split(r"[<>=]", each)[0].lower() for each in project["dependencies"]}
    assert asked | {"python", "pyinstaller"} <= named


def test_the_same_input_gives_the_same_bytes(built, tmp_path):
    if "SFUMATO_PACKAGES" not in os.environ:
        run(ROOT / "installer" / "package", "--out", tmp_path / "out", "--work", tmp_path / "work")
        again = (tmp_path / "out" / "SHA256SUMS").read_text(encoding="utf-8")
        assert again == (built / "SHA256SUMS").read_text(encoding="utf-8")
    listed = (built / "SHA256SUMS").read_text(encoding="utf-8")
    assert {line.split()[1] for line in listed.splitlines()} == {
        path.name for path in built.glob("sfumato*")
    }


def test_databases_are_read_without_anything_else(upgraded, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "ward.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE people AS SELECT range AS age, 'f' AS sex FROM range(50)")
    upgraded.give(path)
    upgraded.told(
        *("sfumato", "init", "database.sfumato", "--database", path.name, "--table", "people"),
        quiet=False,
    )
    assert (upgraded.home / "database.sfumato").is_file()


def test_servers_of_databases_are_asked_by_a_driver_that_is_there(upgraded):
    asked = ("--database", "postgresql://nobody@localhost:1/ward", "--table", "people")
    done = subprocess.run(
        upgraded.as_person("sfumato", "init", "server.sfumato", *asked),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == ExitCode.EXPECTED_ERROR
    assert "The server localhost:1 does not answer" in done.stderr


def test_removal_leaves_nothing_but_the_persons_own(upgraded, deb):
    own = upgraded.files(f"home/{PERSON}")
    upgraded.run("apt-get", "-q", "-y", "purge", "sfumato")
    left = {path for path in upgraded.files("usr", "etc", "opt", "var/lib") if "sfumato" in path}
    assert left == set()
    assert upgraded.files(f"home/{PERSON}") == own
    assert f"home/{PERSON}/ward.sfumato" in own
    upgraded.install(deb)
