"""The nodes of a search as a table that can be sorted and filtered, and candidates side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd

from sfumato.analysis.tables.generalized_table import NodeMeasure
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.generalization.lattice import Node
from sfumato.formats.language import grouped
from sfumato.project.publication.generalization_pipeline import Searched
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.wording import tr

MOST_LISTED: Final = 20_000
"""More nodes than this are not listed: the safe ones are, or the minimal ones."""

AVERAGE: Final = "average"
METRICS: Final = (
    "generalization",
    "entropy",
    "discernibility",
    "classes",
    "smallest",
    "standing_out",
)
"""What is measured of a node beside its average level."""


@dataclass(frozen=True)
class SpecialNodes:
    """Nodes that are special.

    Parameters
    ----------
    chosen
        The one that would be published.
    best
        The best one.
    pinned
        Those that are compared.
    """

    chosen: Node | None
    best: Node | None
    pinned: tuple[Node, ...]

    def words(self, node: Node) -> str:
        """Return what is special about a node; empty where nothing is."""
        said = []
        if node == self.chosen:
            said.append(tr("chosen"))
        if node == self.best:
            said.append(tr("best"))
        if node in self.pinned:
            said.append(tr("pinned"))
        return ", ".join(said)


def titles() -> dict[str, str]:
    """Return the names of the list's columns but the levels."""
    return {
        "mark": tr("Mark"),
        "safe": tr("Safe"),
        AVERAGE: tr("Average level"),
        "generalization": tr("Loss, %"),
        "entropy": tr("Entropy loss, %"),
        "discernibility": tr("Indistinguishable"),
        "classes": tr("Classes"),
        "smallest": tr("Smallest class"),
        "standing_out": tr("Outlying"),
    }


def numbers_of(measured: NodeMeasure | None) -> dict[str, float]:
    """Return what is measured of a node; not a number where it is not yet."""
    if measured is None:
        return dict.fromkeys(METRICS, float("nan"))
    loss = measured.loss
    return {
        "generalization": round(100 * loss.generalization, 2),
        "entropy": round(100 * loss.entropy, 2),
        "discernibility": round(loss.average_discernibility, 1),
        "classes": loss.classes,
        "smallest": measured.smallest,
        "standing_out": loss.suppressed,
    }


class NodeList:
    """The nodes of a search as a table.

    Parameters
    ----------
    searched
        What was found.
    """

    def __init__(self, searched: Searched) -> None:
        result = searched.result
        self.names = result.names
        # A column may be called as another heading here is, such as "Safe": a space without width
        # behind its name, which nobody sees, keeps the two apart.
        self.level_heads = tuple(f"{name}\u200b" for name in self.names)
        self.nodes = all_nodes(searched, MOST_LISTED)
        self.complete = len(self.nodes) == result.lattice.size
        self.place = {node: place for place, node in enumerate(self.nodes)}
        self._levels = np.array(self.nodes, dtype=np.int64).reshape(len(self.nodes), -1)
        self.safe = result.safe[tuple(self._levels.T)]
        least = np.zeros_like(result.safe)
        least[tuple(np.array(result.minimal, dtype=np.int64).reshape(-1, len(self.names)).T)] = True
        self.minimal = least[tuple(self._levels.T)]
        self._numbers = np.full((len(self.nodes), len(METRICS)), np.nan)
        self._known: set[Node] = set()

    def take(self, measured: dict[Node, NodeMeasure]) -> None:
        """Take over what has been measured since."""
        for node in measured.keys() - self._known:
            if node in self.place:
                numbers = numbers_of(measured[node])
                self._numbers[self.place[node]] = [numbers[metric] for metric in METRICS]
            self._known.add(node)

    def frame(self, measured: dict[Node, NodeMeasure], marks: SpecialNodes) -> pd.DataFrame:
        """Return a row for each node, in the order of `nodes`."""
        self.take(measured)
        heads = titles()
        special = np.full(len(self.nodes), "", dtype=object)
        for node in (*marks.pinned, *filter(None, (marks.chosen, marks.best))):
            if node in self.place:
                special[self.place[node]] = marks.words(node)
        words = np.where(self.safe, tr("yes"), tr("no")).astype(object)
        columns: dict[str, object] = {
            heads["mark"]: special,
            heads["safe"]: np.where(self.minimal, tr("minimal"), words),
        }
        for axis, head in enumerate(self.level_heads):
            columns[head] = self._levels[:, axis]
        columns[heads[AVERAGE]] = self._levels.mean(axis=1).round(3)
        for place, metric in enumerate(METRICS):
            columns[heads[metric]] = self._numbers[:, place].copy()
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class Condition:
    """One filter: a column of the list, and the most or the least it may be."""

    column: str
    at_most: bool
    value: float

    @property
    def text(self) -> str:
        """The condition as it is shown."""
        sign = "≤" if self.at_most else "≥"
        return f"{self.column} {sign} {number(self.value, 6)}"

    def keeps(self, frame: pd.DataFrame) -> pd.Series:
        """Return which rows satisfy it; what is not measured yet does not."""
        values = frame[self.column]
        return values <= self.value if self.at_most else values >= self.value


def comparison(
    names: tuple[str, ...],
    nodes: list[Node],
    measured: dict[Node, NodeMeasure],
    marks: SpecialNodes,
) -> pd.DataFrame:
    """Return candidates side by side: a row for each level and measure, a column for each node."""
    heads = titles()
    columns: dict[str, list[str]] = {tr("Measure"): [tr("Level of {name}", name=n) for n in names]}
    columns[tr("Measure")] += [heads[AVERAGE], *(heads[metric] for metric in METRICS)]
    for place, node in enumerate(nodes):
        title = marks.words(node) or tr("candidate")
        numbers = numbers_of(measured.get(node))
        cells = [str(level) for level in node]
        cells.append(number(sum(node) / len(node)))
        cells += [_cell(metric, numbers[metric]) for metric in METRICS]
        columns[f"{place + 1}: {title}"] = cells
    return pd.DataFrame(columns)


def _cell(metric: str, value: float) -> str:
    if np.isnan(value):
        return "…"
    if metric in {"classes", "smallest", "standing_out"}:
        return grouped(int(value))
    return number(value, 4)


def node_text(names: Sequence[str], node: Node) -> str:
    """Return a node's levels, e.g. "age 2, sex 0"."""
    return ", ".join(f"{name} {level}" for name, level in zip(names, node, strict=True))


def all_nodes(searched: Searched, most: int) -> list[Node]:
    """Return the nodes to list: all of them, or the safe or the minimal ones where too many."""
    result = searched.result
    if result.lattice.size <= most:
        return [tuple(int(level) for level in node) for node in np.ndindex(*result.lattice.shape)]
    if result.safe_count <= most:
        return result.safe_nodes()
    return list(result.minimal[:most])
