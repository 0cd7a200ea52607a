"""The states of the Audit panel and its questions, those about small groups apart."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pandas as pd
from PySide6.QtWidgets import QWidget

from sfumato.analysis.questions import question_called
from sfumato.analysis.tables.count_tables import release_counts
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.count_tables.counting import countable
from sfumato.report.material import Audience
from sfumato.ui.panels.audit.pages import all_pages
from sfumato.ui.panels.audit.pages.answer import page_of
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.audit.pages.diversity import DiversityPage
from sfumato.ui.panels.audit.pages.leak import LeakPage
from sfumato.ui.panels.audit.pages.numbers import NumbersPage
from sfumato.ui.panels.audit.pages.person import PersonPage
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.audit.panel import AuditPanel
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.project.test_pooled_rows import a_document
from tests.samples.make_households import households
from tests.screenshots.stage import Scene, Stage

Page = TypeVar("Page", bound=AuditPage)


def audit_panel(stage: Stage) -> AuditPanel:
    panel = stage.panel("audit")
    assert isinstance(panel, AuditPanel)
    return panel


def audit_page(stage: Stage, kind: type[Page]) -> Page:
    """Bring one question into sight."""
    page = audit_panel(stage).show_page(kind)
    assert isinstance(page, kind)
    stage.settle()
    return page


def _planned(stage: Stage) -> None:
    stage.open_sample()
    audit_panel(stage)
    stage.settle()


def _released(stage: Stage) -> AuditPanel:
    stage.open_sample()
    stage.create_project(released=True)
    panel = audit_panel(stage)
    stage.settle()
    return panel


# Who can be found


def _person(stage: Stage, **known: str) -> PersonPage:
    _released(stage)
    page = audit_page(stage, PersonPage)
    for name, text in known.items():
        field = page.fields[stage.called(name)]
        field.setText(text)
        field.editingFinished.emit()
    stage.settle()
    return page


def _person_found(stage: Stage) -> None:
    _person(stage, birth_year="1961 ± 1", sex="female", region="Harbour", occupation="Not employed")


def _person_beliefs(stage: Stage) -> None:
    page = _person(stage, sex="female")
    bar = page.sheet.verticalScrollBar()
    bar.setValue(bar.maximum())
    stage.settle()


# What a coalition learns


def _coalition(stage: Stage) -> CoalitionPage:
    _released(stage)
    return audit_page(stage, CoalitionPage)


def _nobody(stage: Stage) -> None:
    _coalition(stage).model.tick_all(False)
    stage.settle()


def _coalition_part(stage: Stage, part: str) -> None:
    page = _coalition(stage)
    _scroll_to(stage, page, getattr(page, part))


def _what_if(stage: Stage) -> None:
    page = _coalition(stage)
    page.what_if.level.set_value(0.8)
    page.what_if.ask()
    _scroll_to(stage, page, page.what_if)


def _scroll_to(stage: Stage, page: AuditPage, widget: QWidget) -> None:
    bar = page.sheet.verticalScrollBar()
    for _ in range(3):  # what comes into sight is drawn, and may take more room
        inside = page.sheet.widget()
        assert inside is not None
        place = widget.mapTo(inside, widget.rect().topLeft())
        bar.setValue(place.y())
        stage.settle()


# Numbers, one record, and the report


def _numbers(stage: Stage) -> None:
    stage.open_numbers()
    audit_page(stage, NumbersPage)


def _worth(stage: Stage) -> None:
    _planned(stage)
    audit_page(stage, next(kind for kind in all_pages() if kind.order == 91))


def _pooled_rows(stage: Stage) -> None:
    stage.session.open_table(
        "Open", SurveyedTable.of(in_batches(Table(households(300)))), a_document()
    )
    stage.settle()
    audit_page(stage, next(kind for kind in all_pages() if kind.order == 3))


def _record(stage: Stage) -> None:
    stage.open_sample()
    audit_page(stage, page_of(question_called("record")))


def _report(stage: Stage, audience: Audience | None = None) -> None:
    _released(stage)
    page = audit_page(stage, ReportPage)
    if audience is not None:
        page.audience.button_for(audience).click()
        stage.settle()


# Leaked files


def _leak_ready(stage: Stage) -> LeakPage:
    stage.open_sample()
    stage.create_project(released=True)
    return audit_page(stage, LeakPage)


def _leaked(stage: Stage, place: int, rows: int) -> pd.DataFrame:
    bundle = sorted((stage.folder / "bundles").iterdir())[place]
    return pd.read_csv(bundle / "data.csv").sample(rows, random_state=7)


def _traced(stage: Stage, *parts: tuple[int, int]) -> None:
    """Trace a file put together of rows of some bundles, or one of another table."""
    page = _leak_ready(stage)
    found = stage.folder / "found.csv"
    if parts:
        pd.concat([_leaked(stage, *part) for part in parts]).to_csv(found, index=False)
    else:
        found.write_text("town,rain\nX,1\n", encoding="utf-8")
    page.trace(found)
    stage.settle()


def _counts_pooled(stage: Stage) -> None:
    """What tables of counts tell together, two of which have left."""
    stage.open_sample()
    stage.create_project(released=True)
    session = stage.session
    assert session.project is not None
    assert session.source is not None
    counted = [spec.name for spec in countable(session.document)[:2]]
    for place, epsilon in ((0, 1.0), (1, 0.5)):
        recipient = session.document.recipients[place]
        given = (session.project, session.source, counted, recipient, epsilon)
        release_counts(*given, stage.folder / "counts", "Agreed with the board", False, Silent())
    session.ledger_changed.emit()
    audit_page(stage, page_of(question_called("counts")))


def _equal_levels(stage: Stage) -> None:
    page = _leak_ready(stage)
    document = stage.session.document
    first = document.recipients[0]
    same = tuple(replace(r, statements=first.statements) for r in document.recipients)
    stage.session.edit("Same level", replace(document, recipients=same))
    page.spacing.field.spin.setValue(0.0)
    stage.settle()


# Other holders' tables


def _other_holders(stage: Stage, *, needed: float = 3, down: bool = False) -> None:
    stage.generalize(others=("sex", "region"), sensitive="diagnosis")
    page = audit_page(stage, DiversityPage)
    page.l.spin.setValue(needed)
    stage.settle()
    if down:
        found = page.found.breaches
        somebodys = next(line for line, breach in enumerate(found) if breach.remaining)
        page.breaches.tables[0].selectRow(somebodys)
        page.person.of.set_value(2)
        page.person.share.spin.setValue(10)
        page.person.count.click()
        stage.settle()
        _scroll_to(stage, page, page.person.shown.tables[-1])
    stage.settle()


def _other_holder_gone(stage: Stage) -> None:
    stage.generalize(others=("sex",))
    Path(stage.folder / "sex registry.csv").unlink()
    audit_page(stage, DiversityPage)


def _in_parts(stage: Stage) -> None:
    """What is told of a table that is too long for memory."""
    _planned(stage)
    decided = stage.session.document
    stage.open_long()
    source = stage.session.document.source
    stage.session.edit("Protect", replace(decided, source=source))
    audit_panel(stage)


SCENES = (
    Scene("empty", audit_panel),
    Scene("planned", _planned),
    Scene("filled", _released),
    Scene("nobody", _nobody),
    Scene("coalition", _coalition),
    Scene("person", _person),
    Scene("person-found", _person_found),
    Scene("person-beliefs", _person_beliefs),
    Scene("records", partial(_coalition_part, part="distribution")),
    Scene("files", partial(_coalition_part, part="files")),
    Scene("what-if", _what_if),
    Scene("numbers", _numbers),
    Scene("pooled-rows", _pooled_rows),
    Scene("counts-pooled", _counts_pooled),
    Scene("worth", _worth),
    Scene("record-filled", _record),
    Scene("leak-empty", partial(audit_page, kind=LeakPage)),
    Scene("leak-ready", _leak_ready),
    Scene("leak-filled", lambda stage: _traced(stage, (1, 200))),
    Scene("leak-mixed", lambda stage: _traced(stage, (0, 300), (2, 150))),
    Scene("leak-equal", _equal_levels),
    Scene("leak-error", _traced),
    Scene("report-filled", _report),
    Scene("in-parts", _in_parts),
    Scene("report-outside", partial(_report, audience=Audience.OUTSIDE)),
    Scene("other-holders-empty", partial(audit_page, kind=DiversityPage)),
    Scene("other-holders", _other_holders),
    Scene("other-holders-person", partial(_other_holders, needed=8, down=True)),
    Scene("other-holders-broken", partial(_other_holders, needed=8)),
    Scene("other-holders-error", _other_holder_gone),
)
