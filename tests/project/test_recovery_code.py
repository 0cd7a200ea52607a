"""The code on a recovery sheet: what is mistyped is noticed, and the group is named."""

from __future__ import annotations

import itertools
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.project.errors import WrongRecoveryCode
from sfumato.project.store.recovery_code import ALPHABET, GROUPS, LETTERS, RecoveryCode, mistyped

PRINTED = "CX3ZV-3TJ0V-YC1MK-NHG5F-JD4SD-F26FV-TY8FB-G1JBS"
CODE = RecoveryCode(PRINTED)


def fault(text):
    with pytest.raises(WrongRecoveryCode) as caught:
        RecoveryCode(text)
    assert text.strip() == "" or text not in str(caught.value)
    return str(caught.value)


def with_group(at, group):
    return "-".join((*CODE.groups[:at], group, *CODE.groups[at + 1 :]))


def test_codes_differ_and_have_160_random_bits():
    codes = {RecoveryCode.generate().reveal() for _ in range(50)}
    assert len(codes) == 50
    assert GROUPS * (LETTERS - 1) * 5 == 160
    letters = "".join(code[at] for code in codes for at in range(40) if at % 5 != 4)
    assert set(letters) == set(ALPHABET)


@pytest.mark.parametrize(
    "typed",
    [
        PRINTED,
        PRINTED.lower(),
        PRINTED.replace("-", ""),
        PRINTED.replace("-", " \u2013 "),
        f"\n {PRINTED.replace('-', chr(10))} ",
        PRINTED.replace("0", "o").replace("1", "l"),
        PRINTED.replace("0", "O").replace("1", "I"),
    ],
)
def test_a_code_is_read_however_it_is_typed(typed):
    assert RecoveryCode(typed).reveal() == CODE.reveal()
    assert mistyped(typed) is None


@pytest.mark.parametrize("at", range(GROUPS))
def test_every_single_wrong_letter_is_noticed_and_its_group_named(at):
    group = CODE.groups[at]
    for place, letter in itertools.product(range(LETTERS), ALPHABET):
        if letter == group[place]:
            continue
        typed = with_group(at, group[:place] + letter + group[place + 1 :])
        assert fault(typed).startswith(f"Group {at + 1} is not as it was printed.")
        assert str(mistyped(typed)) == f"Group {at + 1} is not as it was printed."


@given(st.text(ALPHABET, min_size=LETTERS - 1, max_size=LETTERS - 1), st.integers(0, GROUPS - 1))
def test_two_letters_that_changed_places_are_noticed(letters, at):
    group = _checked(letters, at)
    for one, other in itertools.combinations(range(LETTERS), 2):
        changed = list(group)
        changed[one], changed[other] = changed[other], changed[one]
        if changed != list(group):
            assert f"Group {at + 1} " in fault(with_group(at, "".join(changed)))


def _checked(letters, at):
    """Find the letter that checks others by trying all."""
    (found,) = (
        letters + last for last in ALPHABET if mistyped(with_group(at, letters + last)) is None
    )
    return found


def test_groups_that_changed_places_are_both_named():
    for one, other in itertools.combinations(range(GROUPS), 2):
        groups = list(CODE.groups)
        groups[one], groups[other] = groups[other], groups[one]
        assert f"Groups {one + 1} and {other + 1} are not" in fault("-".join(groups))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", "has 0 characters instead of 40"),
        ("   ", "has 0 characters instead of 40"),
        (PRINTED[:-1], "Group 8 has 4 characters instead of 5"),
        (PRINTED + "7", "Group 8 has 6 characters instead of 5"),
        (PRINTED.replace("-", "")[:-3], "Group 8 has 2 characters instead of 5"),
        ("-".join(CODE.groups[:7]), "has 35 characters instead of 40"),
        (f"{PRINTED}-{CODE.groups[0]}", "has 45 characters instead of 40"),
        (with_group(2, "U" * 5), "Character 1 of group 3 occurs in no recovery code"),
        (with_group(4, CODE.groups[4][:2] + "\u00df" + CODE.groups[4][3:]), "Group 5 has 6"),
        ("x" * 100_000, "has 1,000 characters instead of 40"),
        ("\0", "has 1 character instead of 40"),
    ],
)
def test_what_is_no_code_is_refused_with_what_is_wrong(typed, said):
    assert said in fault(typed)


def test_a_group_is_judged_only_once_it_is_whole():
    for length in range(len(PRINTED) + 1):
        assert mistyped(PRINTED[:length]) is None
    assert mistyped(PRINTED[:3] + "u") is not None


def test_a_code_is_never_shown_or_pickled():
    assert CODE.groups[0] not in f"{CODE!r} {CODE}"
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(CODE)
