"""The words of the hierarchy editor, each in one place."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from sfumato.engine.generalization.hierarchies import (
    Dates,
    DateUnit,
    FourLevels,
    Intervals,
    IntervalStyle,
    Masking,
    Mend,
    Orders,
    Problem,
    ProblemKind,
    Side,
    Suppression,
    Taxonomy,
    sentence,
)
from sfumato.ui.look.wording import spoken


def tr(text: str) -> str:
    """Return a text in the person's language."""
    return QCoreApplication.translate("Hierarchy", text)


def grouped(number: int) -> str:
    """Return a whole number with its thousands apart."""
    return f"{number:,}".replace(",", "\u202f")


def kind_name(kind: str) -> str:
    """Return the name of a kind of recipe."""
    return {
        Intervals.kind: tr("Intervals of numbers"),
        Orders.kind: tr("Neighbours in an order"),
        Masking.kind: tr("Masked characters"),
        Dates.kind: tr("Spans of the calendar"),
        Taxonomy.kind: tr("A table"),
        FourLevels.kind: tr("Four, two, one class"),
        Suppression.kind: tr("The value or nothing"),
    }[kind]


def kind_meaning(kind: str) -> str:
    """Return what a kind of recipe does, in a sentence."""
    return {
        Intervals.kind: tr("37 becomes [35, 40), then [30, 40), then [20, 40), then *."),
        Orders.kind: tr("Values next to each other share a class, then neighbouring classes."),
        Masking.kind: tr("12345 becomes 1234*, then 123**, then 12***, then *."),
        Dates.kind: tr("2026-11-20 becomes 2026-11, then 2026 Q4, then 2026, then *."),
        Taxonomy.kind: tr("Each value has a row: the value, then its label at each level."),
        FourLevels.kind: tr("The values in their order, in four classes, then two, then one."),
        Suppression.kind: tr("The value is shown as it is, or hidden as *."),
    }[kind]


def style_name(style: IntervalStyle) -> str:
    """Return how an interval looks in a style."""
    return {IntervalStyle.HALF_OPEN: "[20, 30)", IntervalStyle.WHOLE: "20-29"}[style]


def side_name(side: Side) -> str:
    """Return which characters go first."""
    return {Side.RIGHT: tr("the last ones first"), Side.LEFT: tr("the first ones first")}[side]


def unit_name(unit: DateUnit) -> str:
    """Return the name of a span of the calendar."""
    return {
        DateUnit.DAY: tr("Day"),
        DateUnit.MONTH: tr("Month"),
        DateUnit.QUARTER: tr("Quarter"),
        DateUnit.HALF_YEAR: tr("Half-year"),
        DateUnit.YEAR: tr("Year"),
        DateUnit.FIVE_YEARS: tr("Five years"),
        DateUnit.DECADE: tr("Decade"),
        DateUnit.CENTURY: tr("Century"),
    }[unit]


def mend_name(mend: Mend, problem: Problem) -> str:
    """Return what a button that mends a problem says."""
    row_first = problem.kind in (ProblemKind.REPEATED, ProblemKind.CONFLICT)
    return {
        Mend.DROP_ROW: tr("Keep the first row") if row_first else tr("Remove the row"),
        Mend.FILL_ROW: tr("Fill the row up"),
        Mend.CUT_ROW: tr("Shorten the row"),
        Mend.LABEL_FROM_ABOVE: tr("Take the label above"),
        Mend.RESPELL: tr("Spell it as in the table"),
        Mend.ADD_HIDDEN: tr("Add it, hidden as *"),
        Mend.ADD_OWN: tr("Add it as a class of its own"),
        Mend.USE_FREQUENT_PARENT: tr("Use “{label}” for all").replace("{label}", problem.other),
        Mend.SPLIT_CLASS: tr("Make two classes"),
        Mend.ADD_TOP: tr("Add * above"),
    }[mend]


def problem_text(problem: Problem) -> str:
    """Return what is wrong, with the value it is about: only the custodian sees it."""
    about = {
        ProblemKind.SPELLING: f"“{problem.text}” – “{problem.other}”",
        ProblemKind.NO_TREE: f"“{problem.text}”",
        ProblemKind.NO_TOP: "",
    }.get(problem.kind, f"“{problem.text}”" if problem.text else "")
    said = spoken(sentence(problem))
    return f"{about}: {said}" if about else said
