"""The .deb and the .rpm: what lies where on the system, what they need of it, and nfpm's work."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Final

import parts

HERE: Final = Path(__file__).resolve().parent
MAKERS: Final = "The makers of Sfumato <sfumato@localhost>"
SUMMARY: Final = "release one table at many trust levels"
DESCRIPTION: Final = """\
Sfumato is for people who hold a table about individuals and release versions of it to recipients
whom they trust to different degrees. They mark what is sensitive and what identifies, decide how
much each recipient may learn, see what a release or several pooled would reveal, and export the
files with a guide to estimating from them. It connects to no network."""
COPYRIGHT: Final = """\
Copyright {year} The makers of Sfumato. Licensed under the Apache License, version 2.0, whose text
is on Debian in /usr/share/common-licenses/Apache-2.0. What others made and is used in it (its font
and its icons) is named in NOTICE.md.gz.

This package carries, each under its own licence, whose text is in the folder of its name in
/usr/share/doc/sfumato/licences:

{inside}

Qt is used under the GNU Lesser General Public License, version 3, whose text is on Debian also in
/usr/share/common-licenses/LGPL-3. Its libraries in /usr/lib/sfumato/_internal can be replaced by
others of the same interface.
"""
PICTURES: Final = ("light-3-policy-filled", "light-4-preview-filled", "light-6-audit-filled")
ARCHITECTURES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_NEEDED: Final = re.compile(r"^\s+NEEDED\s+(\S+)$", re.MULTILINE)
_GLIBC: Final = re.compile(r"\bGLIBC_(\d+(?:\.\d+)+)$", re.MULTILINE)


# ----- what the frozen application needs of the system


class Libraries:
    """The system's libraries that the files of a folder are linked with.

    Parameters
    ----------
    names
        Their names, such as ``libxcb.so.1``.
    glibc
        The version of the C library that is enough.
    """

    def __init__(self, names: set[str], glibc: str) -> None:
        self.names = sorted(names)
        self.glibc = glibc

    def for_debian(self) -> list[str]:
        """Return the packages that hold them."""
        system = _system_libraries()
        owners = {
            name: parts.owner_of(system[name]) if name in system else "" for name in self.names
        }
        if lacking := [name for name, owner in owners.items() if not owner]:
            sys.exit(f"No Debian package that is installed here holds {', '.join(lacking)}.")
        return sorted({f"libc6 (>= {self.glibc})", *set(owners.values()) - {"libc6"}})

    def for_rpm(self) -> list[str]:
        """Return what packages elsewhere say they provide."""
        bits = "()(64bit)"
        named = [f"{name}{bits}" for name in self.names if not name.startswith("ld-linux")]
        return [f"libc.so.6(GLIBC_{self.glibc})(64bit)", *named]


def _system_libraries() -> dict[str, Path]:
    """Return where the loader finds libraries."""
    told = subprocess.run(
        ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True
    ).stdout
    lines = (line.strip().partition(" => ") for line in told.splitlines())
    return {name.split()[0]: Path(path) for name, arrow, path in reversed(list(lines)) if arrow}


def libraries_of(frozen: Path) -> Libraries:
    """Return what a folder's libraries and programs need from outside it."""
    inside = {path.name for path in frozen.rglob("*")}
    needed: set[str] = set()
    versions = {(2, 28)}
    for path in sorted(frozen.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.read_bytes()[:4] == b"\x7fELF":
            told = subprocess.run(
                ["objdump", "-p", path], capture_output=True, text=True, check=True
            ).stdout
            needed |= set(_NEEDED.findall(told))
            versions |= {tuple(map(int, each.split("."))) for each in _GLIBC.findall(told)}
    return Libraries(needed - inside, ".".join(map(str, max(versions))))


def carried_from_system(frozen: Path) -> list[Path]:
    """Return the system's libraries that a folder holds copies of."""
    system = _system_libraries()
    if sys.base_prefix != "/usr":  # Python is not the system's, and has its licence of its own
        system = {name: path for name, path in system.items() if "libpython" not in name}
    names = (path.name for path in (frozen / "_internal").iterdir() if not path.is_symlink())
    return [system[name] for name in sorted(names) if name in system]


# ----- what lies where


class Share:
    """The files below ``/usr`` beside the application.

    Parameters
    ----------
    folder
        Where they are put together; stands for ``/usr``.
    source
        The checkout that is built.
    version, date
        What is built, and of when.
    """

    def __init__(self, folder: Path, source: Path, version: str, date: str) -> None:
        self.folder = folder
        self.source = source
        self.version = version
        self.date = date
        self.documents = folder / "share" / "doc" / "sfumato"

    def _put(self, place: str, content: str | bytes, *, packed: bool = False) -> None:
        path = self.folder / "share" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data, mtime=0) if packed else data)

    def fill(self, bill: Path) -> None:
        """Put all there but the licences of others."""
        from documentation import completion, man_page

        from sfumato.cli import parser_of_all

        page = man_page(parser_of_all(), self.version, self.date)
        self._put("man/man1/sfumato.1.gz", page, packed=True)
        self._put("bash-completion/completions/sfumato", completion(parser_of_all(), shell="bash"))
        self._put("zsh/vendor-completions/_sfumato", completion(parser_of_all(), shell="zsh"))
        self._desktop()
        for name in PICTURES:
            picture = self.source / "docs" / "pictures" / "1x" / f"{name}.png"
            self._put(f"sfumato/pictures/{name}.png", picture.read_bytes())
        self._put("doc/sfumato/sfumato.cdx.json", bill.read_bytes())
        for name in ("CHANGELOG", "NOTICE"):
            text = (self.source / f"{name}.md").read_bytes()
            self._put(f"doc/sfumato/{name}.md.gz", text, packed=True)
        when = format_datetime(datetime.fromisoformat(f"{self.date}T12:00:00+00:00"))
        entry = f"  * This version's changes are in CHANGELOG.md.gz.\n\n -- {MAKERS}  {when}\n"
        heading = f"sfumato ({self.version}) unstable; urgency=medium\n\n"
        self._put("doc/sfumato/changelog.gz", heading + entry, packed=True)

    def _desktop(self) -> None:
        files = self.source / "installer" / "packaging" / "desktop"
        icons = self.source / "resources" / "icons"
        self._put("applications/sfumato.desktop", (files / "sfumato.desktop").read_bytes())
        self._put("mime/packages/sfumato.xml", (files / "sfumato-mime.xml").read_bytes())
        told = (files / "sfumato.metainfo.xml").read_text(encoding="utf-8")
        told = told.replace("@VERSION@", self.version).replace("@DATE@", self.date)
        self._put("metainfo/sfumato.metainfo.xml", told)
        for icon in (*icons.glob("app-*.png"), icons / "app.svg"):
            size = icon.stem.removeprefix("app-")
            place = "scalable" if icon.suffix == ".svg" else f"{size}x{size}"
            for kind in ("apps/sfumato", "mimetypes/application-x-sfumato"):
                self._put(f"icons/hicolor/{place}/{kind}{icon.suffix}", icon.read_bytes())

    def copyright(self) -> None:
        """Say whose what is, and where each licence is."""
        inside = sorted(path.name for path in (self.documents / "licences").iterdir())
        listed = textwrap.fill(", ".join(inside), 76, initial_indent=" ", subsequent_indent=" ")
        self._put(
            "doc/sfumato/copyright",
            COPYRIGHT.format(inside=listed, year=self.date[:4]),
        )


# ----- nfpm


def configuration(
    frozen: Path, share: Share, libraries: Libraries, packager: str
) -> dict[str, Any]:
    """Return what nfpm is told for one kind of package (deb or rpm)."""
    contents: list[dict[str, Any]] = [
        {"src": f"{frozen}/", "dst": "/usr/lib/sfumato", "type": "tree"},
        {"src": "../lib/sfumato/sfumato", "dst": "/usr/bin/sfumato", "type": "symlink"},
    ]
    for path in sorted(share.folder.rglob("*")):
        place = path.relative_to(share.folder).as_posix()
        if packager == "rpm":
            place = place.replace("zsh/vendor-completions", "zsh/site-functions")
        if path.is_file():
            contents.append({"src": str(path), "dst": f"/usr/{place}"})
    debian = packager == "deb"
    return {
        "name": "sfumato",
        "arch": ARCHITECTURES[sysconfig.get_platform().partition("-")[2]],
        "platform": "linux",
        "version": share.version,
        "version_schema": "none",
        "release": "" if debian else "1",
        "section": "science",
        "priority": "optional",
        "maintainer": MAKERS,
        "vendor": "The makers of Sfumato",
        "license": "Apache-2.0",
        "description": f"{SUMMARY}\n{textwrap.fill(DESCRIPTION, 78)}",
        "depends": libraries.for_debian() if debian else libraries.for_rpm(),
        "recommends": ["xdg-utils"],
        "contents": contents,
        "deb": {"compression": "zstd"},
        "rpm": {
            "summary": SUMMARY.capitalize(),
            "compression": "zstd",
            "group": "Applications/Engineering",
        },
    }


def write(work: Path, out: Path, frozen: Path, share: Share, libraries: Libraries) -> None:
    """Write the .deb and the .rpm."""
    nfpm = shutil.which("nfpm", path=sysconfig.get_path("scripts"))
    for packager in ("deb", "rpm"):
        told = work / f"nfpm-{packager}.json"
        told.write_text(
            json.dumps(configuration(frozen, share, libraries, packager)), encoding="utf-8"
        )
        subprocess.run(
            [str(nfpm), "package", "--config", told, "--packager", packager, "--target", out],
            check=True,
            stdout=subprocess.DEVNULL,
            env={**os.environ},
        )
