"""Sentences about several published tables, and their rows."""

from __future__ import annotations

import pandas as pd
from PySide6.QtCore import QCoreApplication

from sfumato.analysis.composition import MOST_BREACHES, Beside
from sfumato.formats.language import grouped
from sfumato.ui.look.wording import told
from sfumato.ui.widgets.messages import error_texts

MOST_VALUES = 8


def tr(template: str, **details: object) -> str:
    """Return a sentence about other holders' tables in the person's language, filled in."""
    return told(QCoreApplication.translate("OtherHolders", template), details)


def verdict(found: Beside) -> str:
    """Return whether every combination keeps l values."""
    standing = found.standing
    if standing.holds:
        return tr(
            "Nobody's value is narrowed to fewer than {weakest} {weakest:value|values} by all"
            " tables together",
            weakest=grouped(standing.weakest),
        )
    if standing.weakest == 0:
        return tr("Some classes of these tables share no value at all")
    if standing.weakest == 1:
        return tr("All tables together can tell somebody's value exactly")
    return tr(
        "All tables together can narrow somebody's value to {weakest} {weakest:value|values},"
        " fewer than {l}",
        weakest=grouped(standing.weakest),
        l=standing.l,
    )


def explanation(found: Beside) -> str:
    """Return whose table is the cause, and what can't be kept any more."""
    standing = found.standing
    said = []
    if found.problem is not None:
        said.append(tr("Yours takes no part: {problem}", problem=error_texts(found.problem)[0]))
    causes = [holder.holder for holder in standing.holders if holder.is_cause]
    if causes:
        said.append(
            tr(
                "Without the table of {holders}, {l} would remain.",
                holders=tr(" or of ").join(causes),
                l=grouped(standing.l),
            )
        )
    elif not standing.holds:
        said.append(tr("Leaving out one table alone does not mend it."))
    if standing.weakest == 0:
        said.append(
            tr("Then nobody can be in these classes at once, or the tables are about others.")
        )
    if found.others_leave < standing.l:
        said.append(
            tr(
                "Whatever you publish, {l} {l:value|values} can't be kept any more: the others'"
                " tables alone leave only {leave}.",
                l=grouped(standing.l),
                leave=grouped(found.others_leave),
            )
        )
    elif found.node is not None:
        said.append(
            tr(
                "Without yours, the others' tables leave {leave} {leave:value|values}.",
                leave=grouped(found.others_leave),
            )
        )
    return " ".join(said)


def holders_frame(found: Beside) -> pd.DataFrame:
    """Return a row for each table: what it contributes."""
    rows = [
        (
            each.holder,
            each.classes,
            each.diversity,
            each.without,
            tr("the cause") if each.is_cause else "",
        )
        for each in found.standing.holders
    ]
    heads = [tr("Table of"), tr("Classes"), tr("Own l"), tr("Left without it"), tr("Cause")]
    return pd.DataFrame(rows, columns=heads)


def breaches_frame(found: Beside) -> pd.DataFrame:
    """Return a row for each combination that breaks l."""
    rows = []
    for breach in found.breaches:
        names = [found.values[code] for code in breach.remaining[:MOST_VALUES]]
        rows.append(
            (
                len(breach.remaining),
                ", ".join(map(str, names)) or tr("none"),
                *(
                    holder.describe(number)
                    for holder, number in zip(found.holders, breach.classes, strict=True)
                ),
                ", ".join(breach.needed) or tr("several"),
                breach.combinations,
            )
        )
    heads = [
        tr("Left"),
        tr("Values"),
        *(holder.holder for holder in found.holders),
        tr("Caused by"),
        tr("Alike"),
    ]
    return pd.DataFrame(rows, columns=heads)


def breaches_sentence(found: Beside) -> str:
    """Return how many combinations break l."""
    count = len(found.breaches)
    if not count:
        return tr("There are none.")
    if count >= MOST_BREACHES:
        return tr("At least {count}; these come first. Choose one to see it.", count=grouped(count))
    if count == 1:
        return tr("One; what it tells is shown below.")
    return tr("{count} of them. Choose one to see what it tells.", count=grouped(count))
