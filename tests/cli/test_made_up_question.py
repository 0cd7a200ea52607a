"""A question that is added as one module, with its plot, is asked and answered everywhere."""

from __future__ import annotations

import json
from textwrap import dedent

import pytest

import sfumato.analysis.questions
import sfumato.plots
from sfumato.analysis.questions import all_questions
from sfumato.engine.core.progress import Silent
from sfumato.plots.style import light_style
from sfumato.project.project_file import ProjectFile
from sfumato.project.source import open_source
from sfumato.report.blocks import Paragraph, Picture, ReportGrid
from sfumato.report.material import Audience, ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.ui.panels.audit import PANEL
from sfumato.ui.panels.audit.pages import all_pages
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, noon
from tests.ui.clinic import open_clinic, protected
from tests.ui.hands import click, on_screen, settle

QUESTION = """
    from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind, Severity
    from sfumato.analysis.questions.question import AuditQuestion, Topic

    def answers(inputs, context):
        from sfumato.analysis.answers import Severity

        counts = [len(inputs.attributes), len(inputs.document.recipients)]
        table = AnswerTable(
            {"What": CellKind.TEXT, "How many": CellKind.COUNT, "Share": CellKind.SHARE},
            [("attributes", counts[0], 0.25), ("recipients", counts[1], None)],
        )
        yield Answer(
            ("Somebody made this question up.",),
            Severity.CAUTION,
            notes=("It is of no use.",),
            remedies=("Forget it.",),
            leads_to="policy",
            tables=(table,),
            figures=(AnswerFigure("made_up.build_counts", (counts,), "Two counts."),),
            facts={"counts": counts},
        )

    QUESTION = AuditQuestion(
        name="made-up", title="Made up", summary="Ask what nobody asks.", topic=Topic.FOUND,
        order=99, answers=answers, in_short=True, on_page=True, in_report=True,
    )
"""
PLOT = """
    import pandas as pd
    from sfumato.plots.axes import plot

    def build_counts(counts, style):
        return plot(style, "Two counts", "Of no use.", pd.DataFrame({"count": counts}))[0]
"""


@pytest.fixture(autouse=True)
def made_up(monkeypatch, tmp_path):
    """Put the question's module, and that of its plot, beside the others."""
    for package, text in ((sfumato.analysis.questions, QUESTION), (sfumato.plots, PLOT)):
        folder = tmp_path / package.__name__
        folder.mkdir()
        (folder / "made_up.py").write_text(dedent(text))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
        monkeypatch.delitem(__import__("sys").modules, f"{package.__name__}.made_up", False)
    for kept in (all_questions, all_pages):
        kept.cache_clear()
    yield
    for kept in (all_questions, all_pages):
        kept.cache_clear()


def test_it_is_asked_on_the_command_line(made, capsys):
    assert made.run("audit", "made-up", made.project) == 0, made.remarks
    said, heading, first, second, helps = made.output.splitlines()
    assert said == "Somebody made this question up."
    assert heading.split() == ["What", "How", "many", "Share"]
    assert first.split() == ["attributes", "1", "25.0", "%"]
    assert second.split() == ["recipients", "2", "–"]
    assert helps == "- Forget it."
    assert made.run("audit", "made-up", made.project, "--json") == 0
    [found] = json.loads(made.output)
    assert found == {
        "question": "made-up",
        "verdict": "caution",
        "answer": ["Somebody made this question up."],
        "counts": [1, 2],
    }
    assert made.run("audit", "questions", made.project) == 0
    assert made.output.splitlines()[-1].startswith("made-up: Caution: Somebody")
    assert made.run("audit", "--help") == 0
    assert "Ask what nobody asks." in capsys.readouterr().out


def test_it_has_a_section_in_the_report_of_the_house_alone(made):
    with ProjectFile.open(made.project, PASSPHRASE, read_only=True) as project:
        table, _ = open_source(project.document, Silent(), beside=made.folder)
        material = collect(project, in_batches(table), noon, Silent())
    outside = compose(material, ReportOptions(Audience.OUTSIDE))
    assert not any(section.title == "Made up" for section in outside.sections)
    inside = compose(material, ReportOptions())
    [blocks] = [section.blocks for section in inside.sections if section.title == "Made up"]
    texts = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert texts == ["Somebody made this question up.", "It is of no use."]
    [grid] = [block for block in blocks if isinstance(block, ReportGrid)]
    assert grid.rows == (("attributes", "1", "25.0 %"), ("recipients", "2", "–"))
    [picture] = [block for block in blocks if isinstance(block, Picture)]
    assert picture.build(light_style()).headline == "Two counts"


@pytest.mark.slow
def test_it_has_a_card_and_a_page_in_the_window(qtbot, session):
    panel = on_screen(qtbot, PANEL(session), 900, 800)
    open_clinic(session, protected())
    settle(qtbot, session)
    card = panel.overview.cards["made-up"]
    assert card.answer.text() == "Somebody made this question up."
    assert card.badge.word.text() == "Caution"
    [page] = [page for page in panel.pages if page.translated_title() == "Made up"]
    panel._show(page)
    settle(qtbot, session)
    assert page.sentence.text() == "Somebody made this question up."
    assert page.explanation.text() == "It is of no use."
    assert page.remedy.text() == "Forget it."
    assert page.shown.plots[0].figure.headline == "Two counts"
    [table] = page.shown.tables
    assert table.model().index(0, 0).data() == "attributes"
    asked = []
    session.panel_requested.connect(asked.append)
    click(page.go)
    assert asked == ["policy"]
