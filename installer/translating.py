"""Make and renew the files that a translator works on, and compile them for the window.

    python -m installer.translating de     makes or renews
    app/sfumato/resources/translations/sfumato_de.ts python -m installer.translating        renews
    every language there is

and compiles them. Both steps are Qt's own tools: lupdate keeps what is translated already and
marks what changed, lrelease compiles. lupdate can't follow the house's ways of speaking, so it
reads a mirror of the source code that holds nothing but the texts (`installer.translatable`), each
in its own file and line: Qt Linguist then shows every text where it stands in the real code.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from installer.translatable import Text, texts_of

CHECKOUT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = Path("app", "sfumato", "resources", "translations")
NAME: Final = "sfumato_{locale}.ts"


def renew(locale: str, checkout: Path = CHECKOUT) -> Path:
    """Make a language's file, or bring it up to date with the source code; return its path.

    What is translated already stays; texts that are gone are kept as obsolete at the end, so
    that a translation is found again when its text returns.

    Parameters
    ----------
    locale
        A language as Qt names it: ``de``, ``pt_BR``.
    checkout
        The folder with ``app`` in it.
    """
    path = checkout / FOLDER / NAME.format(locale=locale)
    with tempfile.TemporaryDirectory() as made:
        mirror = Path(made)
        work = mirror / path.relative_to(checkout)  # The way from it to a text is the real one.
        work.parent.mkdir(parents=True)
        if path.exists():
            shutil.copyfile(path, work)
        places = mirrored(texts_of(checkout), mirror)
        listed = mirror / "places.txt"
        listed.write_text("\n".join(map(str, places)), encoding="utf-8")
        languages = ["-source-language", "en", "-target-language", locale]
        shown = ["-locations", "absolute", "-silent"]
        _tool("lupdate", f"@{listed}", *languages, *shown, "-ts", str(work))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(work, path)
    return path


def compiled(path: Path) -> Path:
    """Compile a translator's file for the window; return the compiled one beside it."""
    made = path.with_suffix(".qm")
    _tool("lrelease", "-silent", str(path), "-qm", str(made))
    return made


def mirrored(texts: Iterable[Text], folder: Path) -> list[Path]:
    """Write every text where it stands in the source code, and nothing else; return the files."""
    lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for text in texts:
        call = f"QCoreApplication.translate({_quoted(text.context)}, {_quoted(text.source)})"
        lines[text.place][text.line].append(call)
    made = []
    for place, at in lines.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        every = ("; ".join(at.get(number, ())) for number in range(1, max(at) + 1))
        path.write_text("\n".join(every) + "\n", encoding="utf-8")
        made.append(path)
    return made


def _quoted(text: str) -> str:
    """Return a text as lupdate reads it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _tool(name: str, *arguments: str) -> None:
    """Run one of Qt's tools, which come with PySide6."""
    command = shutil.which(f"pyside6-{name}", path=sysconfig.get_path("scripts"))
    if command is None:
        raise FileNotFoundError(f"pyside6-{name} is not beside {sys.executable}")
    ended = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError(f"pyside6-{name} failed: {ended.stdout}{ended.stderr}")


def main(arguments: Sequence[str]) -> int:
    """Renew and compile the languages asked for, or all there are."""
    parser = argparse.ArgumentParser(prog="installer/translations", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("locales", nargs="*", metavar="LANGUAGE", help="such as de or pt_BR")
    locales = parser.parse_args(arguments).locales
    before, after = NAME.split("{locale}")
    locales = locales or sorted(
        path.name.removeprefix(before).removesuffix(after)
        for path in (CHECKOUT / FOLDER).glob(NAME.format(locale="*"))
    )
    for locale in locales:
        path = renew(locale)
        sys.stdout.write(f"{path}\n{compiled(path)}\n")
    if not locales:
        sys.stdout.write("There is no language yet. Name the one you want to begin: de, pt_BR…\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
