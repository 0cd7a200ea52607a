"""Draw the rooms of the house: ``python -m tests.rooms`` renews docs/pictures/rooms.svg.

A floor imports those below it alone. Within a floor, a room imports only rooms to its right.
"""

from __future__ import annotations

from graphlib import TopologicalSorter
from xml.sax.saxutils import escape

from tests.source_code import ROOT, modules

PICTURE = ROOT / "docs" / "pictures" / "rooms.svg"
FLOORS = (
    ("ui", "commands"),
    ("report",),
    ("jobs", "plots"),
    ("analysis",),
    ("project",),
    ("formats",),
    ("engine",),
)
PURPOSE = {
    "ui": "the window: Qt",
    "commands": "the command line",
    "report": "HTML and PDF",
    "jobs": "work beside the window",
    "plots": "one question a figure",
    "analysis": "one function a question that a person asks",
    "project": "what is kept, sealed, released and recorded",
    "formats": "reading and writing tables and bundles",
    "engine": "mathematics: no Qt, files, clocks or state",
}
WIDTH, MARGIN, CHIP, GAP, LETTER, HEADING = 920, 16, 26, 8, 7.2, 100


def imports_of_rooms(floor: str) -> dict[str, set[str]]:
    """Return for each folder of a floor the others that it imports."""
    home = ROOT / "app" / "sfumato" / floor
    names = sorted(path.parent.name for path in home.glob("*/__init__.py"))
    imported: dict[str, set[str]] = {name: set() for name in names}
    for name in names:
        for module in modules(f"app/sfumato/{floor}/{name}"):
            for _, target in module.imports():
                parts = target.split(".")
                if parts[:2] == ["sfumato", floor] and len(parts) > 2 and parts[2] in imported:
                    imported[name].add(parts[2])
        imported[name].discard(name)
    return imported


def _text(left: float, top: float, words: str, kind: str) -> str:
    return f'<text x="{left:.0f}" y="{top:.0f}" class="{kind}">{escape(words)}</text>'


def _box(left: float, top: float, width: float, height: float, kind: str) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}"'
    return f'<rect x="{left:.0f}" y="{top:.0f}" {size} rx="6" class="{kind}"/>'


def _room(floor: str, left: float, top: float, width: float) -> tuple[list[str], float]:
    """Return a room's drawing with its folders, and its height."""
    drawn, right = [], left + width - MARGIN
    at, line = left + MARGIN, top + 40
    folders = [*TopologicalSorter(imports_of_rooms(floor)).static_order()][::-1]
    for name in folders:
        wide = len(name) * LETTER + 16
        if at + wide > right:
            at, line = left + MARGIN, line + CHIP + GAP
        drawn += [_box(at, line, wide, CHIP, "folder"), _text(at + 8, line + 17, name, "name")]
        at += wide + GAP
    height = line + CHIP + 12 - top if folders else 40.0
    heading = [
        _text(left + MARGIN, top + 25, floor, "room"),
        _text(left + MARGIN + HEADING, top + 25, PURPOSE[floor], "purpose"),
    ]
    return [*heading, *drawn], height


def picture() -> str:
    """Return the picture as SVG."""
    parts, top = [], float(MARGIN)
    for place, floor in enumerate(FLOORS):
        width = (WIDTH - MARGIN * (len(floor) + 1)) / len(floor)
        rooms = [
            _room(name, MARGIN + index * (width + MARGIN), top, width)
            for index, name in enumerate(floor)
        ]
        height = max(each for _, each in rooms)
        for index, (drawn, _) in enumerate(rooms):
            parts += [_box(MARGIN + index * (width + MARGIN), top, width, height, "floor"), *drawn]
        top += height
        if place < len(FLOORS) - 1:
            middle = WIDTH / 2
            parts.append(
                f'<path d="M{middle:.0f} {top + 3:.0f} v14 m-4 -5 l4 5 l4 -5" class="arrow"/>'
            )
            top += 20
    height = top + MARGIN
    style = (
        "text{font-family:Inter,Helvetica,Arial,sans-serif}"
        ".page{fill:#FAFAF8}.floor{fill:#FFFFFF;stroke:#E4E4E0}.folder{fill:#EEF3F7;stroke:#C9D6E2}"
        ".room{font-size:15px;font-weight:600;fill:#1E2328}.purpose{font-size:12px;fill:#6B7280}"
        ".name{font-size:12px;fill:#1E2328}.arrow{fill:none;stroke:#6B7280;stroke-width:1.5}"
    )
    label = "The rooms of the house; a floor imports those below it alone."
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img"'
    lines = [
        f'{head} aria-label="{label}">',
        f"<style>{style}</style>",
        _box(0, 0, WIDTH, height, "page"),
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
