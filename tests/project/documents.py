"""Random documents that a custodian could have made, and tables that fit them."""

from __future__ import annotations

from datetime import date

import pandas as pd
from hypothesis import strategies as st

from sfumato.engine.core.columns import Binning, Coding, ColumnSpec, Domain, Kind, MissingRule, Role
from sfumato.engine.table.table import Table
from sfumato.formats.terms import ReleaseTerms
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource, ViewRule

DAYS = st.just("") | st.dates().map(date.isoformat)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**53), 2**53)


@st.composite
def domains(draw):
    values = draw(
        st.one_of(
            st.lists(TEXTS, min_size=2, max_size=6, unique=True),
            st.lists(WHOLE, min_size=2, max_size=6, unique=True),
            st.lists(FINITE, min_size=2, max_size=6, unique=True),
            st.permutations([True, False]),
        )
    )
    if draw(st.booleans()):
        values = [*values]
        values.insert(draw(st.integers(0, len(values))), None)
    labelled = draw(st.lists(st.sampled_from(values), max_size=3, unique=True))
    return Domain(tuple(values), {value: draw(TEXTS) for value in labelled})


@st.composite
def binnings(draw):
    edges = draw(st.lists(st.integers(-1000, 1000), min_size=3, max_size=6, unique=True))
    spread = tuple(edge / 4 for edge in sorted(edges))
    names = draw(st.lists(TEXTS, min_size=len(edges) - 1, max_size=len(edges) - 1, unique=True))
    return Binning(spread, tuple(names) if draw(st.booleans()) else ())


@st.composite
def columns(draw, name):
    role = draw(st.sampled_from(list(Role)))
    missing = draw(st.sampled_from(list(MissingRule)))
    binning = draw(st.none() | binnings())
    if binning is not None:
        domain = Domain(binning.names)
        return ColumnSpec(name, role, Kind.NUMERIC, domain, binning, missing, draw(st.booleans()))
    kind = draw(st.sampled_from(list(Kind)))
    wanted = role is Role.SENSITIVE and kind is not Kind.NUMERIC
    domain = draw(domains()) if wanted else draw(st.none() | domains())
    coding = draw(st.none() | codings())
    return ColumnSpec(name, role, kind, domain, None, missing, draw(st.booleans()), coding)


def codings():
    end, step = st.floats(-1e6, 0.0), st.none() | st.floats(0.001, 1e3)
    return st.builds(Coding, st.none() | end, st.floats(1.0, 1e6), step)


@st.composite
def statements(draw):
    share = st.floats(0.01, 0.99)
    return draw(
        st.one_of(
            st.fixed_dictionaries({"retention_probability": share}),
            st.fixed_dictionaries({"epsilon": st.floats(0.1, 8)}),
            st.fixed_dictionaries({"rho1": st.floats(0.01, 0.4), "rho2": st.floats(0.5, 0.9)}),
        )
    )


@st.composite
def views(draw, specs):
    names = [spec.name for spec in specs if spec.role is Role.QUASI_IDENTIFIER]
    levels = {name: draw(st.integers(0, 4)) for name in names if draw(st.booleans())}
    cells = draw(st.sampled_from([None, True]))
    return ViewRule(draw(st.integers(1, 50)), draw(st.floats(0, 0.9)), levels, cells)


@st.composite
def documents(draw):
    names = draw(st.lists(TEXTS, min_size=1, max_size=5, unique=True))
    specs = tuple(draw(columns(name)) for name in names)
    entries = tuple(
        PolicyEntry((spec.name,), "uniform")
        for spec in specs
        if spec.role is Role.SENSITIVE and spec.domain is not None
    )
    recipients = tuple(
        Recipient(
            name,
            {entry.key: draw(statements()) for entry in entries},
            draw(TEXTS | st.just("")),
            view=draw(st.none() | views(specs)),
        )
        for name in draw(st.lists(TEXTS, max_size=3, unique=True))
    )
    options = st.fixed_dictionaries(
        {"format": st.sampled_from(["csv", "xlsx"])},
        optional={
            "delimiter": st.sampled_from([";", "\t", "|"]),
            "header": st.just(False),
            "skip_lines": st.integers(1, 9),
            "missing": st.lists(TEXTS, max_size=3),
            "sheet": TEXTS,
            "column_types": st.dictionaries(TEXTS, st.just("text"), max_size=2),
        },
    )
    return Document(
        title=draw(TEXTS | st.just("")),
        source=draw(st.none() | st.builds(TableSource, TEXTS, TEXTS, st.integers(1, 99), options)),
        columns=specs,
        record_key=draw(st.none() | st.sampled_from(names)),
        policy=entries,
        recipients=recipients,
        terms=draw(
            st.none()
            | st.builds(ReleaseTerms, TEXTS, TEXTS, valid_until=DAYS).map(lambda one: one.or_none)
        ),
    )


def table_for(document: Document) -> Table:
    return Table(pd.DataFrame({spec.name: [1, 2] for spec in document.columns}))
