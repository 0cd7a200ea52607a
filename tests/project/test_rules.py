from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, MissingRule, Role
from sfumato.engine.table.table import Table
from sfumato.formats.options import FOUND_OUT, ReadOptions
from sfumato.formats.tables import format_called
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.errors import RulesError
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules import rules
from sfumato.project.rules.rules import apply_rules, reading_options_in, rules_of
from tests.project.documents import documents, table_for
from tests.project.making import document, table
from tests.thorough import tried

WRITTEN = """\
format = 1
title = "Ward 7"

[reading]
format = "csv"
delimiter = ";"

[columns.person]
role = "identifying"
kind = "text"

[columns.sex]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "cold", "flu", "gout", { value = "mumps", label = "Mumps" }]

[[policy]]
attributes = ["illness"]
mechanism = "uniform"

[[recipients]]
name = "Clinic A"
[recipients.levels]
illness = { retention_probability = 0.6 }
"""


def applied(text, given=None):
    return apply_rules(text, MemorySurvey(given or table()), Document())


APPLIED_LIMITS = WRITTEN.replace(
    'mechanism = "uniform"',
    'mechanism = "finegrain"\n'
    'settings = { theta = 3.0, frequencies = "noisy", frequencies_epsilon = 0.25 }',
).replace("{ retention_probability = 0.6 }", "{ trust_factor = 1.0 }")


def error_of(text, given=None):
    with pytest.raises(RulesError) as caught:
        applied(text, given)
    return caught.value


def line_of(text, part):
    return text[: text.index(part)].count("\n") + 1


def test_rules_say_where_the_frequencies_of_limits_come_from():
    limited = APPLIED_LIMITS
    made = applied(limited)
    (entry,) = made.policy
    assert entry.settings["frequencies"] == "noisy"
    assert entry.settings["frequencies_epsilon"] == 0.25
    assert len(entry.settings["noisy_counts"]) == 5
    assert apply_rules(rules_of(made), MemorySurvey(table()), Document()).policy == made.policy
    for wrong, said in (('"exact"', "not one of"), ('"stated"', "shares")):
        error = error_of(limited.replace('"noisy"', wrong))
        assert said in str(error)


@pytest.mark.parametrize(
    ("mechanism", "settings", "key", "said"),
    [
        ("uniform", "theta = 2", "theta", "Remove it."),
        ("finegrain", "thta = 2", "thta", "Did you mean theta?"),
        ("finegrain", "theta = 1", "theta", "a number above 1"),
        ("finegrain", 'limits = [{ value = "flu" }]', "limits", "tables with value, rho1, rho2"),
        ("matrix", "entry = [[1]]", "entry", "Did you mean entries?"),
        ("reconstruction", 'rule = "guess"', "rule", "exact, chernoff, simplified"),
    ],
)
def test_a_setting_that_is_none_is_named_with_its_line_whatever_the_mechanism(
    mechanism, settings, key, said
):
    changed = f'mechanism = "{mechanism}"\nsettings = {{ {settings} }}'
    error = error_of(WRITTEN.replace('mechanism = "uniform"', changed, 1))
    assert f"policy 1.settings.{key}" in error.what
    assert said in str(error)


def test_values_are_stated_by_listing_them_and_taken_from_rows_otherwise():
    assert not applied(WRITTEN).column("illness").from_rows
    listed = next(line for line in WRITTEN.splitlines() if line.startswith("values"))
    assert applied(WRITTEN.replace(listed, "")).column("illness").from_rows
    kept = applied(WRITTEN.replace(listed, f"from_rows = true\n{listed}"))
    assert kept.column("illness").from_rows
    assert "true or false" in str(error_of(WRITTEN.replace(listed, 'from_rows = "no"')))


@pytest.mark.slow
@pytest.mark.turns(1)
@settings(deadline=None, max_examples=tried(80))
@given(documents())
def test_applying_a_documents_rules_gives_the_document_back(document):
    text = rules_of(document)
    blank = Document(source=document.source, title=document.title)
    assert apply_rules(text, MemorySurvey(table_for(document)), blank) == document
    assert rules_of(apply_rules(text, MemorySurvey(table_for(document)), blank)) == text


@settings(deadline=None, max_examples=tried(40))
@given(documents())
def test_the_reading_options_are_kept(document):
    stated = reading_options_in(rules_of(document))
    if document.source is None or not document.source.options:
        assert stated == {}
        return
    options = ReadOptions.from_dict(document.source.options)
    assert ReadOptions.from_dict(stated) == options
    # What would be found out of another table is stated, even where it is as usual.
    assert stated.keys() >= FOUND_OUT & format_called(options.format).reading_options


def test_rules_written_by_hand_are_understood():
    document = applied(WRITTEN)
    assert document.title == "Ward 7"
    assert [column.role for column in document.columns] == [
        Role.IDENTIFYING,
        Role.QUASI_IDENTIFIER,
        Role.SENSITIVE,
    ]
    domain = document.column("illness").domain
    assert domain.values == ("asthma", "cold", "flu", "gout", "mumps")
    assert domain.names[-1] == "Mumps"
    assert document.policy == (PolicyEntry(("illness",), "uniform"),)
    assert document.recipients == (
        Recipient("Clinic A", {"illness": {"retention_probability": 0.6}}),
    )
    assert ReadOptions.from_dict(reading_options_in(WRITTEN)).delimiter == ";"


def test_rules_hold_no_place_digest_or_secret():
    text = rules_of(document())
    assert "ward.csv" not in text
    assert "ab" * 32 not in text


def test_rules_are_written_for_people():
    text = rules_of(document())
    assert text == (
        text.split("format = 1")[0]
        + """\
format = 1
title = "Ward 7"

# How the file is read.
[reading]
format = "csv"
encoding = ""
delimiter = ","
decimal = "."
thousands = ""
date_order = "year-month-day"
header = true
skip_lines = 0
escaped_formulas = false

# The columns of the table.
#   role     identifying (dropped), quasi-identifier, sensitive (perturbed), insensitive or weight
#   kind     categorical, numeric, date or text
#   missing  value (missing is a value of its own) or refused
#   values   all that a column can hold, whether they occur or not
#   bottom_code, top_code, round_to   numbers beyond an end are shown as the end; others rounded
#   pseudonym   of an identifying column: "each" recipient sees their own, all see one that is
#               "shared", or those listed by name do
[columns.person]
role = "identifying"
kind = "text"
missing = "value"

[columns.sex]
role = "quasi-identifier"
kind = "categorical"
missing = "value"

[columns.illness]
role = "sensitive"
kind = "categorical"
missing = "value"
values = ["asthma", "cold", "flu", "gout"]

# The mechanism for each sensitive column, or for several jointly.
[[policy]]
attributes = ["illness"]
mechanism = "uniform"

# Who gets a release, and how far each of them is trusted with each entry of the policy.
[[recipients]]
name = "Clinic A"
[recipients.levels]
illness = { retention_probability = 0.6 }

[[recipients]]
name = "Institute B"
[recipients.levels]
illness = { retention_probability = 0.3 }
"""
    )
    assert all(line.startswith("#") for line in text.split("format = 1")[0].splitlines())


def test_a_long_list_has_one_value_a_line():
    spec = ColumnSpec(
        "illness", Role.SENSITIVE, domain=Domain(tuple(f"code {i}" for i in range(30)))
    )
    assert '\n    "code 29",\n]' in rules_of(document().with_column(spec))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_twenty_thousand_values_are_written_and_read():
    spec = ColumnSpec("illness", Role.SENSITIVE, domain=Domain(tuple(range(20_000))))
    large = document().with_column(spec)
    assert (
        apply_rules(rules_of(large), MemorySurvey(table()), Document(source=large.source)) == large
    )


def test_missing_values_numbers_and_bins_keep_their_meaning():
    columns = (
        ColumnSpec(
            "age",
            Role.SENSITIVE,
            Kind.NUMERIC,
            Domain(("young", "old", None)),
            Binning((0.0, 40.0, 120.0), ("young", "old")),
        ),
        ColumnSpec("sex", domain=Domain((1, 2, None), {1: "woman", None: "not said"})),
        ColumnSpec("weight", kind=Kind.NUMERIC, missing=MissingRule.REFUSED),
        ColumnSpec("smokes", domain=Domain((True, False))),
    )
    made = Document(columns=columns)
    frame = pd.DataFrame(
        {"age": [1, 50], "sex": [1, 2], "weight": [1.5, 2], "smokes": [True, False]}
    )
    back = apply_rules(rules_of(made), MemorySurvey(Table(frame)), Document())
    assert back == made
    assert [type(v) for v in back.column("sex").domain.values] == [int, int, type(None)]


def test_next_months_table_gets_the_rules_of_this_month():
    settled = document()
    grown = table(20)
    again = apply_rules(rules_of(settled), MemorySurvey(grown), replace(settled, recipients=()))
    assert again == settled


def test_a_sensitive_column_without_values_gets_those_of_the_table():
    text = WRITTEN.replace(
        'values = ["asthma", "cold", "flu", "gout", { value = "mumps", label = "Mumps" }]\n', ""
    )
    assert set(applied(text).column("illness").domain.values) <= {"asthma", "cold", "flu", "gout"}


def test_a_column_without_rules_is_refused_unless_the_rules_say_what_all_others_are():
    text = WRITTEN.replace('[columns.sex]\nrole = "quasi-identifier"\n', "")
    error = error_of(text)
    assert "sex" in error.what
    assert "other_columns" in error.remedy
    others = text.replace("format = 1\n", 'format = 1\nother_columns = "identifying"\n', 1)
    assert applied(others).column("sex").role is Role.IDENTIFYING


@pytest.mark.parametrize(
    ("old", "new", "where", "remedy"),
    [
        ("quasi-identifier", "quasi-identifer", "columns.sex.role", "quasi-identifier"),
        ('role = "sensitive"', "role = 7", "columns.illness.role", "quotes"),
        ('role = "identifying"\n', "", "columns.person", "sensitive"),
        ("[columns.sex]", "[columns.sexe]", "columns.sexe", "sex"),
        ("kind =", "knd =", "columns.person.knd", "kind"),
        ('"categorical"', '"categoric"', "columns.illness.kind", "categorical"),
        ('"uniform"', '"unifrom"', "policy 1.mechanism", "uniform"),
        ('mechanism = "uniform"\n', "", "policy 1", "Add it"),
        ('attributes = ["illness"]', 'attributes = ["sex"]', "policy 1.attributes", "illness"),
        ('attributes = ["illness"]', 'attributes = ["ilness"]', "policy 1.attributes", "illness"),
        ('attributes = ["illness"]', "attributes = [3]", "policy 1.attributes", "quotes"),
        ('attributes = ["illness"]', 'attributes = "illness"', "policy 1.attributes", "[ ]"),
        ('attributes = ["illness"]', "attributes = []", "policy 1", "List"),
        ('name = "Clinic A"\n', "", "recipients 1", "Add it"),
        ("illness = {", "ilness = {", "recipients 1.levels.ilness", "illness"),
        ("retention_probability", "retention", "levels.illness.retention", "retention_prob"),
        ("= 0.6", "= 60", "levels.illness.retention_probability", "0 to 1"),
        ("= 0.6", '= "0.6"', "levels.illness.retention_probability", "without quotes"),
        ("= 0.6", "= 0.6, epsilon = 1.0", "levels.illness", "State it by one of"),
        ("{ retention_probability = 0.6 }", "{}", "levels.illness", "State it by one of"),
        ("{ retention_probability = 0.6 }", "0.6", "levels.illness", "{ }"),
        ('"cold", ', '"asthma", ', "columns.illness.values", "Remove"),
        ('"cold", ', "2026-01-01, ", "columns.illness.values", "dates"),
        ('"cold", ', "{ missing = false }, ", "columns.illness.values", "missing = true"),
        ('"cold", ', '{ value = "x", lable = "y" }, ', "values", "label"),
        ("delimiter", "delimeter", "reading.delimeter", "delimiter"),
        ('";"', '";;"', "reading", "Choose"),
        ("format = 1\n", "format = 9\n", "format", "format = 1"),
        ('title = "Ward 7"', 'titel = "Ward 7"', "titel", "title"),
        ('title = "Ward 7"', 'record_key = "persn"', "record_key", "person"),
    ],
)
def test_a_mistake_is_shown_with_its_line_its_key_and_a_way_out(old, new, where, remedy):
    text = WRITTEN.replace(old, new, 1)
    assert text != WRITTEN
    error = error_of(text)
    assert where in error.what
    assert error.what.startswith("Line ")
    assert remedy in error.remedy


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("quasi-identifier", "quasi", 'role = "quasi"'),
        ("[columns.sex]", "[columns.sexe]", "[columns.sexe]"),
        ('"uniform"', '"unifrom"', '"unifrom"'),
        ("= 0.6", "= 60", "= 60"),
        ('"cold"', '"asthma"', "values ="),
        ("delimiter", "delimeter", "delimeter"),
    ],
)
def test_the_line_is_the_one_to_mend(old, new, line):
    text = WRITTEN.replace(old, new, 1)
    assert error_of(text).details["line"] == line_of(text, line)


@pytest.mark.parametrize("text", ["format = ", "format = 1\nformat = 1", "[columns", "\x00", "a b"])
def test_what_is_no_toml_is_named_by_its_line(text):
    error = error_of(text)
    assert "can't be read" in error.what
    assert "line" in error.what or "end" in error.what


def test_a_list_that_is_expected_to_be_a_table_is_named():
    assert "columns" in error_of("format = 1\ncolumns = [1]\n").what
    assert "policy" in error_of(WRITTEN.replace("[[policy]]", "[policy]")).what


def test_two_mechanisms_for_one_column_are_refused():
    text = WRITTEN + '\n[[policy]]\nattributes = ["illness"]\nmechanism = "uniform"\n'
    assert "twice" in error_of(text).what


def test_bins_that_do_not_increase_are_named():
    text = WRITTEN.replace('kind = "categorical"\n', 'kind = "numeric"\nbin_edges = [0, 9, 3]\n', 1)
    error = error_of(text)
    assert "columns.illness.bin_edges" in error.what
    assert "increase" in error.what
    labels = WRITTEN.replace('kind = "text"\n', 'bin_labels = ["a"]\n', 1)
    assert "bin_edges" in error_of(labels).what


def test_errors_never_show_a_value_of_a_domain():
    text = WRITTEN.replace('"cold", ', '"asthma", ', 1)
    assert "asthma" not in str(error_of(text))


def test_a_name_with_braces_is_shown_as_it_is():
    frame = table().frame.rename(columns={"sex": "{sex}"})
    error = error_of(WRITTEN, Table(frame))
    assert "columns.sex" in error.what
    assert error.remedy == "Did you mean {sex}?"


def test_no_format_says_which_one_to_write():
    assert "format = 1" in error_of('title = "x"\n').remedy


def test_more_recipients_than_a_project_has_are_refused_with_the_limit(monkeypatch):
    section = WRITTEN[WRITTEN.index("[[recipients]]") :]
    text = WRITTEN + "".join(section.replace("Clinic A", f"Office {n}") for n in range(3))
    monkeypatch.setattr(rules, "MOST_RECIPIENTS", 4)
    assert len(applied(text).recipients) == 4
    monkeypatch.setattr(rules, "MOST_RECIPIENTS", 3)
    error = error_of(text)
    assert error.what == "The rules have 4 recipients, and a project has 3 at most."
    assert "as one recipient" in error.remedy
