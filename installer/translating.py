"""Make and renew the files that a translator works on, and compile them for the window.

    python -m installer.translating de     makes or renews
    resources/translations/sfumato_de.ts python -m installer.translating        renews
    every language there is

and compiles them. Both steps are Qt's own tools: lupdate keeps what is translated already and
marks what changed, lrelease compiles. What needs no Qt reads a catalogue of Python's gettext, made
from the same file. lupdate can't follow the house's ways of speaking, so it
reads a mirror of the source code that holds nothing but the texts (`installer.translatable`), each
in its own file and line: Qt Linguist then shows every text where it stands in the real code.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from installer.translatable import PLOTS, SENTENCES, VALUES, Text, texts_of

CHECKOUT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = Path("resources", "translations")
NAME: Final = "sfumato_{locale}.ts"
BELOW: Final = frozenset({SENTENCES, PLOTS, VALUES})
"""What is also said where no window is: by commands, in reports and in bundles."""


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
        # Relative lines: an edit of the sources changes one of them.
        shown = ["-locations", "relative", "-silent"]
        _tool("lupdate", f"@{listed}", *languages, *shown, "-ts", str(work))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(work, path)
    return path


def compiled(path: Path) -> tuple[Path, Path]:
    """Compile a translator's file for the window, and for what needs no Qt; return both."""
    made = path.with_suffix(".qm")
    _tool("lrelease", "-silent", str(path), "-qm", str(made))
    for_python = path.with_suffix(".mo")
    for_python.write_bytes(_gettext_of(messages_of(path)))
    return made, for_python


def messages_of(path: Path) -> dict[tuple[str, str], str]:
    """Return what is translated in a translator's file, by context and source."""
    return {
        (context.findtext("name", ""), message.findtext("source", "")): translation.text
        for context in ElementTree.parse(path).iter("context")
        for message in context.iter("message")
        for translation in message.iter("translation")
        if translation.text and translation.get("type") is None
    }


def _gettext_of(messages: Mapping[tuple[str, str], str]) -> bytes:
    """Return the catalogue of the layers below the window as GNU gettext's binary file.

    The format is in the manual of gettext, "The Format of GNU MO Files": a header of seven
    numbers, the tables of lengths and places of originals and translations, and the texts.
    """
    texts = {"": "Content-Type: text/plain; charset=UTF-8\n"} | {
        f"{context}\x04{source}": translation
        for (context, source), translation in messages.items()
        if context in BELOW
    }
    ordered = sorted((one.encode(), texts[one].encode()) for one in texts)
    count, start = len(ordered), 28
    place = start + 16 * count
    tables: list[bytes] = []
    for column in (0, 1):
        for pair in ordered:
            tables.append(struct.pack("<II", len(pair[column]), place))
            place += len(pair[column]) + 1
    written = b"".join(pair[column] + b"\0" for column in (0, 1) for pair in ordered)
    header = struct.pack("<7I", 0x950412DE, 0, count, start, start + 8 * count, 0, place)
    return header + b"".join(tables) + written


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
        sys.stdout.write("".join(f"{one}\n" for one in (path, *compiled(path))))
    if not locales:
        sys.stdout.write("There is no language yet. Name the one you want to begin: de, pt_BR…\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
