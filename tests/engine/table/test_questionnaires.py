"""Which columns are taken for answers to a questionnaire: by their names and their answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.table.profile import profile_columns
from sfumato.engine.table.proposals import ANSWER, proposals
from sfumato.engine.table.questionnaires import questions
from sfumato.engine.table.table import Table

ROWS = 300


def answered(names, answers, missing=()):
    """Return a table of answers, some columns with codes for missing ones of their own."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame({name: random.choice(answers, ROWS) for name in names})
    for place, code in enumerate(missing):
        frame.loc[frame.index % 29 == place, names[place]] = code
    return Table(frame)


@pytest.mark.parametrize(
    "names",
    [
        ["phq9_1", "phq9_2", "phq9_3", "phq9_4"],
        ["F1_bullied", "F2_afraid", "F3_friends"],
        ["q7a", "q7b", "q8", "q9", "q10"],
        ["Item 01", "Item 02", "Item 03"],
    ],
)
@pytest.mark.parametrize("answers", [[1, 2, 3, 4, 5], ["never", "rarely", "often"]])
def test_columns_alike_in_name_and_answers_are_hinted_as_answers_to_a_questionnaire(names, answers):
    table = answered(names, answers)
    assert questions(profile_columns(table)) == frozenset(names)
    for found in proposals(table):
        assert (found.spec.role, found.reason) == (Role.QUASI_IDENTIFIER, ANSWER)
        assert found.may_be_sensitive, "until somebody decides, it counts where people are found"


def test_codes_for_missing_answers_that_differ_do_not_tell_questions_apart():
    names = ["q1", "q2", "q3"]
    table = answered(names, [1, 2, 3, 4, 5], missing=(-9, -8, 99))
    assert questions(profile_columns(table)) == frozenset(names)


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(answered(["q1", "q2"], [1, 2, 3]), id="only two"),
        pytest.param(answered(["q1", "r2", "s3"], [1, 2, 3]), id="names differ"),
        pytest.param(answered(["q1_a", "q1_b", "q1_c"], [1, 2, 3]), id="one number"),
        pytest.param(answered(["2021", "2022", "2023"], [1, 2, 3]), id="years"),
        pytest.param(answered(["icd1", "icd2", "icd3"], list(range(40))), id="many answers"),
        pytest.param(
            Table(
                pd.DataFrame(
                    {
                        "x1": ["a", "b"] * 20,
                        "x2": ["c", "d"] * 20,
                        "x3": ["e", "f"] * 20,
                    }
                )
            ),
            id="answers differ",
        ),
    ],
)
def test_columns_that_differ_in_more_than_a_number_are_not_taken_for_questions(table):
    assert not questions(profile_columns(table))


def test_what_others_can_know_stays_that_however_the_columns_are_numbered():
    table = answered(["sex_1", "sex_2", "sex_3"], ["f", "m"])
    assert {found.reason for found in proposals(table)} == {"Others can know this about a person."}
