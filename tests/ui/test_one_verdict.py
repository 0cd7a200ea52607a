"""One verdict: all that is said of a recipient is the same.

By board, card, grid, check, audit, the report, as HTML and as PDF, and the recipient's README.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from sfumato.analysis.planning.board import board_rows, example_of
from sfumato.analysis.readiness.verdicts import Standing
from sfumato.cli import main
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, Terminal
from sfumato.engine.core.columns import Role
from sfumato.engine.table.table import Table
from sfumato.ui.look.theme import scaled
from sfumato.ui.panels.releases.readiness_card import ReadinessGrid
from sfumato.ui.shell.guarantee_card import WIDE, GuaranteeCard, RecipientSummary
from sfumato.ui.widgets.layout import ElidedLabel
from tests.ui.clinic import LEVELS, clinic_table, open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import on_screen

DANGER, WORTHLESS, CAUTION, GOOD = Standing
REASON = "The order is known anyway."


def alone(levels=LEVELS, **changes):
    """The clinic of whose columns nothing but the disease leaves."""
    document = protected(levels, **changes)
    hidden = [
        replace(spec, role=Role.IDENTIFYING) if spec.role is not Role.SENSITIVE else spec
        for spec in document.columns
    ]
    return replace(document, columns=tuple(hidden)), clinic_table()


def sound():
    return alone()


def in_order():
    return alone(rows_as_in_table=REASON)


def true_values():
    return alone({**LEVELS, "Clinic A": 1.0})


def nearly_true_values():
    return alone({**LEVELS, "Clinic A": 0.95})


def unique_age():
    frame = clinic_table().frame.copy()
    frame.loc[3, "age"] = 97
    return protected(), Table(pd.DataFrame(frame))


CASES = {
    unique_age: (DANGER, DANGER, DANGER),
    sound: (GOOD, GOOD, WORTHLESS),
    in_order: (CAUTION, CAUTION, WORTHLESS),
    true_values: (DANGER, GOOD, WORTHLESS),
    nearly_true_values: (GOOD, GOOD, WORTHLESS),
}
"""How Clinic A, the Institute and the Public stand, worked out by hand: 3 true records tell the
shares as exactly as the Public's file; beside it the
order of rows, a level or an age is changed."""
WORST_LOOK = {DANGER: "danger", WORTHLESS: "danger", CAUTION: "caution", GOOD: "good"}
WORDS = {DANGER: "Danger", WORTHLESS: "Worthless", CAUTION: "Caution", GOOD: "OK"}
_RANK = ("danger", "caution", "good", "muted")


def run(*arguments):
    """Run a command and return what it said."""
    said = io.StringIO()
    environment = {PASSPHRASE_VARIABLE: "correct horse"}
    main([*map(str, arguments)], Terminal(said, io.StringIO(), io.StringIO(), environment))
    return said.getvalue()


def text_of_pdf(path):
    """Return what poppler reads in a PDF, without blanks; nothing where it isn't installed."""
    if shutil.which("pdfinfo") is None:
        return ""
    command = ["pdfinfo", "-struct-text", str(path)]
    told = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.decode()
    return "".join("".join(re.findall(r'^ *"(.*)"$', told, re.M)).split())


def worst(looks):
    return min(looks, key=_RANK.index)


def on_file(session, folder):
    """Save the work with its table, and let it go."""
    project = save_clinic(session, folder)
    path = Path(session.document.source.path)
    source = replace(session.document.source, digest=hashlib.sha256(path.read_bytes()).hexdigest())
    session.edit("Note the source", replace(session.document, source=source))
    session.set_project(None)
    return project.path


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_every_place_tells_one_verdict_of_each_recipient(qtbot, session, tmp_path, case):
    document, table = case()
    expected = dict(zip(("Clinic A", "Institute", "Public"), CASES[case], strict=True))
    open_clinic(session, document, table)
    card = on_screen(qtbot, GuaranteeCard(session), 288, 900)
    grid = ReadinessGrid(session)
    qtbot.addWidget(grid)
    grid.show()
    session.steps.check()
    wait_for_jobs(qtbot, session)
    qtbot.waitUntil(lambda: session.steps.current and session.weighing.known)
    card.refresh()
    grid.refresh()

    assert {name: one.standing for name, one in card._summaries.items()} == expected
    looks = {
        name: worst([gauge.look for gauge in one._gauges]) for name, one in card._summaries.items()
    }
    assert looks == {name: WORST_LOOK[each] for name, each in expected.items()}, "the gauges"
    in_grid = {
        grid.model.cell(row, 0).text: [grid.model.cell(row, at).icon for at in range(5)]
        for row in range(grid.model.rowCount())
    }
    assert {name: icons[0] for name, icons in in_grid.items()} == looks
    assert {name: worst(icons[1:]) for name, icons in in_grid.items()} == looks
    ranks = [expected[name] for name in in_grid]
    assert ranks == sorted(ranks), "the worst first"
    card.set_compact(True)
    counts = [f"{list(expected.values()).count(each)} " for each in sorted(set(ranks))]
    told = card.counts.split(", ")
    assert all(part.startswith(count) for part, count in zip(told, counts, strict=True))

    columns = session.leaving.whole
    examples = {spec.name: example_of(spec, None, columns) for spec in document.columns}
    rows = board_rows(document, examples, session.attributes(), document.recipients)
    ways = {
        each.name: {row.spec.name: row.cells[at].leaves.value for row in rows}
        for at, each in enumerate(document.recipients)
    }

    path = on_file(session, tmp_path)
    checked = {each["recipient"]: each for each in json.loads(run("check", path, "--json"))}
    verdicts = {name: Standing[each["verdict"].upper()] for name, each in checked.items()}
    assert verdicts == expected
    assert {name: each["ready"] for name, each in checked.items()} == {
        name: each is not DANGER for name, each in expected.items()
    }
    told = run("check", path)
    for name, each in expected.items():
        [line] = [one for one in told.splitlines() if one.startswith(f"{name}: ")]
        assert ("not ready" in line) is (each is DANGER)
        assert each is DANGER or ("worthless" in line) is (each is WORTHLESS)
    verdict = {each["verdict"] for each in json.loads(run("audit", "questions", path, "--json"))}
    assert ("grave" in verdict) is (DANGER in expected.values())

    html, pdf, printed = tmp_path / "report.html", tmp_path / "report.pdf", ""
    run("report", path, "--out", html)
    if case is unique_age:  # what is in the PDF of one is in that of the others
        run("report", path, "--out", pdf)
        printed = text_of_pdf(pdf)
    page = " ".join(re.sub(r"<[^>]+>", " ", html.read_text(encoding="utf-8")).split())
    for name, each in expected.items():
        sentence = checked[name]["sentence"].replace("disease", "“disease”")
        told = f"{WORDS[each]}. {sentence}"
        by_way = defaultdict(list)
        for column, way in ways[name].items():
            by_way[way].append(column)
        for text in (told, *(f"{way}: {', '.join(by_way[way])}" for way in by_way)):
            assert text in page
            assert not printed or "".join(text.split()) in printed
    people = [word for name in expected for word in ("--recipient", name)]
    run("release", path, *people, "--accept", REASON, "--out", tmp_path / "out")
    for name in expected:
        [bundle] = (tmp_path / "out").glob(f"*{name.replace(' ', '-')}*")
        readme = (bundle / "README.md").read_text(encoding="utf-8")
        first = re.findall(r"^\| (\w+) \| \*\*([\w ]+)\*\* \|", readme, re.M)
        assert dict(first) == {c: way for c, way in ways[name].items() if way != "left out"}
        worthless = any(one["worthless"] for one in checked[name]["findings"])
        assert ("too few to rely on" in readme) is worthless


@pytest.mark.parametrize("word", ["Caution", "Partly worthless", "teilweise wertlos"])
def test_no_word_of_the_verdict_takes_room_from_a_recipient_s_name_on_the_card(qtbot, word):
    name = "Contract recipient, Nordland"
    summary = on_screen(qtbot, RecipientSummary(name), scaled(WIDE) - 48, 300)
    summary.show_verdict(Standing.WORTHLESS, word, "Nothing is left of branch.")
    shown = summary.findChild(ElidedLabel)
    assert shown.text() == name
    assert not shown.toolTip(), "its tip says what is cut off"
