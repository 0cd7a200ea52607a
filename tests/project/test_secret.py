from __future__ import annotations

import pickle
import unicodedata
from dataclasses import replace

import pytest

from sfumato.project.errors import DamagedProject, WrongPassphrase
from sfumato.project.store.secret import (
    STANDARD_COST,
    Argon2Cost,
    ProjectSecret,
    ScryptCost,
    cost_from_json,
    cost_to_json,
    unwrap,
    wrap,
)
from tests.project.making import CHEAP, PASSPHRASE


def test_the_passphrase_opens_what_it_wrapped():
    secret = ProjectSecret.generate()
    wrapped = wrap(secret, PASSPHRASE, "project", CHEAP)
    assert unwrap(wrapped, PASSPHRASE, "project").reveal() == secret.reveal()


def test_a_new_secret_is_32_bytes_and_never_the_same():
    first, second = ProjectSecret.generate(), ProjectSecret.generate()
    assert len(first.reveal()) == 32
    assert first.reveal() != second.reveal()


@pytest.mark.parametrize("guess", ["", "Correct horse", "correct horse ", "korrekt"])
def test_another_passphrase_is_refused(guess):
    wrapped = wrap(ProjectSecret.generate(), PASSPHRASE, "project", CHEAP)
    with pytest.raises(WrongPassphrase, match="does not open"):
        unwrap(wrapped, guess, "project")


def test_the_secret_of_one_project_does_not_open_in_another():
    wrapped = wrap(ProjectSecret.generate(), PASSPHRASE, "project", CHEAP)
    with pytest.raises(WrongPassphrase):
        unwrap(wrapped, PASSPHRASE, "another")


@pytest.mark.parametrize("part", ["salt", "nonce", "ciphertext"])
def test_a_changed_byte_of_the_wrapped_secret_is_noticed(part):
    wrapped = wrap(ProjectSecret.generate(), PASSPHRASE, "project", CHEAP)
    old = getattr(wrapped, part)
    changed = replace(wrapped, **{part: bytes([old[0] ^ 1]) + old[1:]})
    with pytest.raises(WrongPassphrase):
        unwrap(changed, PASSPHRASE, "project")


def test_a_wrapped_secret_holds_nothing_of_the_secret():
    secret = ProjectSecret.generate()
    wrapped = wrap(secret, PASSPHRASE, "project", CHEAP)
    assert secret.reveal()[:8] not in wrapped.salt + wrapped.nonce + wrapped.ciphertext


def test_wrapping_twice_looks_different_each_time():
    secret = ProjectSecret.generate()
    first, second = (wrap(secret, PASSPHRASE, "project", CHEAP) for _ in range(2))
    assert first.salt != second.salt
    assert first.ciphertext != second.ciphertext


def test_an_accent_typed_in_another_way_is_the_same_passphrase():
    composed = "café au lait"
    wrapped = wrap(ProjectSecret.generate(), composed, "project", CHEAP)
    assert unwrap(wrapped, unicodedata.normalize("NFD", composed), "project")


@pytest.mark.parametrize(
    "cost",
    [
        *((3, 8, 1), (0, 8, 1), (2**40, 8, 1), (2**14, 0, 1), (2**14, 99, 1), (2**14, 8, 99)),
        (2**20, 32, 16),  # which ran for minutes
        (2**22, 1, 1),  # more than RFC 7914 allows for so small a block
    ],
)
def test_a_crafted_cost_can_not_ask_for_all_of_the_memory_or_for_minutes(cost):
    with pytest.raises(DamagedProject, match="not valid"):
        ScryptCost(*cost)


@pytest.mark.parametrize(
    "cost",
    [
        *((2**20, 3, 4), (2**17, 99, 4), (2**17, 3, 99), (8, 1, 2), (8, 0)),
        (2**19, 12, 4),  # sixteen times the standard work
    ],
)
def test_a_crafted_cost_of_argon2_is_refused(cost):
    with pytest.raises(DamagedProject, match="not valid"):
        Argon2Cost(*cost)


@pytest.mark.parametrize("cost", [ScryptCost(2**4), Argon2Cost(32, 1, 2)])
def test_each_function_opens_what_it_wrapped_and_the_file_names_it(cost):
    secret = ProjectSecret.generate()
    assert cost_from_json(cost.kdf, cost_to_json(cost)) == cost
    wrapped = wrap(secret, PASSPHRASE, "project", cost)
    assert unwrap(wrapped, PASSPHRASE, "project").reveal() == secret.reveal()
    with pytest.raises(WrongPassphrase):
        unwrap(wrapped, "another", "project")


@pytest.mark.parametrize(
    ("kdf", "text"),
    [
        *(("md5", '{"n":16,"p":1,"r":8}'), ("scrypt", "[]"), ("scrypt", "{"), ("scrypt", "7")),
        *(("scrypt", '{"n":16.0}'), ("scrypt", '{"n":true}'), ("scrypt", '{"n":"16"}')),
        *(("scrypt", '{"memory":64}'), ("argon2id", '{"n":16}'), ("scrypt", "[" * 100_000)),
    ],
)
def test_settings_that_are_none_of_ours_are_damage(kdf, text):
    with pytest.raises(DamagedProject, match="not valid"):
        cost_from_json(kdf, text)


@pytest.mark.parametrize("part", ["salt", "nonce", "ciphertext"])
@pytest.mark.parametrize("content", [b"", b"x", bytes(7), bytes(200)])
def test_a_wrapped_secret_of_another_length_is_damage(part, content):
    wrapped = wrap(ProjectSecret.generate(), PASSPHRASE, "project", CHEAP)
    with pytest.raises(DamagedProject, match="length"):
        replace(wrapped, **{part: content})


def test_the_standard_cost_is_128_mebibytes_a_guess():
    assert Argon2Cost(memory=128 * 2**10, passes=3, lanes=4) == STANDARD_COST


def test_the_secret_shows_itself_in_no_text_and_no_pickle():
    secret = ProjectSecret(bytes(range(32)))
    for text in (repr(secret), str(secret), f"{secret}"):
        assert "hidden" in text
        assert "\\x01" not in text
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(secret)


def test_keys_for_two_purposes_differ_and_stay_the_same():
    secret = ProjectSecret(bytes(range(32)))
    assert secret.derive("ledger") == ProjectSecret(bytes(range(32))).derive("ledger")
    assert secret.derive("ledger") != secret.derive("release identifier")
    assert secret.derive("ledger") != secret.reveal()


def test_a_secret_of_another_length_is_damage():
    with pytest.raises(DamagedProject, match="length"):
        ProjectSecret(b"short")
