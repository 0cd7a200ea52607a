"""What a desktop is told: the launcher, the type of projects, the icons, the store's page."""

from __future__ import annotations

import configparser
import struct
import tomllib
import xml.etree.ElementTree as ElementTree

import pytest

from sfumato.project import SUFFIX
from sfumato.report.versions import LIBRARIES, made_of
from sfumato.resources import resource_path
from tests.packaging import PACKAGING, script
from tests.source_code import ROOT

DESKTOP = PACKAGING / "desktop"
MIME = "{http://www.freedesktop.org/standards/shared-mime-info}"
PROJECT_TYPE = "application/x-sfumato"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512)


@pytest.fixture(scope="module")
def launcher():
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(DESKTOP / "sfumato.desktop", encoding="utf-8")
    return parser["Desktop Entry"]


@pytest.fixture(scope="module")
def metainfo():
    return ElementTree.parse(DESKTOP / "sfumato.metainfo.xml").getroot()


def test_the_launcher_opens_a_projects_file(launcher):
    assert launcher["Exec"] == "sfumato %f"
    assert launcher["MimeType"] == f"{PROJECT_TYPE};"
    assert launcher["Terminal"] == "false"


def test_a_project_is_known_by_its_ending():
    root = ElementTree.parse(DESKTOP / "sfumato-mime.xml").getroot()
    [kind] = root
    assert kind.get("type") == PROJECT_TYPE
    assert kind.find(f"{MIME}glob").get("pattern") == f"*{SUFFIX}"
    assert kind.find(f"{MIME}icon").get("name") == PROJECT_TYPE.replace("/", "-")


@pytest.mark.parametrize("size", SIZES)
def test_the_icon_is_there_in_every_size(size):
    head = resource_path("icons", f"app-{size}.png").read_bytes()[:24]
    assert struct.unpack(">II", head[16:]) == (size, size)


def test_the_stores_page_agrees_with_the_launcher(metainfo, launcher):
    assert metainfo.findtext("name") == launcher["Name"]
    assert metainfo.findtext("launchable") == "sfumato.desktop"
    assert metainfo.findtext("provides/mediatype") == PROJECT_TYPE
    assert metainfo.findtext("icon") == launcher["Icon"]


def test_the_stores_pictures_are_shipped(metainfo):
    shown = [image.text.rpartition("/")[2] for image in metainfo.iter("image")]
    assert shown == [f"{name}.png" for name in script("packages").PICTURES]
    assert all((ROOT / "docs" / "pictures" / "1x" / name).is_file() for name in shown)


def test_versions_come_from_one_place(metainfo):
    assert metainfo.find("releases/release").get("version") == "@VERSION@"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" in project["dynamic"]
    assert made_of()[0].name == "Sfumato"


def test_every_library_that_is_asked_for_is_named_with_its_licence():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = {name.partition(">")[0] for name in project["dependencies"]}
    assert set(LIBRARIES) == asked
    assert all(LIBRARIES.values())


def test_what_packages_are_built_with_is_nothing_that_users_install():
    locked = ROOT / "installer" / "locked"
    users = (locked / "run.txt").read_text(encoding="utf-8")
    builders = (locked / "package.txt").read_text(encoding="utf-8")
    for name in ("pyinstaller", "nfpm", "cyclonedx-bom", "shtab"):
        assert f"\n{name}==" in builders
        assert f"\n{name}==" not in users
    pinned = {line for line in users.splitlines() if "==" in line}
    assert pinned <= set(builders.splitlines())
