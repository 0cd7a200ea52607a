"""What the checks before a release find, recomputed from the table by plain means."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.views import (
    find_views,
    released_rows,
    uncoarsened_views,
    views_in,
    with_level,
    with_levels,
    with_proposed_hierarchies,
    with_statement,
)
from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness.readiness import (
    accepting,
    check_rows,
    examine,
    mended,
    plain,
    require_ready,
)
from sfumato.analysis.readiness.readiness_checks import UNIQUE_RECORDS
from sfumato.analysis.shown_columns import LeavingColumns, ShownColumns, look_of
from sfumato.analysis.unperturbed.open_figures import OpenFigure
from sfumato.engine.core.columns import Binning, Coding, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Suppression
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit, ViewRule
from sfumato.project.errors import ReleaseError
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.views import coarsening_of
from tests.in_batches import in_batches
from tests.project.counting_alone import alone_in_release
from tests.project.whole_table import coarsened

ROWS = 3_000


def a_table(rows=ROWS, seed=5):
    rng = np.random.default_rng(seed)
    return Table(
        pd.DataFrame(
            {
                "household": rng.integers(100_000, 100_000 + rows // 3, rows),
                "age": rng.integers(0, 90, rows),
                "sex": rng.choice(["f", "m"], rows),
                "region": rng.choice(list("abcdefgh"), rows),
                "income": rng.lognormal(10, 1, rows).round(2),
                "illness": rng.choice(["cold", "flu", "none"], rows),
            }
        )
    )


def a_document(**roles):
    """Every column open but the illness, with roles of one's own."""
    columns = {
        "household": ColumnSpec("household", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        "age": ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        "sex": ColumnSpec("sex", Role.QUASI_IDENTIFIER),
        "region": ColumnSpec("region", Role.QUASI_IDENTIFIER),
        "income": ColumnSpec("income", Role.IDENTIFYING, Kind.NUMERIC),
        "illness": ColumnSpec("illness", Role.SENSITIVE, domain=Domain(("cold", "flu", "none"))),
    }
    columns |= {name: replace(columns[name], role=role) for name, role in roles.items()}
    level = {"illness": {"retention_probability": 0.4}}
    return Document(
        title="Survey",
        columns=tuple(columns.values()),
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(Recipient("Institute", level), Recipient("Public", level)),
    )


TABLE = a_table()
SOUND = a_document(household=Role.IDENTIFYING, age=Role.IDENTIFYING)


def found_in(document, table=TABLE, releases=()):
    return examine(
        document, ShownColumns(table), attributes_of(document, table), releases, Silent()
    )


def finding(found, check, recipient="Public"):
    for each in found:
        for one in each.findings if each.recipient == recipient else ():
            if one.check == check:
                return one
    raise AssertionError(check)


def checks(found, recipient="Public"):
    return {o.check for each in found if each.recipient == recipient for o in each.findings}


def unique_in(frame):
    """The rows that no other row agrees with; pandas finds them without anything of ours."""
    return int((~frame.duplicated(keep=False)).sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_unique_records_are_those_that_pandas_and_the_release_count(seed):
    table = a_table(seed=seed)
    document = a_document().with_column(
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, binning=Binning((0.0, 30.0, 90.0)))
    )
    shown = table.frame[["household", "age", "sex", "region"]].copy()
    shown["age"] = shown["age"] >= 30
    one = finding(found_in(document, table), "Unique records")
    assert one.severity is Severity.GRAVE
    assert one.facts[-1] == unique_in(shown)
    alone = alone_in_release(document, table, Silent())
    assert alone is not None
    assert alone.alone == one.facts[-1]


def test_every_remedy_reaches_what_it_says():
    document = a_document()
    one = finding(found_in(document), "Unique records")
    *single, together = one.remedies
    assert {remedy.deed for remedy in single} == {RemedyKind.DROP, RemedyKind.BAND}
    assert all(a.after <= b.after for a, b in pairwise(single[1:]))
    assert together.deed is RemedyKind.TOGETHER
    assert 2 <= len(together.columns) <= 3
    assert together.after < min(remedy.after for remedy in single)
    for remedy in one.remedies:
        after = mended(document, remedy)
        names = [s.name for s in after.columns if s.role is Role.QUASI_IDENTIFIER]
        shown = TABLE.frame[names].copy()
        for name in names:
            if (bins := after.column(name).binning) is not None:
                shown[name] = np.digitize(shown[name], bins.edges[1:-1])
        assert remedy.after == unique_in(shown)
        assert f"{remedy.before:,} → {remedy.after:,} unique" in remedy.words


@pytest.mark.slow
def test_an_estimate_holds_the_figure_within_its_error():
    table = a_table(400_000)
    one = finding(found_in(a_document(), table), "Unique records")
    for remedy in one.remedies:
        assert remedy.error > 0
        assert "≈" in remedy.words
    drop = next(r for r in one.remedies if r.deed is RemedyKind.DROP)
    left = [n for n in ("household", "age", "sex", "region") if n != drop.column]
    assert abs(drop.after - unique_in(table.frame[left])) <= 2 * drop.error


def test_a_sound_document_is_good_for_everybody():
    found = found_in(SOUND)
    assert {each.worst for each in found} == {Severity.GOOD}
    assert not any(each.open for each in found)
    one = finding(found, "Unique records")
    smallest = int(TABLE.frame.groupby(["sex", "region"]).size().min())
    assert f"has {smallest:,} records" in one.sentence
    require_ready(found, ["Public", "Institute"])


def test_each_recipient_is_counted_by_what_it_sees():
    document = replace(
        a_document(household=Role.IDENTIFYING, age=Role.INSENSITIVE),
        hierarchies={"sex": Suppression(), "region": Suppression()},
    )
    institute, public = document.recipients
    public = replace(public, view=ViewRule(k=5, levels={"sex": 1, "region": 1}))
    document = replace(document, recipients=(institute, public))
    ages = unique_in(TABLE.frame[["age"]])
    exact = unique_in(TABLE.frame[["age", "sex", "region"]])
    found = found_in(document)
    assert finding(found, "Unique records", "Institute").facts[-1] == exact > 0
    assert ages == 0
    assert "Unique records" in checks(found)
    assert finding(found, "Unique records").severity is Severity.GOOD


def test_small_classes_are_a_caution():
    illness = ["cold", "flu"] * 11 + ["none"]
    frame = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 3, "illness": illness})
    document = Document(
        columns=(SOUND.column("sex"), SOUND.column("illness")),
        policy=SOUND.policy,
        recipients=SOUND.recipients,
    )
    one = finding(found_in(document, Table(frame)), "Small classes")
    assert one.severity is Severity.CAUTION
    assert one.facts[-1] == 3


def test_numbers_of_households_dates_texts_rare_labels_and_extremes_are_named():
    frame = TABLE.frame.assign(
        admitted=pd.date_range("2024-01-01", periods=ROWS, freq="h"),
        remark=["the patient said at great length that " + "x" * 40 + str(i) for i in range(ROWS)],
        town=["big"] * (ROWS - 2) + ["tiny", "small"],
    )
    document = replace(
        a_document(income=Role.INSENSITIVE),
        columns=(
            *a_document(income=Role.INSENSITIVE).columns,
            *(ColumnSpec(n, Role.QUASI_IDENTIFIER) for n in ("admitted", "remark", "town")),
        ),
    )
    found = found_in(document, Table(frame))
    assert finding(found, "Identifiers").columns == ("household",)
    assert finding(found, "Exact dates").columns == ("admitted",)
    assert finding(found, "Free text").columns == ("remark",)
    assert finding(found, "Rare labels").columns == ("town",)
    assert "2 labels of town" in finding(found, "Rare labels").sentence
    assert "income" in finding(found, "Extreme numbers").columns
    for remedy in finding(found, "Extreme numbers").remedies:
        document = mended(document, remedy)
    assert "Extreme numbers" not in checks(found_in(document, Table(frame)))


def test_a_level_that_shows_the_truth_is_an_empty_promise_for_that_recipient():
    shown = Recipient("Institute", {"illness": {"retention_probability": 1.0}})
    found = found_in(replace(SOUND, recipients=(shown, SOUND.recipients[1])))
    assert found[0].recipient == "Institute"
    assert finding(found, "Empty promise", "Institute").severity is Severity.GRAVE
    assert "Empty promise" not in checks(found)
    with pytest.raises(ReleaseError, match="Not ready to release to Institute"):
        require_ready(found, ["Public", "Institute"])
    require_ready(found, ["Public"])


def test_a_reason_stands_for_these_figures_and_this_recipient_only():
    document = a_document()
    public = next(each for each in found_in(document) if each.recipient == "Public")
    accepted = accepting(document, public.open, "A contract")
    found = found_in(accepted)
    require_ready(found, ["Public"])
    with pytest.raises(ReleaseError):
        require_ready(found, ["Institute"])
    other = TABLE.frame.copy()
    other.loc[0] = other.loc[1]
    with pytest.raises(ReleaseError):
        require_ready(found_in(accepted, Table(other)), ["Public"])
    banded = mended(accepted, next(r for f in public.open for r in f.remedies))
    assert not any(one.reason for each in found_in(banded) for one in each.open)


def test_rows_in_the_table_s_order_are_a_caution_with_a_click_that_mends_it():
    document = replace(SOUND, rows_as_in_table="the recipient joins by row")
    one = finding(found_in(document), "Order of rows")
    assert one.severity is Severity.CAUTION
    assert mended(document, one.remedies[0]).rows_as_in_table == ""


def test_no_finding_shows_a_value_of_the_table():
    values = {str(v) for v in TABLE.frame["household"]} | {"cold", "flu"}
    for each in found_in(a_document(income=Role.INSENSITIVE)):
        for one in each.findings:
            said = " ".join([one.sentence, *(remedy.words for remedy in one.remedies)])
            assert not any(value in said.split() for value in values)


def with_views(k=1, levels=(0, 0), suppression=0.0):
    """Sex and region at two recipients' levels, with an age that both see in bands."""
    age = ColumnSpec("age", Role.INSENSITIVE, Kind.NUMERIC, binning=Binning((0.0, 30.0, 90.0)))
    document = replace(
        a_document(household=Role.IDENTIFYING).with_column(age),
        hierarchies={"sex": Suppression(), "region": Suppression()},
    )
    institute, public = document.recipients
    return replace(
        document,
        recipients=(
            replace(institute, view=ViewRule()),
            replace(public, view=ViewRule(k, suppression, {"sex": levels[0], "region": levels[1]})),
        ),
    )


def rare_regions():
    """A table in which some regions have one record, so that it is unique."""
    frame = TABLE.frame.copy()
    frame.loc[:4, "region"] = list("vwxyz")
    return Table(frame)


def test_a_level_is_raised_that_leaves_fewest_unique_and_it_reaches_what_it_says():
    document, table = with_views(), rare_regions()
    one = finding(found_in(document, table), "Unique records")
    remedy = next(each for each in one.remedies if each.deed is RemedyKind.RAISE)
    assert (remedy.recipient, remedy.column, remedy.level) == ("Public", "region", 1)
    banded = table.frame.assign(age=table.frame["age"] >= 30)
    assert remedy.before == unique_in(banded[["age", "sex", "region"]]) == 5
    assert remedy.after == unique_in(banded[["age", "sex"]]) == 0
    assert remedy.words == "Show region at level 1 to Public: 5 → 0 unique"
    after = mended(document, remedy)
    assert after.recipient("Public").view.levels["region"] == 1
    assert finding(found_in(after, table), "Unique records").severity is Severity.GOOD


def test_who_is_trusted_less_follows_where_a_level_is_raised():
    document, table = with_views(), rare_regions()
    one = finding(found_in(document, table), "Unique records", "Institute")
    remedy = next(each for each in one.remedies if each.deed is RemedyKind.RAISE)
    assert "to Institute and Public" in remedy.words
    views = {each.name: each.view for each in mended(document, remedy).recipients}
    assert views["Institute"].levels["region"] == views["Public"].levels["region"] == 1


def test_a_level_is_raised_though_whoever_is_trusted_less_has_a_view_that_is_refused():
    document, table = with_views(k=2), rare_regions()
    institute = replace(document.recipient("Institute"), view=ViewRule(levels={"sex": 1}))
    document = replace(document, recipients=(institute, document.recipient("Public")))
    known = ShownColumns(table), attributes_of(document, table)
    checked = check_rows(document, *known, Silent(), ("Institute",))
    one = finding(checked.readiness((), {}), "Unique records", "Institute")
    assert any(each.deed is RemedyKind.RAISE for each in one.remedies)


def test_a_view_that_does_not_keep_its_k_is_grave_and_a_higher_level_mends_it():
    document, table = with_views(k=5), rare_regions()
    one = finding(found_in(document, table), "View")
    assert one.severity is Severity.GRAVE
    assert "5 of 3,000 records have to be suppressed for k = 5" in one.sentence
    assert not one.is_open, "a release is refused for it, whatever the reason"
    remedy = one.remedies[0]
    assert remedy.words == "Show region at level 1 to Public: 5 → 0 suppressed"
    assert "View" not in checks(found_in(mended(document, remedy), table))


def three_views(table, unit):
    """Age, sex and region at the levels of three recipients, found for their k."""
    document = a_document(household=Role.IDENTIFYING, income=Role.INSENSITIVE)
    rounded = replace(document.column("income"), coding=Coding(step=20_000.0))
    document, _ = with_proposed_hierarchies(document.with_column(rounded), table)
    if unit:
        document = document.with_unit(Unit(("household",), 100))
    level = document.recipients[0].statements
    document = replace(document, recipients=tuple(Recipient(n, level) for n in ("A", "B", "C")))
    for name, k in (("A", 2), ("B", 4), ("C", 9)):
        document = with_statement(document, name, k, 0.1)
    return find_views(document, in_batches(table), Silent())


def released_to(document, name, table):
    """What leaves unperturbed for a recipient, made as a release makes it."""
    coarsening = coarsening_of(document, document.recipient(name))
    shown = dict(coarsened(coarsening, document.columns, table).columns)
    income = document.column("income")
    if income.role is Role.INSENSITIVE:
        shown["income"] = income.shown(table.column("income"))
    return pd.DataFrame(shown).astype(str)


def alone_by_pandas(document, name, table=TABLE):
    frame = released_to(document, name, table)
    if document.unit is None:
        return unique_in(frame)
    households = table.column("household")
    classes = frame.groupby(list(frame), observed=True).ngroup()
    return int(households[households.groupby(classes).transform("nunique") == 1].nunique())


@pytest.mark.slow
@pytest.mark.parametrize("unit", [False, True])
def test_views_are_counted_after_any_edit_as_they_are_afresh_and_by_pandas(unit):
    start = three_views(TABLE, unit)
    keys = KeyRing(bytes(32))
    known = LeavingColumns(TABLE, keys)
    dropped = start.with_column(replace(start.column("age"), role=Role.IDENTIFYING))
    finer, _ = with_level(start, "C", "age", 0)
    steps = [start, dropped, with_statement(dropped, "B", 30), start, finer]
    steps.append(finer.with_column(replace(finer.column("income"), role=Role.IDENTIFYING)))
    raised = 0
    for document in steps:
        attributes = attributes_of(document, TABLE)
        found, fresh = (
            examine(document, each.of(document), attributes, (), Silent())
            for each in (known, LeavingColumns(TABLE, keys))
        )
        assert found == fresh
        for recipient in "ABC":
            ones = [o for each in found if each.recipient == recipient for o in each.findings]
            for one in ones:
                if one.check == "Unique records" and one.severity is Severity.GRAVE:
                    assert one.facts[-1] == alone_by_pandas(document, recipient)
                for remedy in one.remedies:
                    if (
                        remedy.deed in (RemedyKind.RAISE, RemedyKind.TOGETHER)
                        and remedy.after is not None
                    ):
                        raised += 1
                        after = mended(document, remedy)
                        assert remedy.after == alone_by_pandas(after, recipient)
    assert raised >= 6


@pytest.mark.few(1)
@pytest.mark.parametrize("unit", [False, True])
def test_levels_are_chosen_by_the_same_unique_records_that_the_check_counts(unit):
    weights = np.random.default_rng(3).uniform(50, 80, 600).round(1)
    table = Table(a_table(600).frame.assign(weight=weights))
    document, level = three_views(table, unit), {"illness": {"retention_probability": 0.4}}
    columns = (*document.columns, ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC))
    recipients = (*document.recipients, Recipient("Nearest", level))
    document = replace(document, columns=columns, recipients=recipients)
    keys = KeyRing(bytes(32))
    left = released_rows(document, in_batches(table), keys, Silent())
    seen = (
        *views_in(document, in_batches(left), Silent()),
        *uncoarsened_views(document, in_batches(left), Silent()),
    )
    known = LeavingColumns(table, keys).of(document)
    found = examine(document, known, attributes_of(document, table), (), Silent())
    assert [each.recipient for each in seen] == ["A", "B", "C", "Nearest"]
    for each in seen:
        told = finding(found, "Unique records", each.recipient)
        assert told.severity is Severity.GRAVE
        assert each.unique == told.facts[-1]
        assert each.recipient == "Nearest" or each.view.unique == 0, "the weights single out"


@pytest.mark.few(1)
@pytest.mark.parametrize("unit", [False, True])
def test_columns_dropped_and_levels_raised_together_reach_what_they_say(unit):
    table = a_table(300)
    document, _ = with_levels(three_views(table, unit), "A", {"age": 1, "sex": 0, "region": 0})
    document = with_statement(document, "A", 1)
    columns = LeavingColumns(table, KeyRing(bytes(32))).of(document)
    found = examine(document, columns, attributes_of(document, table), (), Silent())
    *single, together = finding(found, "Unique records", "A").remedies
    assert {part.deed for part in together.parts} == {RemedyKind.DROP, RemedyKind.RAISE}
    assert together.after == alone_by_pandas(mended(document, together), "A", table)
    assert together.after < min(one.after for one in single)
    assert together.words.startswith("Drop ")
    assert "and show region at level 1 to A, B and C, together: " in together.words
    told = plain(found)
    (said,) = (
        one
        for each in told
        if each["recipient"] == "A"
        for finding in each["findings"]
        for one in finding["remedies"]
        if one["deed"] == "together"
    )
    assert [part["column"] for part in said["parts"]] == list(together.columns)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("least", "step"), [(5.0, 1.0), (9.99, 1.0), (10.0, 2.0), (24.9, 2.0), (0.3, 0.05), (1e6, 2e5)]
)
def test_sampling_weights_are_rounded_to_a_tenth_of_the_least_at_most(least, step):
    weights = least * (1.0 + np.random.default_rng(5).integers(0, 60, ROWS) / 40.0)
    weights[0] = least
    table = Table(TABLE.frame.assign(weight=weights))
    weighs = ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC)
    document = replace(SOUND, columns=(*SOUND.columns, weighs))
    unique = finding(found_in(document, table), "Unique records")
    [remedy] = [one for one in unique.remedies if one.deed is RemedyKind.ROUND]
    assert f"Round weight to multiples of {step:g}: " in remedy.words
    offered = plain(found_in(document, table))[1]["findings"][0]["remedies"]
    assert [one["step"] for one in offered if one["deed"] == "round"] == [step]
    mend = mended(document, remedy)
    assert mend.column("weight") == replace(weighs, coding=Coding(step=step))
    rounded = np.floor(weights / step + 0.5) * step
    assert (rounded > 0.0).all()
    assert (np.abs(rounded / weights - 1.0) <= 0.1 + 1e-9).all()
    shown = TABLE.frame[["sex", "region"]].assign(weight=rounded.round(9))
    assert remedy.after == int((shown.value_counts() == 1).sum())
    told = [one for each in found_in(mend, table) for one in each.findings]
    assert not any(remedy.deed is RemedyKind.ROUND for one in told for remedy in one.remedies)


@pytest.mark.slow
def test_no_remedy_takes_sampling_weights_apart():
    weights = np.random.default_rng(3).gamma(4.0, 100.0, ROWS).round(3)
    table = Table(TABLE.frame.assign(weight=weights))
    weighs = ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC)
    alone = a_document(household=Role.IDENTIFYING)
    document = replace(alone, columns=(*alone.columns, weighs), unit=Unit(("household",), 20))
    [first, _] = found_in(document, table)
    [unique] = [each for each in first.findings if each.check == "Unique records"]
    assert unique.remedies
    for remedy in unique.remedies:
        mend = found_in(mended(document, remedy), table)[0]
        assert mend.recipient == "Institute"
        parts = remedy.parts or (remedy,)
        assert not any(one.deed is RemedyKind.BAND and one.column == "weight" for one in parts)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_one_remedy_that_leaves_nobody_unique_stands_in_place_of_several_that_do_not():
    draw = np.random.default_rng(4)
    names = [f"q{at}" for at in range(14)]
    frame = pd.DataFrame({name: draw.integers(0, 4, 600) for name in names})
    frame["illness"] = draw.choice(["cold", "flu"], 600)
    table = Table(frame)
    columns = [ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in names]
    document = a_document()
    spec = ColumnSpec("illness", Role.SENSITIVE, domain=Domain(("cold", "flu")))
    document = replace(document, columns=(*columns, spec))
    [remedy, *others] = finding(found_in(document, table), "Unique records").remedies
    assert RemedyKind.DROP not in {one.deed for one in others}
    assert (remedy.deed, remedy.after, remedy.before) == (RemedyKind.DROP, 0, 600)
    kept = [name for name in names if name not in remedy.columns]
    assert len(kept) >= 2
    assert unique_in(frame[kept]) == 0
    assert all(unique_in(frame[[*kept, name]]) for name in remedy.columns)
    again = found_in(mended(document, remedy), table)
    assert "Unique records" not in {o.check for e in again for o in e.findings if o.remedies}
    document = replace(document, importance=(remedy.columns[0],))
    remedy = finding(found_in(document, table), "Unique records").remedies[0]
    assert document.importance[0] not in remedy.columns


@pytest.mark.parametrize(("released", "both"), [(0.2, 0.57), (0.57, 0.6), (0.7, 0.77)])
def test_who_is_given_more_is_not_told_of_a_lesser_danger_by_the_same_columns(released, both):
    figures = 0.09, 0.57, 0.57, released, both
    told = OpenFigure("illness", "Partner", False, *figures, ("ward",), "", 10_000, 10_000)
    assert told.empties
    assert told.exposure == both


def test_where_a_few_columns_tell_all_records_apart_others_are_left_out_without_counting(
    monkeypatch,
):
    rng = np.random.default_rng(3)
    numbers = {f"n{place}": rng.integers(0, 400, ROWS) for place in range(8)}
    frame = pd.DataFrame({**numbers, "sex": TABLE.frame["sex"], "illness": TABLE.frame["illness"]})
    table = Table(frame)
    columns = (ColumnSpec(name, Role.INSENSITIVE, Kind.NUMERIC) for name in numbers)
    others = (ColumnSpec("sex", Role.INSENSITIVE), SOUND.column("illness"))
    document = replace(SOUND, columns=(*columns, *others))
    shown = [look_of(document.column(name)) for name in (*numbers, "sex")]
    known = ShownColumns(table)
    telling = known.telling_apart(shown)
    assert len(telling) == 2
    assert not telling[0][0] & telling[1][0]
    for look in shown:
        assert known.without(shown, look.name) in [
            counted for names, counted in telling if look.name not in names
        ]
    repeated = Table(pd.concat([frame, frame.head(1)], ignore_index=True))
    assert ShownColumns(repeated).telling_apart(shown) == []
    monkeypatch.setattr(ShownColumns, "without", None)
    assert finding(found_in(document, table), UNIQUE_RECORDS).facts[-1] == ROWS


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_columns_that_single_somebody_out_by_themselves_need_not_be_counted_with_others(
    monkeypatch, missing
):
    rng = np.random.default_rng(4)
    few = {f"f{place}": rng.integers(0, 2 + place % 3, ROWS) for place in range(8)}
    gaps = pd.Series(rng.integers(0, 2, ROWS)).mask(np.arange(ROWS) < missing)
    one = np.where(np.arange(ROWS) == 7, "b", "a")
    frame = pd.DataFrame({**few, "n": np.arange(ROWS), "gaps": gaps, "one": one})
    table = Table(frame.assign(illness=TABLE.frame["illness"]))
    columns = [ColumnSpec(name, Role.INSENSITIVE, Kind.NUMERIC) for name in (*few, "n", "gaps")]
    columns += [ColumnSpec("one", Role.INSENSITIVE), SOUND.column("illness")]
    document = replace(SOUND, columns=tuple(columns), importance=("one", "f1"))
    known = ShownColumns(table)
    single = {c.name for c in columns[:-1] if known.singles_out(look_of(c))}
    assert single == {"n", "one", *(["gaps"] if missing == 1 else [])}
    (enough, *_) = finding(found_in(document, table), UNIQUE_RECORDS).remedies
    assert enough.after == 0
    assert single <= {*enough.columns}
    monkeypatch.setattr(ShownColumns, "singles_out", lambda *_: False)
    assert finding(found_in(document, table), UNIQUE_RECORDS).remedies[0] == enough
