"""A whole plan in one step: what makes every release safe, and worth most."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import JSON, PROJECT, Command, ExitCode, Terminal, flag
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.safe_plan import SafePlan


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.safe_plan import propose_plan

    applies = arguments.apply
    with opened_by_parts(arguments, terminal, 0.2, not applies) as (project, table, context):
        plan = propose_plan(project.document, table, project.keys, project.releases, context)
        if applies:
            project.save_document(plan.document)
    told = {**plan.plain(), "applied": applies}
    terminal.tell(arguments.json, told, _lines(plan, arguments.project, applies=applies))
    return ExitCode.OK if plan.is_safe else ExitCode.CHECK_FAILED


def _lines(plan: SafePlan, project: Path, *, applies: bool) -> Iterator[str]:
    yield said(plan.summary)
    for step in plan.steps:
        yield f"  - {said(step.told)}"
        if step.why:
            yield f"    {said(step.why)}"
    for each in plan.after:
        for one in each.standing:
            yield worded("{name}: left: {finding}", name=each.recipient, finding=one.sentence)
    yield from map(said, plan.outcomes)
    if not plan.steps:
        return
    if applies:
        yield worded("The project goes by this plan from now on.")
    else:
        yield worded("Nothing is changed yet.")
        yield f"  sfumato propose {project} --apply"


PROPOSE = Command(
    (
        *PROJECT,
        flag("--apply", "let the project go by the plan from now on"),
        MEMORY,
        JSON,
    ),
    _run,
    ("sfumato propose clinic.sfumato", "sfumato propose clinic.sfumato --apply"),
)
