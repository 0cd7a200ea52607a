"""Trust levels and limits that are out of range, incomplete or can't be met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Recipient
from sfumato.project.release.release import make_release
from tests.bad_inputs.workshop import DIAGNOSES, Act, BadInput, Workshop
from tests.in_batches import in_batches

NAN = float("nan")


def stated(**statement: float) -> Callable[[Workshop], Act]:
    """A stage on which a level is stated for the sensitive attribute."""

    def stage(_: Workshop) -> Act:
        uniform = mechanism_called("uniform")
        attributes = [Attribute("diagnosis", kind, Domain(DIAGNOSES)) for kind in uniform.kinds][:1]
        return lambda: uniform.level(statement, attributes, uniform.default_settings(attributes))

    return stage


def _released(workshop: Workshop) -> Act:
    """A release by a level that some other program wrote into the document."""
    with workshop.open() as project:
        recipients = (Recipient("Public", {"diagnosis": {"retention_probability": 1.5}}),)
        project.save_document(replace(project.document, recipients=recipients))

    def act() -> object:
        with workshop.open() as project:
            return make_release(
                project, in_batches(workshop.table()), "Public", workshop.out, "csv", Silent()
            )

    return act


CASES = (
    BadInput(
        "a retention probability above 1",
        LevelError,
        "1.2",
        stated(retention_probability=1.2),
    ),
    BadInput(
        "a retention probability below 0",
        LevelError,
        "-0.1",
        stated(retention_probability=-0.1),
    ),
    BadInput(
        "a retention probability that is no number",
        LevelError,
        "retention_probability is not a number",
        stated(retention_probability=NAN),
    ),
    BadInput("an ε below 0", LevelError, "-1", stated(epsilon=-1.0)),
    BadInput("an ε that is no number", LevelError, "epsilon is not a number", stated(epsilon=NAN)),
    BadInput("a ρ1 above ρ2", LevelError, "ρ1 = 0.5 and ρ2 = 0.2", stated(rho1=0.5, rho2=0.2)),
    BadInput("a ρ1 of 0", LevelError, "ρ1", stated(rho1=0.0, rho2=0.5)),
    BadInput("a ρ2 of 1", LevelError, "ρ2", stated(rho1=0.1, rho2=1.0)),
    BadInput("a ρ1 without its ρ2", LevelError, "stated by rho1", stated(rho1=0.1)),
    BadInput("a level in unknown terms", LevelError, "stated by goodwill", stated(goodwill=0.5)),
    BadInput("an empty statement of a level", LevelError, "stated by nothing", stated()),
    BadInput("a release at a level out of range", LevelError, "1.5", _released),
)
