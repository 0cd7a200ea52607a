"""What recipients may do with releases: shown, or stated for every release to come."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from sfumato.commands.shared.command import JSON, PROJECT, Command, ExitCode, Terminal, option
from sfumato.commands.shared.opening import open_project


def _run_terms(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.formats.language import said, worded
    from sfumato.formats.terms import TERM_TITLES, ReleaseTerms

    stated = {name: getattr(arguments, name) for name in TERM_TITLES}
    given = {name: text.strip() for name, text in stated.items() if text is not None}
    with open_project(arguments, terminal, read_only=not given) as project:
        terms = project.document.terms or ReleaseTerms()
        if given:
            terms = replace(terms, **given)
            project.save_document(replace(project.document, terms=terms.or_none))
    plain = dict(terms.stated)
    lines = [f"{said(TERM_TITLES[name])}: {text}" for name, text in plain.items()]
    nothing = worded("No terms are stated: the README tells recipients to ask you.")
    terminal.tell(arguments.json, plain, iter(lines or [nothing]))
    return ExitCode.OK


TERMS = Command(
    (
        *PROJECT,
        option("--controller", "NAME", "who is responsible for the table"),
        option("--purpose", "TEXT", "what releases may be used for"),
        option("--conditions", "TEXT", "what recipients have to keep to"),
        option("--valid-until", "DAY", "the last day on which releases may be used, as 2027-12-31"),
        option("--contact", "TEXT", "whom recipients ask"),
        JSON,
    ),
    _run_terms,
    (
        "sfumato terms clinic.sfumato",
        'sfumato terms clinic.sfumato --purpose "Research on housing" --valid-until 2027-12-31',
        'sfumato terms clinic.sfumato --valid-until ""',
    ),
)
