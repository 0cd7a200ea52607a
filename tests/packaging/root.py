"""A fresh Debian in a folder, in which packages are installed and run as a person's own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

PERSON = "custodian"
PASSPHRASE = "nine herons on one leg"
_SCREENS = Path("/tmp/.X11-unix")


class Root:
    """A folder with a system of its own; commands run inside it.

    Parameters
    ----------
    folder
        Made by debootstrap.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home" / PERSON
        for name in ("resolv.conf", "hosts"):
            shutil.copy(Path("/etc") / name, folder / "etc" / name)
        (folder / "etc" / "apt" / "apt.conf.d" / "90test").write_text(
            'APT::Install-Recommends "false";\nAcquire::Check-Valid-Until "false";\n'
        )
        self.run("useradd", "--create-home", PERSON)

    def run(self, *command: object, **options: object) -> subprocess.CompletedProcess[str]:
        """Run a command as root, which must end well."""
        done = subprocess.run(
            ["chroot", str(self.folder), *map(str, command)],
            env={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "DEBIAN_FRONTEND": "noninteractive",
                "LANG": "C.UTF-8",
                **{name: value for name, value in os.environ.items() if "proxy" in name.lower()},
            },
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
            **options,
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done

    def as_person(self, *command: object, screen: str = "") -> list[str]:
        """Return the command that runs another one as a person without any network.

        Parameters
        ----------
        command
            What is run, in the person's home.
        screen
            The display to draw on; nowhere without one.
        """
        variables = [
            *("PATH=/usr/bin:/bin", f"HOME=/home/{PERSON}", "LANG=C.UTF-8", f"USER={PERSON}"),
            *(f"SFUMATO_PASSPHRASE={PASSPHRASE}",),
            f"DISPLAY={screen}" if screen else "QT_QPA_PLATFORM=offscreen",
        ]
        inside = 'cd && exec "$@"'
        return [
            *("unshare", "--net", "chroot", f"--userspec={PERSON}:{PERSON}", str(self.folder)),
            *("env", "-i", *variables, "sh", "-c", inside, "sh", *map(str, command)),
        ]

    def told(self, *command: object, quiet: bool = True) -> str:
        """Run a command as the person, which must end well and, if quiet, complain of nothing."""
        done = subprocess.run(
            self.as_person(*command), capture_output=True, text=True, timeout=600, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert not quiet or done.stderr == ""
        return done.stdout

    def install(self, package: Path) -> None:
        """Install a package, with what it needs."""
        shutil.copy(package, self.folder / "tmp" / package.name)
        self.run("apt-get", "-q", "update")
        self.run("apt-get", "-q", "-y", "install", f"/tmp/{package.name}")
        self.run("apt-get", "clean")

    def files(self, *places: str) -> set[str]:
        """Return all that lies in some places, by its path."""
        return {
            path.relative_to(self.folder).as_posix()
            for place in places
            for path in (self.folder / place).rglob("*")
        }

    def give(self, path: Path) -> None:
        """Put a copy of a file into the person's home."""
        shutil.copy(path, self.home / path.name)
        self.run("chown", f"{PERSON}:{PERSON}", f"/home/{PERSON}/{path.name}")

    def show_screens(self) -> None:
        """Let what runs inside reach the screens outside, by their sockets' folder."""
        inside = self.folder / _SCREENS.relative_to("/")
        inside.mkdir(exist_ok=True)
        # Where no screen has been shown since the machine started, it does not exist yet.
        _SCREENS.mkdir(exist_ok=True)
        _SCREENS.chmod(0o1777)
        subprocess.run(["mount", "--bind", str(_SCREENS), str(inside)], check=True)

    def hide_screens(self) -> None:
        """Take the screens away again."""
        subprocess.run(["umount", str(self.folder / _SCREENS.relative_to("/"))], check=True)
