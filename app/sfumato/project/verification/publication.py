"""The part of a verification that looks at a generalized table."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.checker import verify_publication
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.row_order import Positions
from sfumato.formats.bundles.reading import Bundle
from sfumato.project.document.generalization import from_plain
from sfumato.project.publication.generalization_pipeline import Prepared, prepare, published_table
from sfumato.project.publication.publish import hierarchies_digest
from sfumato.project.release.compare import all_within, differing_rows
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.verification.recognition import Match, order_of
from sfumato.project.verification.rows import any_rows, describe_difference


def check_publication(
    bundle: Bundle, match: Match, regenerator: Regenerator, context: Context
) -> tuple[Check, ...]:
    """Check a bundle against the publication that the ledger knows it as.

    Its rows are compared with the table made again, and its promises are computed anew from
    its own rows.

    Parameters
    ----------
    bundle
        The bundle.
    match
        The publication of the ledger that it was recognised as.
    regenerator
        Knows the source table, the present document, whose hierarchies make the table again,
        and the order of its rows.
    context
        Progress and cancelling.
    """
    assert match.record is not None
    facts = match.record.details["generalization"]
    document, table = regenerator.document, regenerator.table
    decided = replace(from_plain(facts["decided"]), node=None)
    document = replace(document, generalization=decided)
    try:
        prepared = prepare(document, table, Part(context, 0.0, 0.4))
    except SfumatoError as error:
        return (Check("Table", False, Sentence("It can't be made again. {error}", error=error)),)
    checks = [_check_promises(bundle, decided.quasi_identifiers, decided.sensitive, prepared)]
    if hierarchies_digest(prepared.hierarchies) != facts["hierarchies"]:
        finding = "It can't be made again: a hierarchy is not what it was when it was published."
        return (*checks, Check("Table", False, finding))
    context.report(0.6, "Making the table again")
    try:
        publication, _ = published_table(document, table, prepared, tuple(facts["levels"]))
        rows = publication.rows
        order = order_of(match, regenerator, rows)
    except SfumatoError as error:
        return (
            *checks,
            Check("Table", False, Sentence("It can't be made again. {error}", error=error)),
        )
    made = publication.frame.take(order).reset_index(drop=True)
    return (*checks, _check_rows(bundle.table.frame, made, rows[order]))


def _check_promises(
    bundle: Bundle, quasi_identifiers: tuple[str, ...], sensitive: str, prepared: Prepared
) -> Check:
    """Check what was promised from the bundle's own rows."""
    title = "Promises"
    try:
        found = verify_publication(
            bundle.table.frame,
            quasi_identifiers,
            sensitive,
            prepared.criteria,
            prepared.others,
            prepared.values,
        )
    except SfumatoError as error:
        return Check(title, False, str(error))
    failing = [c.criterion.title for c in found.criteria if not c.holds]
    if failing:
        return Check(
            title, False, Sentence("Its rows don't keep {names}.", names=", ".join(failing))
        )
    kept = ", ".join(c.criterion.title for c in found.criteria)
    return Check(
        title,
        True,
        Sentence(
            "Its {rows:,} rows in {classes:,} classes keep {kept}.",
            rows=found.rows,
            classes=found.classes,
            kept=kept,
        ),
    )


def _check_rows(found: pd.DataFrame, made: pd.DataFrame, places: Positions) -> Check:
    """Check the rows against those of the table made again, from these rows of the source."""
    title = "Table"
    if list(found.columns) != list(made.columns):
        return Check(title, False, "Its columns are not those that were published.")
    rows = min(len(found), len(made))
    differing = any_rows(
        (differing_rows(made[name].iloc[:rows], found[name].iloc[:rows]) for name in made), rows
    )
    if len(found) == len(made) and not differing.any():
        return Check(
            title, True, Sentence("All {rows:,} rows are those that were published.", rows=rows)
        )
    if all_within(made, found):
        what = "in another order" if len(found) == len(made) else "but not all of them"
        return Check(
            title, False, Sentence("Its rows are those that were published, {what}.", what=what)
        )
    if len(found) != len(made):
        return Check(
            title,
            False,
            Sentence(
                "It has {found:,} rows; {made:,} were published.", found=len(found), made=len(made)
            ),
        )
    return Check(
        title,
        False,
        Sentence(
            "They are not those published: {difference}.",
            difference=describe_difference(differing, places[:rows]),
        ),
    )
