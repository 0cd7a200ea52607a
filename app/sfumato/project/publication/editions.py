"""Whether a generalized table may follow an earlier edition, by what both bundles tell together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.criteria import DistinctDiversity, KAnonymity
from sfumato.engine.generalization.editions import TwoEditions, two_editions
from sfumato.engine.generalization.others import OtherTable, holder_classes
from sfumato.formats.bundles.reading import read_bundle
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.publication.followed import obstacle_beside
from sfumato.project.publication.prepared import ClassedRows
from sfumato.project.publication.public_counts import our_classes
from sfumato.project.release.release_compatibility import rows_of


@dataclass(frozen=True)
class ComparedEdition:
    """An earlier edition beside which a table may be published.

    Parameters
    ----------
    earlier
        Its publication.
    l
        The values that were asked to remain.
    found
        What both tell together.
    """

    earlier: ReleaseRecord
    l: int  # noqa: E741 - the field's own name for it
    found: TwoEditions

    @property
    def promise(self) -> Sentence:
        """What is promised over both editions."""
        return Sentence(
            "Somebody who also holds the edition of {day} and knows who came, left or stayed since"
            " then can narrow nobody's value to fewer than {l} {l:value|values}, as long as"
            " nobody changed in between, neither in that value nor in the columns that are shown"
            " more coarsely.",
            day=self.earlier.day,
            l=self.l,
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What the ledger keeps."""
        found = self.found
        return {
            "release_id": self.earlier.release_id,
            "l": self.l,
            "left": {"came": found.came, "left": found.left, "stayed": found.stayed},
            "classes": found.classes,
            "changed": found.changed,
        }

    def covers(self, release: ReleaseRecord) -> bool:
        """Return whether a publication shows what this one does."""
        levels = [each.details["generalization"]["levels"] for each in (release, self.earlier)]
        same = rows_of(release.source) == rows_of(self.earlier.source)
        return same and levels[0] == levels[1]


def compared_edition(
    bundle: Path,
    made: ClassedRows,
    facts: dict[str, Any],
    releases: Sequence[ReleaseRecord],
    context: Context,
) -> ComparedEdition:
    """Compare a table that is to be published with an earlier edition's bundle.

    Parameters
    ----------
    bundle
        The earlier edition, as it was published.
    made, facts
        The table, and what the ledger would keep of it.
    releases
        Those already made.
    context
        Progress and cancelling.

    Raises
    ------
    BundleError
        If it can't be read or was altered.
    DiversityError
        If it is none of this project's publications, the two can't be compared, or they leave fewer
        values of somebody than were asked for.
    """
    read = read_bundle(bundle, context)
    earlier = next(
        (each for each in releases if each.release_id == read.descriptor.release_id), None
    )
    if earlier is None or not earlier.is_publication or earlier.digest != read.digest:
        raise DiversityError(
            "The bundle at {path} is no generalized table that this project published.",
            "Choose the bundle of the earlier edition, unchanged.",
            path=bundle,
        )
    follows = obstacle_beside(made, releases) is None
    asked = _comparable(made, facts, earlier, follows)
    decided, values = made.prepared.decided, made.prepared.values
    table = OtherTable(
        earlier.release_id, read.table.frame, decided.quasi_identifiers, decided.sensitive
    )
    before = holder_classes(replace(table, holder=str(earlier.day)), values)
    found = two_editions(before, our_classes(made.prepared, made.node).classes)
    if found.weakest < asked:
        raise _too_few(found, asked, earlier.day, follows)
    return ComparedEdition(earlier, asked, found)


def _comparable(
    made: ClassedRows, facts: dict[str, Any], earlier: ReleaseRecord, follows: bool
) -> int:
    """Return how many values have to remain; refuse what can't be compared class by class.

    It is told whether the table can follow with counterfeits.
    """
    why = not_comparable(made, facts, earlier)
    if why is not None:
        raise DiversityError(
            "What the editions tell together can't be told, since {why}.",
            "Publish it with counterfeits, or give a reason to publish in spite of it."
            if follows
            else "Open the earlier table, or give a reason to publish in spite of it.",
            why=why,
        )
    return max(k.l for k in made.prepared.criteria if isinstance(k, DistinctDiversity))


def not_comparable(
    made: ClassedRows, facts: dict[str, Any], earlier: ReleaseRecord
) -> Sentence | None:
    """Return why a table can't be compared class by class with an earlier edition, if so.

    Parameters are those of `compared_edition`, and the earlier publication.
    """
    then, prepared = earlier.details["generalization"], made.prepared
    names = ("sensitive", "quasi_identifiers", "hierarchies", "levels")
    others = [k for k in prepared.criteria if not isinstance(k, KAnonymity | DistinctDiversity)]
    asked = [k.l for k in prepared.criteria if isinstance(k, DistinctDiversity)]
    exact = [
        name for name in made.columns if name not in (*made.changed, prepared.decided.sensitive)
    ]
    document = prepared.document
    obstacles = (
        (
            any(then.get(name) != facts[name] for name in names),
            Sentence("the levels or hierarchies are not the earlier ones"),
        ),
        (
            bool(then["suppressed_rows"] or facts["suppressed_rows"]),
            Sentence("records are left out, and who can't be told from the tables"),
        ),
        (
            bool(exact),
            Sentence(
                "rows of both can be linked by {columns}, which {count:is|are} published unchanged",
                columns=listed(exact) if exact else "",
                count=len(exact),
            ),
        ),
        (
            bool(document.rows_as_in_table or earlier.rows_as_in_table),
            Sentence("rows of both can be linked by their order"),
        ),
        (document.unit is not None, Sentence("several rows of a unit come and go together")),
        (
            bool(others) or not asked or max(asked) < 2,
            Sentence("only k-anonymity and distinct l-diversity are told over editions"),
        ),
    )
    return next((why for stands, why in obstacles if stands), None)


def _too_few(found: TwoEditions, asked: int, day: date, follows: bool) -> DiversityError:
    told = [
        Sentence("of who came {left}", left=found.came or 0),
        Sentence("of who left {left}", left=found.left or 0),
        Sentence("of who stayed {left}", left=found.stayed or 0),
    ]
    numbers = (found.came, found.left, found.stayed)
    weak = [
        words
        for words, number in zip(told, numbers, strict=True)
        if number is not None and number < asked
    ]
    return DiversityError(
        "Somebody who also holds the edition of {day} and knows who came, left or stayed could"
        " narrow values to fewer than the {l} that were asked for: {weak} {weakest:remains|remain}"
        " in some class.",
        "This concerns {few:,} of {classes:,} {classes:class|classes}. Publish it with"
        " counterfeits, or give a reason to publish in spite of it."
        if follows
        else "This concerns {few:,} of {classes:,} {classes:class|classes}. Publish once more"
        " people have come to them and left them, or give a reason to publish in spite of it.",
        few=found.fewer_than(asked),
        classes=found.classes,
        day=day,
        l=asked,
        weak=listed(weak),
        weakest=min(number for number in numbers if number is not None),
    )
