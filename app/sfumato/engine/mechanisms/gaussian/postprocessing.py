"""How Gaussian noise measures what rounded and clipped numbers give away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.gaussian.rounding_leakage import rounding_leak
from sfumato.engine.mechanisms.gaussian.settings import FORM_SETTINGS, settings_of
from sfumato.engine.mechanisms.postprocessing import Forming
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks, measure_form_leak
from sfumato.engine.table.table import Attribute

Floats = npt.NDArray[np.float64]

_LINEAR = 0.2
"""The part of the work that linear estimates are."""


class GaussianForming(Forming):
    """Rounds and clips numbers after the noise."""

    def forms(self, attributes: Sequence[Attribute], settings: Settings) -> bool:
        """Return whether any attribute has a step or a bound."""
        return any(form.changes for form in settings_of(attributes, settings).forms)

    def rounding_variances(self, attributes: Sequence[Attribute], settings: Settings) -> Floats:
        """Return a twelfth of each squared step (Sheppard 1898): noise spreads numbers evenly."""
        forms = settings_of(attributes, settings).forms
        return np.array([(form.step or 0.0) ** 2 / 12.0 for form in forms])

    def form_leaks(
        self,
        levels: Sequence[float],
        attributes: Sequence[Attribute],
        settings: Settings,
        context: Context,
    ) -> FormLeaks | None:
        """Measure the leak by linear estimates of all attributes, and by Bayes' rule of each."""
        read = settings_of(attributes, settings)
        changed = [place for place, form in enumerate(read.forms) if form.changes]
        if not changed:
            return None
        plain = {name: value for name, value in settings.items() if name not in FORM_SETTINGS}
        both = {"formed": settings, "plain": plain}
        linear = measure_form_leak(self, attributes, both, levels, Part(context, 0.0, _LINEAR))
        spreads, bayes = read.spreads.tolist(), {}
        share = (1.0 - _LINEAR) / len(changed)
        for done, place in enumerate(changed):
            numbers = attributes[place].numbers
            start = _LINEAR + share * done
            if numbers is not None:
                bayes[attributes[place].name] = rounding_leak(
                    numbers,
                    spreads[place],
                    levels,
                    read.forms[place],
                    Part(context, start, start + share),
                )
        return FormLeaks(linear, bayes)
