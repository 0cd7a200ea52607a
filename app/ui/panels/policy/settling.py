"""New settings of a mechanism, and recipients whose level they no longer allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.engine.mechanisms import mechanism_called
from app.engine.mechanisms.base import Settings, Statement
from app.project.model import PolicyEntry
from app.ui.messages import Action, MessageKind
from app.ui.panels.base import Panel
from app.ui.panels.policy import edits
from app.ui.panels.policy.wording import tr
from app.ui.wording import statement_text

if TYPE_CHECKING:
    from app.ui.panels.policy.editors.settings import SettingsEditor

TOPIC = "moved by settings"


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
    template = (
        "{names} is moved to {level}, as far as {entry} may now be told."
        if len(names) == 1
        else "{names} are moved to {level}, as far as {entry} may now be told."
    )
    panel.tell(
        MessageKind.INFO,
        tr(template, names=listed, level=level, entry=entry.key),
        tr("Nobody can be told more than the most trusted release tells."),
        Action(tr("Undo"), panel.session.undo),
        topic=TOPIC,
    )
