"""What a search for safe generalizations works on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import Criterion
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.generalization.others import HolderClasses, OtherTable
from sfumato.engine.table.table import Table
from sfumato.project.document.generalization import Generalization
from sfumato.project.document.model import Document
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.long_views import RowsApart


@dataclass(frozen=True)
class Prepared:
    """Everything a search needs.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    coded
        Quasi-identifiers with their levels, and the sensitive attribute; rows that are alike
        are one.
    hierarchies
        One for each quasi-identifier.
    criteria
        What is asked; beside other tables, distinct diversity counts what remains.
    others, holders
        The other holders' tables, and their equivalence classes.
    values
        The sensitive attribute's domain as it is in the tables, None for missing; `coded.values`
        are their names.
    apart
        How rows are told apart by their quasi-identifiers.
    """

    document: Document = field(repr=False)
    table: LongTable = field(repr=False)
    coded: CodedTable
    hierarchies: tuple[Hierarchy, ...]
    criteria: tuple[Criterion, ...]
    others: tuple[OtherTable, ...]
    holders: tuple[HolderClasses, ...]
    values: tuple[Value, ...] = field(repr=False)
    apart: RowsApart = field(repr=False)

    @property
    def decided(self) -> Generalization:
        """What is decided about the generalized table."""
        return decided_in(self.document)

    def ground(self, table: Table) -> list[npt.NDArray[np.integer]]:
        """Return the ground codes of some rows, by quasi-identifier."""
        return self.apart.codes(table)


def decided_in(document: Document) -> Generalization:
    """Return what is decided about the generalized table.

    Raises
    ------
    DiversityError
        If nothing is.
    """
    if document.generalization is None:
        raise DiversityError(
            "Nothing is decided about a generalized table yet.",
            "Give the quasi-identifiers hierarchies, and say what is asked of every class.",
        )
    return document.generalization
