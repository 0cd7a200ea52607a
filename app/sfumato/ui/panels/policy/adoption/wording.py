"""Sentences about adopted releases."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelField
from sfumato.plots.trust_ladder import Rung
from sfumato.project.document.adopted_files import BY_KEY, AdoptedFile
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.wording import grouped, number, spoken


def tr(template: str, **details: object) -> str:
    """Return a sentence about adopting in the person's language, filled in."""
    return QCoreApplication.translate("Adopting", template).format(**details)


def level_field(mechanism_name: str) -> LevelField:
    """Return the field that a mechanism's level itself is stated in: its first term's."""
    return mechanism_called(mechanism_name).terms[0].fields[0]


def short_level(entry: PolicyEntry, file: AdoptedFile) -> str:
    """Return an adopted release's level, e.g. ``p = 0.4``."""
    return f"{spoken(level_field(entry.mechanism).title)} = {number(file.level, 4)}"


def level_text(entry: PolicyEntry, file: AdoptedFile) -> str:
    """Return an adopted release's level and where it comes from, e.g. ``p = 0.4, estimated``."""
    text = short_level(entry, file)
    return tr("{level}, estimated", level=text) if file.estimated else text


def match_text(file: AdoptedFile) -> str:
    """Return how an adopted release's rows are matched."""
    if file.match.by == BY_KEY:
        matched = tr("matched by {column}", column=file.match.table_column)
        return f"{matched}, {records_text(file)}" if file.part is not None else matched
    return tr("matched row by row")


def records_text(file: AdoptedFile) -> str:
    """Return how many records an adopted release has, where it does not have all of them."""
    covered, records = file.part or (0, 0)
    return tr("{covered} of {records} records", covered=grouped(covered), records=grouped(records))


def fixed_rungs(entry: PolicyEntry, files: tuple[AdoptedFile, ...]) -> tuple[Rung, ...]:
    """Return the adopted releases that are rungs as the ladder shows them."""
    mechanism = mechanism_called(entry.mechanism)
    return tuple(
        Rung(
            file.called,
            mechanism.trust(file.level),
            tr("{level}, adopted", level=short_level(entry, file)),
            tr("An earlier release. Further levels are fitted to it."),
        )
        for file in files
        if file.rung
    )
