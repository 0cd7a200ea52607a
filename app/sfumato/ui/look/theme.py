"""How the window looks: tokens, light and dark, following the system or the person's choice.

Colours and type sizes come from `sfumato.plots.style`, which plots share; what only widgets need
(hover, selection, the rail) is mixed from them here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cached_property
from string import Template
from typing import Final

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QWidget

from sfumato.engine.core.frozen import dataclass
from sfumato.plots.style import (
    PlotStyle,
    dark_style,
    light_style,
    strong_dark_style,
    strong_light_style,
)
from sfumato.resources import resource_path

FONT_FAMILY: Final = "Inter"
FALLBACK_FAMILY: Final = "DejaVu Sans"
_USUAL: Final = {"windows": 12.0, "cocoa": 13.0}
"""The system's font on platforms where nobody has enlarged it; pixels."""
_USUAL_ELSEWHERE: Final = 15.0
_EM: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)em\b(?: ([+-]) (\d+)px)?")


class _Space:
    """Distances in pixels, in multiples of four; what holds a line of text grows with it."""

    TIGHT: Final = 4
    INSIDE: Final = 8
    BETWEEN: Final = 16
    AROUND: Final = 24
    RADIUS: Final = 6

    def __init__(self) -> None:
        self.scale = 1.0
        """How large text is, as a multiple of the sizes in `TextSize`; see `Themes.set_scale`."""

    @property
    def FIELD(self) -> int:
        """Height of fields, buttons and table rows."""
        return scaled(32)


Space: Final = _Space()


def scaled(pixels: float) -> int:
    """Return a length that holds text, given as it is at scale 1, as it is now; pixels."""
    return round(pixels * Space.scale)


class TextSize:
    """Type sizes in pixels, at scale 1."""

    SMALL: Final = 12
    BODY: Final = 13
    HEADING: Final = 16


class Appearance(StrEnum):
    """What the person chose in the View menu."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"
    CONTRAST = "contrast"
    """High contrast, light or dark as the system is."""


@dataclass(frozen=True)
class Theme:
    """The tokens of the window; `style` holds those that plots share."""

    style: PlotStyle

    @property
    def name(self) -> str:
        """``"light"`` or ``"dark"``, of high contrast too."""
        return "dark" if self.style.dark else "light"

    @cached_property
    def on_accent(self) -> str:
        """Text on the accent colour."""
        return self.style.ink_on(self.style.accent) if self.style.dark else "#FFFFFF"

    @cached_property
    def accent_hover(self) -> str:
        """The accent colour under the pointer."""
        return mix(self.style.text, self.style.accent, 0.16)

    @cached_property
    def rail(self) -> str:
        """Behind the rail and the job bar: a step further back than the page."""
        if self.style.strong:
            return self.style.background
        return "#121519" if self.style.dark else "#F3F3EF"

    @cached_property
    def hover(self) -> str:
        """Behind something under the pointer."""
        return mix(self.style.text, self.style.background, 0.12 if self.style.strong else 0.06)

    @cached_property
    def selected(self) -> str:
        """Behind what is selected: a breath of the accent colour."""
        return mix(self.style.accent, self.style.surface, 0.22 if self.style.dark else 0.13)

    @cached_property
    def quiet(self) -> str:
        """Muted text where the ground is darker than the page, and where it is thin: placeholders.

        On rails, selections and hovers; drawn small, thin letters lose some of the contrast that
        their colour has.
        """
        return mix(self.style.text, self.style.muted, 0.5)

    @cached_property
    def field_line(self) -> str:
        """Around fields and buttons: stronger than a rule, weaker than text; seen at 3 : 1."""
        return (
            self.style.muted
            if self.style.strong
            else mix(self.style.muted, self.style.surface, 0.78)
        )

    @cached_property
    def disabled(self) -> str:
        """Text of what can't be used now."""
        return mix(self.style.muted, self.style.background, 0.8 if self.style.strong else 0.62)

    def tint(self, colour: str) -> str:
        """Return a colour's pale background, for message bars and badges."""
        if self.style.strong:
            return self.style.surface
        return mix(colour, self.style.surface, 0.16 if self.style.dark else 0.09)

    def palette(self) -> QPalette:
        """Return the palette, for everything that a style sheet does not reach."""
        s, palette = self.style, QPalette()
        roles = QPalette.ColorRole
        for role, colour in {
            roles.Window: s.background,
            roles.WindowText: s.text,
            roles.Base: s.surface,
            roles.AlternateBase: self.hover,
            roles.Text: s.text,
            roles.PlaceholderText: self.quiet,
            roles.Button: s.surface,
            roles.ButtonText: s.text,
            roles.BrightText: s.danger,
            roles.ToolTipBase: s.surface,
            roles.ToolTipText: s.text,
            roles.Highlight: self.selected,
            roles.HighlightedText: s.text,
            roles.Link: s.accent,
            roles.LinkVisited: s.accent,
            roles.Accent: s.accent,
            roles.Light: s.surface,
            roles.Midlight: self.hover,
            roles.Mid: self.field_line,
            roles.Dark: self.field_line,
            roles.Shadow: s.line,
        }.items():
            palette.setColor(role, QColor(colour))
        for role in (roles.WindowText, roles.Text, roles.ButtonText):
            palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(self.disabled))
        return palette

    def stylesheet(self) -> str:
        """Return the style sheet of the whole application, ``style/window.qss`` in its colours.

        Widgets say what they are by the dynamic property ``look`` (``primary``, ``quiet``,
        ``card``, ``title``, …); nothing sets colours of its own. Lengths in ``em`` are multiples
        of the window's text: Qt knows them for no type size.
        """
        sheet = resource_path("style", "window.qss").read_text(encoding="utf-8")
        s = self.style
        kinds = {"good": s.good, "info": s.accent, "caution": s.caution, "danger": s.danger}
        tints = {f"{kind}_tint": self.tint(colour) for kind, colour in kinds.items()}
        share = 1.0 if s.strong else 0.35
        lines = {f"{kind}_line": s.blend(colour, share) for kind, colour in kinds.items()}
        if s.strong:
            sheet += resource_path("style", "contrast.qss").read_text(encoding="utf-8")
        shared = ("background", "surface", "text", "muted", "line", "accent")
        own = ("accent_hover", "on_accent", "rail", "hover", "quiet", "selected", "field_line")
        filled = Template(sheet).substitute(
            kinds,
            **{name: getattr(s, name) for name in shared},
            **{name: getattr(self, name) for name in (*own, "disabled")},
            assets=resource_path("style", self.name).as_posix(),
            **tints,
            **lines,
        )
        return _EM.sub(_in_pixels, filled)


def _in_pixels(length: re.Match[str]) -> str:
    """Return a length of the style sheet in multiples of the text's size, and some pixels more."""
    more = int(f"{length[2]}{length[3]}") if length[2] else 0
    return f"{scaled(TextSize.BODY * float(length[1])) + more}px"


def mix(over: str, under: str, share: float) -> str:
    """Return `over` laid on `under` with opacity `share` (0 to 1), as ``#RRGGBB``."""
    a, b = QColor(over), QColor(under)
    channels = (
        round(share * x + (1 - share) * y)
        for x, y in zip(a.getRgb()[:3], b.getRgb()[:3], strict=True)  # type: ignore[index]
    )
    return "#" + "".join(f"{channel:02X}" for channel in channels)


def load_fonts() -> str:
    """Load the bundled faces and return the family to use."""
    try:
        folder = resource_path("fonts")
    except LookupError:
        return FALLBACK_FAMILY
    for path in sorted((*folder.glob("*.ttf"), *folder.glob("*.otf"))):
        QFontDatabase.addApplicationFont(str(path))
    return FONT_FAMILY if FONT_FAMILY in QFontDatabase.families() else FALLBACK_FAMILY


def font(size: int = TextSize.BODY, *, strong: bool = False, tabular: bool = False) -> QFont:
    """Return the application's font in one of the four sizes.

    Parameters
    ----------
    size
        One of `TextSize`.
    strong
        Semi-bold, for titles and names.
    tabular
        Figures of equal width, for tables and changing numbers.
    """
    made = QFont(QApplication.font())
    made.setPixelSize(scaled(size))
    made.setWeight(QFont.Weight.DemiBold if strong else QFont.Weight.Normal)
    if tabular:
        made.setFeature(QFont.Tag("tnum"), 1)
    return made


class Themes(QObject):
    """Keeps the application in the look that the person or the system asks for.

    There is one for each application; `themes()` returns it. Widgets that paint themselves
    redraw when `changed` is emitted.
    """

    changed = Signal()

    def __init__(self, application: QApplication) -> None:
        super().__init__(application)
        self._application = application
        self._appearance = Appearance.SYSTEM
        family = load_fonts()
        self._looks = {
            (False, False): Theme(light_style(family)),
            (True, False): Theme(dark_style(family)),
            (False, True): Theme(strong_light_style(family)),
            (True, True): Theme(strong_dark_style(family)),
        }
        self.current = self._looks[False, False]
        self.still = False
        """Whether nothing moves by itself."""
        self._family = family
        self._system_scale = _system_scale(application)
        application.setStyle("Fusion")
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._follow)
        hints.accessibility().contrastPreferenceChanged.connect(self._follow)
        self.set_scale()

    @property
    def appearance(self) -> Appearance:
        """What the person chose."""
        return self._appearance

    def set_appearance(self, appearance: Appearance) -> None:
        """Switch to light, to dark, to high contrast, or to whatever the system says."""
        self._appearance = appearance
        self._follow()

    def set_scale(self, own: float = 1.0) -> None:
        """Write in the size of the system's font, times a scale of the person's own.

        What is made afterwards has the room for it; so it is set before the window is made.
        """
        Space.scale = own * self._system_scale
        base = QFont(self._family)
        base.setPixelSize(scaled(TextSize.BODY))
        base.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
        self._application.setFont(base)
        self._apply()

    def _wanted(self) -> Theme:
        """Return the look for what the person chose and, where they left it, the system says."""
        hints, chosen = QGuiApplication.styleHints(), self._appearance
        if chosen in (Appearance.LIGHT, Appearance.DARK):
            return self._looks[chosen is Appearance.DARK, False]
        high = hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast
        dark = hints.colorScheme() == Qt.ColorScheme.Dark
        return self._looks[dark, chosen is Appearance.CONTRAST or high]

    def _follow(self) -> None:
        wanted = self._wanted()
        if wanted is not self.current:
            self.current = wanted
            self._apply()
            self.changed.emit()

    def _apply(self) -> None:
        application, sheet = self._application, self.current.stylesheet()
        restyled = bool(application.styleSheet())
        if restyled:
            # Where one sheet replaces another, Qt styles each widget once more for every widget
            # that it stands in: seconds in a filled window. With its rules forgotten it styles
            # none, and each is styled here: what is in sight now, the rest when it is shown.
            application.style().unpolish(application)
        application.setStyleSheet(sheet)
        application.setPalette(self.current.palette())
        if restyled:
            for widget in application.topLevelWidgets():
                self._restyle(widget)

    def _restyle(self, widget: QWidget) -> None:
        """Style a widget and what is in sight of it; what is hidden waits until it is shown."""
        if widget.isHidden():
            widget.installEventFilter(self)
            return
        widget.style().polish(widget)
        widget.update()
        for child in widget.children():
            if isinstance(child, QWidget):
                self._restyle(child)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Style what was hidden when the look changed: before it is painted, once."""
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget):
            watched.removeEventFilter(self)
            self._restyle(watched)
        return False


def _system_scale(application: QApplication) -> float:
    """Return how much larger than usual the system's font is; a smaller one counts as usual."""
    usual = _USUAL.get(QGuiApplication.platformName(), _USUAL_ELSEWHERE)
    return max(QFontInfo(application.font()).pixelSize() / usual, 1.0)


def themes() -> Themes:
    """Return the application's themes, set up at the first call.

    Raises
    ------
    RuntimeError
        If there is no application yet.
    """
    application = QApplication.instance()
    if not isinstance(application, QApplication):
        raise RuntimeError("there is no QApplication")
    found = application.findChild(Themes)
    return found if found is not None else Themes(application)


def current_theme() -> Theme:
    """Return the look the application has now."""
    return themes().current
