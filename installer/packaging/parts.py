"""What the frozen application is made of: Python packages, Python and the system's libraries.

The bill of materials is in CycloneDX's format; the licences are copied beside it.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

LOADER: Final = "pyinstaller"
"""Gives the program that starts Python."""
QT: Final = ("pyside6-essentials", "shiboken6")
"""Their wheels hold no licence texts."""
COMMON_LICENCES: Final = Path("/usr/share/common-licenses")
_LICENCE: Final = re.compile(r"(?i)(^|[/_.-])(licen[cs]es?|copying|notice)[^/]*$|/licenses/")


def needed_by(name: str) -> set[str]:
    """Return a distribution and all that it depends on here, by their canonical names.

    Of Sfumato's extras, what reads databases is among them: whoever has no Python can't add it.
    """
    wanted, needed = [name], set()
    while wanted:
        found = canonicalize_name(wanted.pop())
        if found not in needed:
            needed.add(found)
            asked = map(Requirement, distribution(found).requires or ())
            wanted += [each.name for each in asked if _is_wanted(each, found)]
    return needed


def _is_wanted(asked: Requirement, by: str) -> bool:
    extra = "databases" if by == "sfumato" else ""
    return asked.marker is None or asked.marker.evaluate({"extra": extra})


def owner_of(library: Path) -> str:
    """Return the Debian package that a file belongs to; empty where it belongs to none."""
    for place in (library, library.resolve()):
        for path in (str(place), str(place).removeprefix("/usr")):
            told = subprocess.run(
                ["dpkg", "-S", path], capture_output=True, text=True, check=False
            ).stdout
            if told:
                return told.split(":")[0].split(",")[0]
    return ""


def carried_packages(carried: list[Path]) -> dict[str, str]:
    """Return the Debian packages whose libraries are carried, with their versions."""
    owners = sorted(filter(None, {owner_of(library) for library in carried}))
    ask = ["dpkg-query", "-W", "-f", "${Version}"]
    return {
        name: subprocess.run([*ask, name], capture_output=True, text=True, check=True).stdout
        for name in owners
    }


def bill_of(version: str, packages: dict[str, str]) -> str:
    """Return the bill of materials.

    Parameters
    ----------
    version
        Sfumato's.
    packages
        From `carried_packages`.
    """
    tool = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    told = subprocess.run(
        [*tool, "--of", "JSON", sys.executable], capture_output=True, text=True, check=True
    ).stdout
    bill: dict[str, Any] = json.loads(told)
    inside = needed_by("sfumato") | {LOADER}
    here = [each for each in bill["components"] if canonicalize_name(each["name"]) in inside]
    for each in here:  # where the build found them is nothing to be told
        each.pop("externalReferences", None)
    here.append(_component("python", platform.python_version(), "PSF-2.0", "pkg:generic/python"))
    here += [
        _component(name, number, "", f"pkg:deb/debian/{name}") for name, number in packages.items()
    ]
    kept = {each["bom-ref"] for each in here}
    bill["components"] = [each for each in here if each["name"] != "sfumato"]
    bill["metadata"]["component"] = {
        **{"type": "application", "bom-ref": "sfumato", "name": "sfumato", "version": version}
    }
    bill["dependencies"] = [
        {**each, "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in kept]}
        for each in bill["dependencies"]
        if each["ref"] in kept
    ]
    return json.dumps(bill, indent=1, sort_keys=True) + "\n"


def _component(name: str, version: str, licence: str, url: str) -> dict[str, Any]:
    made = {
        "bom-ref": f"{name}=={version}",
        "name": name,
        "purl": f"{url}@{version}",
        "type": "library",
        "version": version,
    }
    return {**made, "licenses": [{"license": {"id": licence}}]} if licence else made


def copy_licences(to: Path, packages: dict[str, str]) -> None:
    """Copy the licences of all that is inside, a folder for each.

    Raises
    ------
    FileNotFoundError
        If something comes without any.
    """
    for name in sorted(needed_by("sfumato") | {LOADER}):
        if name in QT:
            found = [COMMON_LICENCES / "LGPL-3", COMMON_LICENCES / "GPL-3"]
        elif name == "sfumato":
            continue
        else:
            found = _licences_in(distribution(name))
        _copy(found, to / name)
    stdlib = Path(sysconfig.get_path("stdlib"))
    own = [stdlib / "LICENSE.txt", Path(f"/usr/share/doc/{stdlib.name}/copyright")]
    _copy([path for path in own if path.is_file()][:1], to / "python")
    for name in packages:
        _copy([Path(f"/usr/share/doc/{name}/copyright")], to / name)


def _licences_in(found: Distribution) -> list[Path]:
    """Return the files of a distribution that are licences, in its own folder or beside it."""
    return sorted(
        Path(str(found.locate_file(path)))
        for path in found.files or ()
        if ".dist-info/" in path.as_posix() and _LICENCE.search(path.as_posix())
    )


def _copy(files: list[Path], to: Path) -> None:
    if not files:
        raise FileNotFoundError(f"no licence of {to.name} was found")
    to.mkdir(parents=True)
    for number, path in enumerate(files):
        name = path.name if not (to / path.name).exists() else f"{number}-{path.name}"
        shutil.copyfile(path, to / name)
