"""The look of every plot: the theme's tokens, without Qt.

The window makes a `PlotStyle` from its theme; tests and the command line may use
`light_style` and `dark_style`, which hold the same colours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import details_apart, filled
from sfumato.formats.language import columns_known, localized, quoted

if TYPE_CHECKING:
    from matplotlib.colors import LinearSegmentedColormap


@dataclass(frozen=True)
class PlotStyle:
    """Colours, font and sizes of a plot.

    Parameters
    ----------
    dark
        Whether the page is dark.
    background
        The page behind the plot.
    surface
        Cards and cells on the page.
    text, muted, line
        Texts, secondary texts, and rules and grids.
    accent
        The one accent colour.
    good, caution, danger
        States; always beside an icon or a word.
    original, released
        The two colours that true and released values have wherever they appear.
    trust
        The stops of the sequential scale of trust, least trusted first.
    font_family
        A font that matplotlib knows; see `sfumato.plots.figure`.
    small, body, title
        Font sizes in pixels at a device pixel ratio of 1.
    translate
        Turns a template in English into the person's language.
    strong
        Whether contrast is high: 7 : 1 for text, and lines that weak eyes can see.
    """

    dark: bool
    background: str
    surface: str
    text: str
    muted: str
    line: str
    accent: str
    good: str
    caution: str
    danger: str
    original: str
    released: str
    trust: tuple[str, ...]
    font_family: str = "DejaVu Sans"
    small: float = 12.0
    body: float = 13.0
    title: float = 16.0
    translate: Callable[[str], str] = str
    strong: bool = False

    def say(self, template: str, **details: object) -> str:
        """Return a template in the person's language, filled in."""
        if (columns := columns_known()) != ():
            details = details_apart(template, details, columns, quoted)
        return filled(self.translate(template), details, localized)

    @property
    def hypothetical(self) -> str:
        """The colour of what is not released, and drawn to compare: no danger's."""
        return self.blend(self.text, 0.68) if not self.strong else self.muted

    def trust_colour(self, trust: float) -> str:
        """Return the colour of a trust between 0 (nothing) and 1 (the original)."""
        return _trust_colour(self.trust, min(max(trust, 0.0), 1.0))

    def share_map(self) -> LinearSegmentedColormap:
        """Return the colour map for shares, from a breath of the accent to all of it."""
        return _colour_map("share", (self.blend(self.accent, 0.06), self.accent))

    def blend(self, colour: str, share: float) -> str:
        """Return `colour` mixed into the background, `share` of it (0 to 1)."""
        over, under = _channels(colour), _channels(self.background)
        return _hex([share * o + (1 - share) * u for o, u in zip(over, under, strict=True)])

    def ink_on(self, colour: str) -> str:
        """Return whichever of text and background can be read better on `colour`."""
        return max((self.text, self.background), key=lambda ink: contrast(ink, colour))


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour (WCAG 2.1), from 0 to 1."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in _channels(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@cache  # tables ask for each dot of each row, whenever they are resized
def _colour_map(name: str, colours: tuple[str, ...]) -> LinearSegmentedColormap:
    # The window asks for its colours before its first picture; matplotlib can wait until plots.
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    return LinearSegmentedColormap.from_list(name, colours)


@lru_cache(maxsize=4_096)  # the board asks for one in each cell, at every step of a drag
def _trust_colour(colours: tuple[str, ...], trust: float) -> str:
    red, green, blue, _ = _colour_map("trust", colours)(trust)
    return _hex((red, green, blue))


def _channels(colour: str) -> tuple[float, float, float]:
    """Return red, green and blue of ``#RRGGBB``, from 0 to 1."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red / 255, green / 255, blue / 255


def _hex(channels: Sequence[float]) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)


def contrast(first: str, second: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.1), from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


_LOOKS: Final = {
    # light, dark, and the same of high contrast
    "background": ("#FAFAF8", "#16191D", "#FFFFFF", "#000000"),
    "surface": ("#FFFFFF", "#1F2429", "#FFFFFF", "#000000"),
    "text": ("#1E2328", "#E8EAED", "#000000", "#FFFFFF"),
    "muted": ("#6B7280", "#9AA3AE", "#3B4048", "#C9CED6"),
    "line": ("#E4E4E0", "#2E343B", "#767B84", "#7F868F"),
    "accent": ("#2F5D8A", "#7FB2E5", "#003C78", "#8CC8FF"),
    "good": ("#2E7D5B", "#5FBF93", "#004D2E", "#7FE3B3"),
    "caution": ("#8A5A0B", "#E0B04A", "#5C3800", "#FFD166"),
    "danger": ("#B23A48", "#F08A95", "#8C0016", "#FFA9B4"),
    "original": ("#2F5D8A", "#7FB2E5", "#003C78", "#8CC8FF"),
    "released": ("#AE5A1C", "#E8A35C", "#7A2E00", "#FFB870"),
    "trust": (
        ("#74939A", "#4B86A6", "#2F5D8A", "#15304F"),
        ("#5F7A84", "#5C93B8", "#7FB2E5", "#DCEBFA"),
        ("#4E6166", "#2D5F7E", "#003C78", "#00162E"),
        ("#8FA6AE", "#79B4DC", "#8CC8FF", "#EAF5FF"),
    ),
}


def _style(font_family: str, *, dark: bool, strong: bool) -> PlotStyle:
    look: dict[str, Any] = {name: each[dark + 2 * strong] for name, each in _LOOKS.items()}
    return PlotStyle(dark=dark, font_family=font_family, strong=strong, **look)


def light_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the light look."""
    return _style(font_family, dark=False, strong=False)


def dark_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the dark look."""
    return _style(font_family, dark=True, strong=False)


def strong_light_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the light look of high contrast."""
    return _style(font_family, dark=False, strong=True)


def strong_dark_style(font_family: str = "DejaVu Sans") -> PlotStyle:
    """Return the dark look of high contrast."""
    return _style(font_family, dark=True, strong=True)
