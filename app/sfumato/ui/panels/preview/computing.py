"""What the preview shows, computed in a job from snapshots; no widgets here."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import EstimationError, SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.matrices.estimate import Target, estimate_frequencies, record_utility
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.plots.utility_frequencies import UtilityData
from sfumato.project.document.entry_plan import plan_entry
from sfumato.ui.panels.preview.released import Positions, Question, released_of, sample_positions


@dataclass(frozen=True)
class Seen:
    """What one recipient sees of the sample rows.

    Parameters
    ----------
    recipient
        The recipient.
    trust
        From 0 to 1.
    values
        The released values, as names.
    kept
        Whether each is the true one, shape (rows,).
    """

    recipient: str
    trust: float
    values: tuple[str, ...]
    kept: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Sample:
    """Some rows of one attribute, as they are and as each recipient sees them.

    Parameters
    ----------
    attribute
        Its name.
    rows
        The rows' numbers, from 1.
    true
        The true values, as names.
    seen
        Every recipient's view, the most trusted first.
    """

    attribute: str
    rows: tuple[int, ...]
    true: tuple[str, ...]
    seen: tuple[Seen, ...]


@dataclass(frozen=True)
class Preview:
    """Everything that is shown for one policy entry and recipient.

    Parameters
    ----------
    sample
        Before and after.
    domain
        The attribute's domain.
    frequencies
        The true shares, shape (m,).
    matrix
        The perturbation matrix; None where the mechanism has none for this domain.
    utility
        True and estimated shares; None where nothing can be estimated.
    kept_share
        The expected share of records that show their true value.
    problem
        Why nothing can be estimated.
    """

    sample: Sample
    domain: Domain
    frequencies: npt.NDArray[np.float64]
    matrix: PerturbationMatrix | None
    utility: UtilityData | None
    kept_share: float | None
    problem: SfumatoError | None = None


def compute_preview(question: Question, context: Context) -> Preview:
    """Compute what the preview shows.

    Raises
    ------
    SfumatoError
        If the policy entry can't be applied to the table.
    """
    attribute = question.attributes[0]
    domain = attribute.domain
    if domain is None:
        raise TypeError("the preview shows categorical attributes")
    sample = sample_of(question, domain, Part(context, 0.0, 0.2))
    plan = plan_entry(
        question.document,
        question.entry,
        {a.name: a for a in question.attributes},
        question.document.recipient(question.recipient),
    )
    mechanism = mechanism_called(plan.mechanism)
    matrix = mechanism.matrix(plan.level, question.attributes, plan.settings)
    if matrix is not None and matrix.size != domain.size:
        matrix = None
    frequencies = attribute.frequencies
    preview = Preview(
        sample,
        domain,
        frequencies,
        matrix,
        utility=None,
        kept_share=record_utility(frequencies, matrix) if matrix is not None else None,
    )
    if matrix is None:
        return preview
    counts = _released_counts(question, plan.level, Part(context, 0.2, 1.0))
    try:
        law = mechanism.estimate_law(plan.level, question.attributes, plan.settings)
        estimate = estimate_frequencies(counts, matrix, target=Target.TABLE, law=law)
    except EstimationError as error:
        return replace(preview, problem=error)
    utility = UtilityData(
        domain.names,
        frequencies,
        estimate.frequencies,
        estimate.low,
        estimate.high,
        estimate.confidence,
        question.recipient,
    )
    return replace(preview, utility=utility)


def sample_of(question: Question, domain: Domain, context: Context) -> Sample:
    """Return evenly spaced rows as they are and as every recipient with a level sees them."""
    rows = sample_positions(question.table.rows)
    attribute = question.attributes[0]
    true = np.asarray(question.columns[attribute.name].values)[rows]
    known = {a.name: a for a in question.attributes}
    seen: list[Seen] = []
    for recipient in question.document.recipients:
        context.report(len(seen) / len(question.document.recipients), "Releasing sample rows")
        try:
            plan = plan_entry(question.document, question.entry, known, recipient)
            released = _released(question, plan.level, rows, Silent())
        except SfumatoError:
            continue  # the policy says what is wrong with this recipient's level
        names = tuple(domain.names[code] for code in released)
        trust = mechanism_called(plan.mechanism).trust(plan.level)
        seen.append(Seen(recipient.name, trust, names, released == true))
    return Sample(
        attribute.name,
        tuple(int(row) + 1 for row in rows),
        tuple(domain.names[code] for code in true),
        tuple(sorted(seen, key=lambda view: -view.trust)),
    )


def _released_counts(question: Question, level: float, context: Context) -> npt.NDArray[np.int64]:
    """Return how often each value is released in the whole table, shape (m,)."""
    codes = _released(question, level, None, context)
    domain = question.attributes[0].domain
    size = domain.size if domain is not None else 0
    return np.bincount(codes, minlength=size).astype(np.int64)


def _released(
    question: Question, level: float, rows: Positions | None, context: Context
) -> npt.NDArray[np.unsignedinteger]:
    """Return the codes that are released of the entry's first attribute.

    Of some rows, or of all where `rows` is None.
    """
    attribute = question.attributes[0]
    released = released_of(question, level, rows, context)
    if attribute.domain is None:
        raise TypeError("the preview shows categorical attributes")
    return attribute.domain.encode(released[attribute.name], attribute.name)
