"""Who is alone in what goes out as it is, told before it does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.table.table import Table
from sfumato.ui.panels.releases import PANEL
from tests.ui.clinic import open_clinic, protected, wait_for_jobs


@pytest.fixture
def ready(qtbot, session):
    made = PANEL(session)
    qtbot.addWidget(made)
    made.resize(900, 800)
    made.show()
    open_clinic(session, protected())
    wait_for_jobs(qtbot, session)
    return made


def told(qtbot, panel, begin):
    shown = panel.form.alone.text
    qtbot.waitUntil(lambda: shown.text().startswith(begin), timeout=20_000)
    return shown.text()


def test_who_is_alone_in_what_goes_out_as_it_is_is_told_before(qtbot, ready):
    session = ready.session
    names = [c.name for c in session.document.columns if c.role is Role.INSENSITIVE]
    names += [c.name for c in session.document.columns if c.role is Role.QUASI_IDENTIFIER]
    sizes = session.table.frame.groupby(names, dropna=False, observed=True).size()
    alone = int((sizes == 1).sum())
    assert alone == 0
    said = told(qtbot, ready, "No record is unique on the columns released unchanged")
    assert f"has {sizes.min()} of 400 records" in said
    columns = tuple(
        replace(column, role=Role.INSENSITIVE) if column.role is Role.IDENTIFYING else column
        for column in session.document.columns
    )
    session.edit("Keep names", replace(session.document, columns=columns))
    said = told(qtbot, ready, "400 of 400 records are unique on the columns released unchanged")
    assert "mark columns that nobody needs as identifying" in said
    session.open_table("Open half", Table(session.table.frame.head(200)), session.document)
    assert told(qtbot, ready, "200 of 200 records are unique")
    wait_for_jobs(qtbot, session)
