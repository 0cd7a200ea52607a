"""What a mechanism begins with, and new settings with the recipients that they no longer allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.jobs.job import Job
from sfumato.jobs.runner import JobRunner
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.wording import statement_text
from sfumato.ui.panels.base import Panel
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import Action, MessageKind
from sfumato.ui.state.attributes import ROWS_AT_ONCE

if TYPE_CHECKING:
    from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor

TOPIC = "moved by settings"
JOB: Final = "first settings"
VALUES_AT_ONCE: Final = 2_000
"""Up to this many values the settings that a mechanism begins with are found in milliseconds."""


def find_settings(
    runner: JobRunner,
    attributes: Sequence[Attribute],
    mechanism: str,
    noise: KeyedNoise,
    then: Callable[[Settings], None],
    refuse: Callable[[SfumatoError], None],
) -> Job | None:
    """Find what a mechanism begins with: at once where that takes no time, else in a job.

    Parameters
    ----------
    runner
        Runs the job, which supersedes the one before.
    attributes
        What is protected.
    mechanism
        The mechanism's name.
    noise
        Draws noise for statistics of the table.
    then, refuse
        Called with the settings, or with why there are none.

    Returns
    -------
    Job or None
        The job that is at work; None where the settings were found.
    """
    work = partial(_first_settings, tuple(attributes), mechanism, noise)
    if not all(map(_is_quick, attributes)):
        names = " + ".join(attribute.name for attribute in attributes)
        title = tr("Working out the protection of {name}", name=names)
        return runner.run(title, work, then, refuse, key=JOB)
    runner.cancel(JOB)
    try:
        settings = work(Silent())
    except SfumatoError as error:
        refuse(error)
    else:
        then(settings)
    return None


def _is_quick(attribute: Attribute) -> bool:
    if attribute.numbers is not None:
        return len(attribute.numbers) <= ROWS_AT_ONCE
    return attribute.domain is None or len(attribute.domain.values) <= VALUES_AT_ONCE


def _first_settings(
    attributes: tuple[Attribute, ...], mechanism: str, noise: KeyedNoise, context: Context
) -> Settings:
    context.report(0.1, "Finding what the protection begins with")
    return mechanism_called(mechanism).first_settings(attributes, noise)


def take_settings(
    panel: Panel, entry: PolicyEntry, editor: SettingsEditor | None, settings: Settings
) -> None:
    """Take settings over, and move the recipients that they would leave without a sound level.

    Settings and moves are one edit, so that undo brings both back.

    Parameters
    ----------
    panel
        The Policy panel; it is told who is moved.
    entry
        The policy entry as it stands.
    editor
        What the settings were stated with; it knows the levels that they allow.
    settings
        The new settings, which hold for the entry's attributes.
    """
    session = panel.session
    document = edits.with_settings(session.document, entry.key, settings)
    moved: dict[str, Statement] = {}
    for recipient in document.recipients if editor is not None else ():
        stated = recipient.statements.get(entry.key)
        if stated is None or editor is None:
            continue
        fitted = editor.fitted(stated, settings)
        if fitted != stated:
            moved[recipient.name] = fitted
            document = edits.with_statement(document, recipient.name, entry.key, fitted)
    session.edit(
        tr("Change the protection of {name}", name=entry.key),
        document,
        merge_key=("settings", entry.key),
    )
    if moved:
        _tell(panel, entry, moved)
    else:
        panel.messages.clear(TOPIC)


def _tell(panel: Panel, entry: PolicyEntry, moved: dict[str, Statement]) -> None:
    names = list(moved)
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {tr('and')} {names[-1]}"
    level = statement_text(mechanism_called(entry.mechanism), moved[names[0]])
    details = {"names": listed, "level": level, "entry": entry.key}
    words = (
        tr("{names} is moved to {level}, as far as {entry} may now be told.", **details)
        if len(names) == 1
        else tr("{names} are moved to {level}, as far as {entry} may now be told.", **details)
    )
    panel.tell(
        MessageKind.INFO,
        words,
        tr("Nobody can be told more than the most trusted release tells."),
        Action(tr("Undo"), panel.session.undo),
        topic=TOPIC,
    )
