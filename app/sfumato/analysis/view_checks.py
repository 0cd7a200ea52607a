"""What a recipient's view comes to in the rows that leave, and which level had better be raised."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from sfumato.analysis.findings import About, Deed, Examined, Finding, Remedy, Severity
from sfumato.analysis.shown_columns import Classes, Look, ShownColumns, look_of
from sfumato.analysis.views import with_level
from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import DiversityError, SfumatoError
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.coded import QuasiIdentifier
from sfumato.engine.generalization.hierarchies import Recipe
from sfumato.project.document.model import Document, Recipient
from sfumato.project.document.serialise import canonical_json, to_plain
from sfumato.project.release.groups import public_names
from sfumato.project.release.views import (
    Coarsened,
    check_view,
    coarsened,
    coarsening_of,
    coded,
    quasi_identifiers,
)

_COUNTED: Final = 2
"""So many raised levels are counted with all columns that leave, the best first."""


def shown_to(document: Document, recipient: Recipient, columns: ShownColumns) -> tuple[Look, ...]:
    """Return the columns that a recipient sees unperturbed, as they leave.

    Raises the errors of `coarsening_of` and `coarsened`.
    """
    seen = _seen_by(document, recipient, columns)
    return _looks(document, columns, seen)


def _looks(document: Document, columns: ShownColumns, seen: Coarsened | None) -> tuple[Look, ...]:
    names = [name for name in public_names(document) if name in columns.table.columns]
    looks = {name: look_of(document.column(name)) for name in names}
    if seen is not None:
        told = _told(document, seen)
        for name in seen.changed:
            looks[name] = replace(looks[name], view=told, column=seen.columns[name])
    return tuple(looks.values())


def _told(document: Document, seen: Coarsened) -> str:
    specs = tuple(document.column(name) for name in seen.coarsening.hierarchies)
    return canonical_json([seen.coarsening.to_dict(), to_plain(specs)])


def _seen_by(
    document: Document, recipient: Recipient, columns: ShownColumns, *, keeps: bool = True
) -> Coarsened | None:
    """Return what a recipient's view makes of the rows; None without one."""
    coarsening = coarsening_of(document, recipient)
    if coarsening is None:
        return None
    table, specs = columns.table, tuple(document.column(name) for name in coarsening.hierarchies)

    def encoded(spec: ColumnSpec, recipe: Recipe) -> QuasiIdentifier:
        about = canonical_json([to_plain(recipe), to_plain(spec)])
        find = partial(coded, (spec,), {spec.name: recipe}, table)
        return columns.keep(("quasi-identifier", about), find)[0]

    def find() -> Coarsened:
        recipes = coarsening.hierarchies.values()
        quasi = [encoded(spec, recipe) for spec, recipe in zip(specs, recipes, strict=True)]
        return coarsened(coarsening, document.columns, table, quasi)

    told = canonical_json([coarsening.to_dict(), to_plain(specs)])
    return columns.keep(("view", told), find) if keeps else find()


def broken_views(examined: Examined) -> Iterator[Finding]:
    """Tell where a recipient's view does not keep its k; a release would be refused."""
    document, recipient = examined.document, examined.recipient
    seen = _seen_by(document, recipient, examined.columns)
    if seen is None:
        return
    try:
        check_view(seen)
    except DiversityError as error:
        before = seen.view.suppressed_rows
        options = sorted(_raised(examined), key=lambda one: (one.suppressed, one.loss))
        yield Finding(
            "View",
            Severity.GRAVE,
            error.sentence,
            (before, seen.coarsening.own.k),
            tuple(dict.fromkeys([*(one.column for one in options), *seen.columns])),
            tuple(
                _raise(examined, one, "suppressed", before, one.suppressed)
                for one in options[:_COUNTED]
                if one.suppressed < before
            ),
            about=About.POLICY,
            asks=False,
        )


def raised_levels(examined: Examined, before: int) -> tuple[Remedy, ...]:
    """Return the levels of a recipient's view whose rise leaves fewer unique, the best first.

    Parameters
    ----------
    examined
        For whom.
    before
        How many are unique on all columns that leave.
    """
    if examined.recipient.view is None or not before:
        return ()
    # What is unique on the quasi-identifiers alone says which to count with the other columns.
    options = sorted(_raised(examined), key=lambda one: (one.unique, one.loss))[:_COUNTED]
    found = []
    for one in options:
        changed, name, columns = one.changed, examined.recipient.name, examined.columns
        after = columns.keep(
            ("unique", name, canonical_json(to_plain(changed.recipients)), _about(changed)),
            partial(_counted, changed, name, columns),
        )
        if after.unique < before:
            remedy = _raise(examined, one, "unique", before, after.unique, after.error)
            found.append((after.unique, remedy))
    return tuple(remedy for _, remedy in sorted(found, key=lambda each: each[0]))


def _counted(document: Document, name: str, columns: ShownColumns) -> Classes:
    """Count the classes of all columns that leave for a recipient."""
    seen = _seen_by(document, document.recipient(name), columns, keeps=False)
    return columns.passing(_looks(document, columns, seen))


@dataclass(frozen=True)
class _Raised:
    """One level of a recipient's view raised by one, and what that comes to."""

    column: str
    level: int
    changed: Document
    followed: tuple[str, ...]
    unique: int
    suppressed: int
    loss: float


def _raised(examined: Examined) -> list[_Raised]:
    """Return what each quasi-identifier one level up comes to; none where no view can be made."""
    document, columns, name = examined.document, examined.columns, examined.recipient.name
    seen = _seen_by(document, examined.recipient, columns)
    found: list[_Raised] = []
    for column in () if seen is None else quasi_identifiers(document):
        level = 0 if seen is None else seen.coarsening.level(column) + 1
        if seen is None or level > seen.highest.get(column, 0):
            continue
        examined.context.report(0.5, Sentence("Raising the level of {column}", column=column))
        changed, followed = with_level(document, name, column, level)
        with suppress(SfumatoError):  # where nobody could be given a release with it
            figures = columns.keep(
                ("raised", name, canonical_json(to_plain(changed.recipients)), _of_views(changed)),
                partial(_figures, changed, name, columns),
            )
            found.append(_Raised(column, level, changed, followed, *figures))
    return found


def _figures(document: Document, name: str, columns: ShownColumns) -> tuple[int, int, float]:
    """Return how many a view leaves unique and suppressed, and what it loses."""
    seen = _seen_by(document, document.recipient(name), columns, keeps=False)
    assert seen is not None
    return seen.view.unique, seen.view.suppressed_rows, seen.view.loss


def _of_views(document: Document) -> str:
    """Return what decides what views come to, beside the views themselves."""
    names = quasi_identifiers(document)
    recipes = {name: document.hierarchies.get(name) for name in names}
    return canonical_json([to_plain(recipes), to_plain([document.column(name) for name in names])])


def _about(document: Document) -> str:
    """Return what decides how columns leave, but for the views."""
    return canonical_json([to_plain(document.hierarchies), to_plain(document.columns)])


def _raise(
    examined: Examined, one: _Raised, what: str, before: int, after: int, error: int = 0
) -> Remedy:
    words = "Show {column} at level {level} to {names}: {figures}"
    figures = "{before:,} → {about}{after:,} unique"
    if what != "unique":
        figures = "{before:,} → {about}{after:,} suppressed"
    told = Sentence(figures, before=before, about="≈ " if error else "", after=after)
    return Remedy(
        Deed.RAISE,
        Sentence(
            words,
            column=one.column,
            level=one.level,
            names=listed((examined.recipient.name, *one.followed)),
            figures=told,
        ),
        one.column,
        before=before if what == "unique" else None,
        after=after if what == "unique" else None,
        error=error,
        recipient=examined.recipient.name,
        level=one.level,
    )
