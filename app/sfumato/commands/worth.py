"""What releases are worth to those who get them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sfumato.analysis.questions import question_called
from sfumato.commands.audit import answer_question
from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    flag,
    repeated,
)
from sfumato.commands.shared.groups import recipient_called
from sfumato.commands.shared.opening import (
    MEMORY,
    known_source,
    open_project,
    source_of,
)
from sfumato.engine.core.progress import Part
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.utility.mechanism_choice import MechanismChoice


def _run_worth(arguments: Namespace, terminal: Terminal) -> ExitCode:
    if arguments.mechanisms:
        return _compare(arguments, terminal)
    if arguments.by:
        return _price(arguments, terminal)
    return answer_question(question_called("worth"), arguments, terminal)


def _compare(arguments: Namespace, terminal: Terminal) -> ExitCode:
    """Say what each mechanism would be worth, for everything that is sensitive."""
    from sfumato.analysis.utility.mechanism_choice import choices_of

    with open_project(arguments, terminal, read_only=True) as project, terminal.working() as work:
        source = known_source(project, arguments.memory * 1e6, Part(work, 0.0, 0.5))
        document = project.document
        named = [recipient_called(document, name) for name in arguments.recipient]
        whom = named or document.recipients[:1]
        found = list(choices_of(document, source, project.keys, whom, Part(work, 0.5, 1.0)))
    terminal.tell(arguments.json, [each.plain() for each in found], _choices(found))
    return ExitCode.OK


def _price(arguments: Namespace, terminal: Terminal) -> ExitCode:
    """Say what protecting by a unit costs, and at which bound on its rows that is least."""
    from sfumato.analysis.utility.unit_price import price_of_unit
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise

    with open_project(arguments, terminal, read_only=True) as project, terminal.working() as work:
        table = source_of(project, Part(work, 0.0, 0.5))
        document = project.document
        named = [recipient_called(document, name) for name in arguments.recipient]
        whom = next(iter(named or document.recipients), None)
        alone, noise = document.with_unit(None), KeyedNoise(project.keys)
        found = price_of_unit(alone, table, arguments.by, noise, Part(work, 0.5, 1.0), whom)
    terminal.tell(arguments.json, found.plain(), (said(one) for one in found.sentences))
    return ExitCode.OK


def _choices(found: Sequence[MechanismChoice]) -> Iterator[str]:
    from sfumato.engine.core.wording import Sentence, listed
    from sfumato.engine.mechanisms import mechanism_called

    for each in found:
        name, why = each.recommended
        told = Sentence(
            "{columns}, for {recipient}", columns=listed(each.columns), recipient=each.recipient
        )
        yield f"{said(told) if each.recipient else listed(each.columns)}:"
        if name:
            title = Sentence(mechanism_called(name).title)
            yield f"  {said(Sentence('Recommended: {mechanism}.', mechanism=title))}"
        yield f"  {said(why) if why else worded('No mechanism serves it.')}"


WORTH = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "only for this one; may be given several times"),
        flag(
            "--mechanisms",
            "compare what each mechanism would be worth at the same privacy loss, for all that is"
            " sensitive, protected or not, and recommend one",
        ),
        repeated(
            "--by",
            "COLUMN",
            "say what protecting the rows that share this column costs in place of single rows,"
            " and how many rows of each had best leave; may be repeated for a unit of two columns",
        ),
        MEMORY,
        JSON,
    ),
    _run_worth,
    (
        "sfumato worth clinic.sfumato",
        'sfumato worth clinic.sfumato --recipient "Public file" --json',
        "sfumato worth clinic.sfumato --mechanisms",
        "sfumato worth clinic.sfumato --by household",
    ),
)
