"""What rules decide about a generalized table, and about other holders' tables."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies import Masking, Suppression
from sfumato.formats.reading import detect_options
from sfumato.project.document.generalization import CRITERION_KINDS, CriterionChoice, OtherTableFile
from sfumato.project.document.model import Document
from sfumato.project.errors import RulesError
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules, rules_of
from tests.project.test_generalizing import decided
from tests.project.verifying import a_document, a_table
from tests.thorough import tried

OTHER = "age,ill\n20-60,Flu\n20-60,cold\n20-60,\n"

RULES = """
[hierarchies.age]
kind = "suppression"

[hierarchies.zip]
kind = "masking"

[generalization]
sensitive = "illness"
quasi_identifiers = ["zip", "age"]
criteria = [
    { kind = "distinct-diversity", l = 2 },
    { kind = "closeness", t = 0.25 },
]
suppression = 0.01
suppressed = "starred"
pinned = [{ zip = 2, age = 0 }]

[generalization.levels]
age = 1
zip = 3

[[generalization.others]]
holder = "Registry"
file = "registry/other.csv"
quasi_identifiers = ["age"]
sensitive = "ill"
spelling = [
    { there = "Flu", here = "flu" },
    { there = { missing = true }, here = "gout" },
]
"""


def base() -> str:
    return rules_of(a_document(policy=(), recipients=()))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "registry").mkdir()
    (tmp_path / "registry" / "other.csv").write_text(OTHER)
    return tmp_path


def applied(text, folder):
    return apply_rules(base() + text, MemorySurvey(a_table()), Document(), folder)


def test_rules_written_by_hand_are_understood(folder):
    made = applied(RULES, folder)
    found, path = made.generalization, folder / "registry" / "other.csv"
    assert found is not None
    assert (found.sensitive, found.quasi_identifiers) == ("illness", ("zip", "age"))
    assert [choice.text for choice in found.criteria] == [
        "distinct l-diversity (l = 2)",
        "t-closeness (t = 0.25)",
    ]
    assert (found.node, found.pinned) == ((3, 1), ((2, 0),))
    assert (found.suppression, found.suppressed) == (0.01, Suppressed.STARRED)
    assert found.others == (
        OtherTableFile(
            "Registry",
            str(path),
            sha256(path.read_bytes()).hexdigest(),
            detect_options(path).to_dict(),
            ("age",),
            "ill",
            (("Flu", "flu"), (None, "gout")),
        ),
    )
    assert isinstance(made.hierarchies["zip"], Masking)


def test_little_has_to_be_said(folder):
    text = '[hierarchies]\nage = { kind = "suppression" }\n[generalization]\n'
    made = applied(text + 'sensitive = "illness"\nquasi_identifiers = ["age"]\n', folder)
    assert made.hierarchies == {"age": Suppression()}
    assert made.generalization is not None
    assert made.generalization.node is None
    assert [choice.kind for choice in made.generalization.criteria] == [
        "k-anonymity",
        "distinct-diversity",
    ]


def test_rules_without_the_section_decide_nothing_of_it():
    assert apply_rules(base(), MemorySurvey(a_table()), decided()).generalization is None
    assert "generalization" not in base()


def test_a_file_inside_the_rules_folder_is_named_from_there(folder):
    made = applied(RULES, folder)
    text = rules_of(made, folder)
    assert 'file = "registry/other.csv"' in text
    assert apply_rules(text, MemorySurvey(a_table()), Document(title="Ward 7"), folder) == made
    elsewhere = rules_of(made, folder / "registry" / "deeper")
    assert f'file = "{(folder / "registry" / "other.csv").as_posix()}"' in elsewhere
    assert apply_rules(elsewhere, MemorySurvey(a_table()), Document(title="Ward 7"), folder) == made
    assert rules_of(made) == elsewhere


CHOICES = st.sampled_from(sorted(CRITERION_KINDS)).flatmap(
    lambda kind: st.fixed_dictionaries(
        {
            name: st.integers(1, 9) if name in CRITERION_KINDS[kind].whole else st.floats(0.1, 5)
            for name in CRITERION_KINDS[kind].numbers
        }
    ).map(lambda numbers: CriterionChoice(kind, numbers))
)
NODES = st.tuples(st.integers(0, 5), st.integers(0, 5))


@settings(deadline=None, max_examples=tried(40))
@given(
    st.lists(CHOICES, max_size=4),
    st.floats(0, 0.9),
    st.sampled_from(list(Suppressed)),
    st.none() | NODES,
    st.lists(NODES, max_size=2),
)
def test_applying_a_documents_rules_gives_the_decision_back(
    criteria, suppression, suppressed, node, pinned
):
    document = decided(
        criteria=tuple(criteria),
        suppression=suppression,
        suppressed=suppressed,
        node=node,
        pinned=tuple(pinned),
    )
    text = rules_of(document)
    again = apply_rules(text, MemorySurvey(a_table()), replace(document, generalization=None))
    assert again == document
    assert rules_of(again) == text


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ('sensitive = "illness"', 'sensitive = "age"', "sensitive =", "age is not a sensitive"),
        ('sensitive = "illness"\n', "", "[generalization]", "key sensitive is missing"),
        ('"zip", "age"]', '"zip", "sip"]', "quasi_identifiers =", "Did you mean zip"),
        ('"zip", "age"]', '"zip", "zip"]', "quasi_identifiers =", "zip stands there twice"),
        ('quasi_identifiers = ["zip", "age"]\n', "", "[generalization]", "missing or empty"),
        ('[hierarchies.zip]\nkind = "masking"\n', "", "quasi_identifiers", "zip has no hierarchy"),
        ('kind = "closeness"', 'kind = "magic"', "criteria =", "no criterion magic"),
        ("t = 0.25", "k = 5", "criteria =", "parameters t"),
        ("l = 2 }", "l = 2.5 }", "criteria =", "not a whole number"),
        ("suppression = 0.01", "suppression = 1", "suppression =", "out of range"),
        ("suppression = 0.01", 'suppression = "1 %"', "suppression =", "number was expected"),
        ('"starred"', '"shredded"', "suppressed =", "shredded is not one"),
        ("age = 1\n", "age = 1\nwork = 2\n", "work = 2", "not one of the quasi_identifiers"),
        ("age = 1\n", "age = 1.5\n", "age = 1.5", "level was expected"),
        ("age = 1\n", "", "[generalization.levels]", "level of age is missing"),
        ("zip = 2, age = 0", "zip = 2", "pinned =", "level of age is missing"),
        ('holder = "Registry"\n', "", "[[generalization.others]]", "holder is missing"),
        ('sensitive = "ill"\n', "", "[[generalization.others]]", "sensitive is missing"),
        ("registry/other.csv", "registry/gone.csv", "file =", "gone.csv"),
        ('here = "flu"', "here = []", "spelling =", "key here is missing, or not a text"),
        ("{ there = {", "{ their = {", "spelling =", "key there is missing"),
        ("suppressed =", "supressed =", "supressed =", "Did you mean suppressed"),
        ('sensitive = "ill"', 'sensitive = "ill"\ncolour = "red"', "colour", "no such key"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder, old, new, place, said):
    assert RULES.count(old) == 1
    text = base() + RULES.replace(old, new)
    with pytest.raises(RulesError) as caught:
        apply_rules(text, MemorySurvey(a_table()), Document(), folder)
    assert said in str(caught.value)
    line = text[: text.index(place, text.index("[generalization]"))].count("\n") + 1
    shown = caught.value.details["line"]
    assert shown == line
    assert "Flu" not in str(caught.value)


def test_one_holder_has_one_table(folder):
    other = RULES[RULES.index("[[generalization.others]]") :]
    with pytest.raises(RulesError, match="Registry stands there twice"):
        applied(RULES + other, folder)


def test_a_file_is_refused_where_nobody_knows_the_rules_folder():
    with pytest.raises(RulesError, match="folder of the rules is not known"):
        apply_rules(base() + RULES, MemorySurvey(a_table()), Document())
