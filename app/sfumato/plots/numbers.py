"""How plots write numbers of any size."""

from __future__ import annotations

import math


def amount(value: float, digits: int = 3) -> str:
    """Return a number with about so many significant digits, thousands apart by thin spaces."""
    if not math.isfinite(value):
        return "∞"
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if not -4 <= size < 12:
        return f"{value:.{digits - 1}e}".replace("-", "\u2212")
    decimals = max(digits - 1 - size, 0)
    text = f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", "\u2212")
    return text.rstrip("0").rstrip(".") if "." in text else text
