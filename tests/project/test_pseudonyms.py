"""Identifying columns that leave as pseudonyms: made by hand, verified, and linked."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import Examined
from sfumato.analysis.guarantee import guarantee_of
from sfumato.analysis.readiness.readiness import examine, looked_at
from sfumato.analysis.readiness.readiness_checks import linked_rows
from sfumato.analysis.shown_columns import ColumnView, SampledColumns
from sfumato.engine.core.columns import Pseudonym
from sfumato.engine.core.errors import LadderError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness import record_ids as engine
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_key
from sfumato.engine.table.table import Table
from sfumato.project.document.model import document_from_json, document_to_json
from sfumato.project.document.recipients import renamed
from sfumato.project.errors import RulesError
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.plan import Plan
from sfumato.project.release.release_columns import attributes_of, material_of, plan_for
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.keyed_hash import ALPHABET, pseudonym_by_hand
from tests.project.making import ILLNESSES, document, new_project, table
from tests.project.test_release import release, released_csv

SECRET = bytes(range(32))


def with_pseudonyms(shared_by=(), **changes):
    settled = document("person", **changes)
    return settled.with_column(replace(settled.column("person"), pseudonym=Pseudonym(shared_by)))


@pytest.fixture
def project_of(tmp_path):
    opened = []

    def make(settled):
        folder = tmp_path / str(len(opened))
        folder.mkdir()
        opened.append(new_project(folder, settled))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


def shown(project, out, recipient):
    frame = released_csv(release(project, out, recipient))
    return list(frame["person"])


def test_pseudonyms_are_keyed_hashes_in_letters():
    values = pd.Series(["a", "b", None, "a"], name="person", dtype="str")
    key = KeyRing(SECRET).for_pseudonyms("person", "shared")
    found = engine.pseudonyms(values, key, Silent())
    expected = [pseudonym_by_hand(SECRET, "person", "shared", value) for value in ("a", "b", "a")]
    assert found.dropna().tolist() == expected
    assert found.isna().tolist() == [False, False, True, False]
    assert all(len(text) == engine.LETTERS for text in expected)


def test_they_have_nothing_to_do_with_record_identifiers_or_other_columns():
    values = pd.Series([f"P{place}" for place in range(50)], name="person")
    keys = KeyRing(SECRET)
    made = engine.pseudonyms(values, keys.for_pseudonyms("person", "shared"), Silent())
    other = engine.pseudonyms(values, keys.for_pseudonyms("house", "shared"), Silent())
    assert not set(made) & set(other)
    ids = record_ids_by_key(values, keys, Silent())
    as_text = {"".join(ALPHABET[int(one) >> 5 * at & 31] for at in range(12)) for one in ids}
    assert not as_text & {text[start : start + 12] for text in made for start in (0, 13)}


def test_each_recipient_sees_pseudonyms_of_their_own(project_of, tmp_path):
    project = project_of(with_pseudonyms())
    one = shown(project, tmp_path / "out", "Clinic A")
    other = shown(project, tmp_path / "out", "Institute B")
    assert len(set(one)) == len(set(other)) == 12
    assert not set(one) & set(other)
    assert not set(one) & set(table().frame["person"])


@pytest.mark.parametrize("sharing", [None, ("Clinic A", "Institute B")])
def test_those_who_share_see_the_same_pseudonym_for_the_same_person(project_of, tmp_path, sharing):
    project = project_of(with_pseudonyms(sharing))
    one = shown(project, tmp_path / "out", "Clinic A")
    other = shown(project, tmp_path / "out", "Institute B")
    assert set(one) == set(other)
    assert one != other  # their rows stand in orders of their own
    secret = project.secret.reveal()
    people = table().frame["person"]
    assert set(one) == {pseudonym_by_hand(secret, "person", "shared", value) for value in people}


def test_a_release_with_pseudonyms_is_verified_and_a_changed_one_is_not(project_of, tmp_path):
    project = project_of(with_pseudonyms())
    outcome = release(project, tmp_path / "out")
    report = verify_bundle(project, in_batches(table()), outcome.path, Silent())
    assert report.holds, report.failed
    data = outcome.path / "data.csv"
    frame = pd.read_csv(data)
    frame["person"] = np.roll(frame["person"], 1)
    frame.to_csv(data, index=False)
    report = verify_bundle(project, in_batches(table()), outcome.path, Silent())
    assert "Unperturbed columns" in {check.title for check in report.failed}


def test_the_bundle_tells_of_pseudonyms_and_of_no_other_recipient(project_of, tmp_path):
    project = project_of(with_pseudonyms(None))
    outcome = release(project, tmp_path / "out")
    readme = (outcome.path / "README.md").read_text(encoding="utf-8")
    assert "a pseudonym" in readme
    assert "Other recipients have the same pseudonyms of “person”" in readme
    assert "Institute B" not in readme
    assert "P001" not in (outcome.path / "data.csv").read_text(encoding="utf-8")
    fields = json.loads((outcome.path / "datapackage.json").read_text(encoding="utf-8"))
    (field,) = (f for f in fields["resources"][0]["schema"]["fields"] if f["name"] == "person")
    assert field["sfumato"]["pseudonym"] is True
    assert "person" not in outcome.record.open_columns


def test_labels_of_an_identifier_do_not_leave_with_its_pseudonym(project_of, tmp_path):
    labelled = Table(table().frame, value_labels={"person": {"P001": "Ada Lovelace"}})
    project = project_of(with_pseudonyms())
    outcome = release(project, tmp_path / "out", given=labelled)
    texts = "".join(path.read_text(encoding="utf-8") for path in outcome.path.iterdir())
    assert "Lovelace" not in texts


def test_the_guarantee_names_who_can_link_what():
    settled = with_pseudonyms(("Clinic A", "Institute B"))
    cautions = guarantee_of(settled, attributes_of(settled, table())).cautions
    assert any("Clinic A and Institute B share the pseudonyms of person" in one for one in cautions)
    own = with_pseudonyms()
    cautions = guarantee_of(own, attributes_of(own, table())).cautions
    assert not any("share" in one for one in cautions)
    assert any("Rows with the same pseudonym of person belong together" in one for one in cautions)


def test_a_column_that_was_a_pseudonym_is_not_shown_as_it_is_without_a_reason(project_of, tmp_path):
    project = project_of(with_pseudonyms())
    release(project, tmp_path / "out")
    spec = project.document.column("sex")
    project.save_document(
        project.document.with_column(
            replace(project.document.column("person"), role=spec.role, pseudonym=None)
        )
    )
    with pytest.raises(LadderError, match="as a pseudonym and would now be released as it is"):
        release(project, tmp_path / "out", "Institute B")


def test_a_column_that_was_shown_as_it_is_gets_no_pseudonym_without_a_reason(project_of, tmp_path):
    settled = with_pseudonyms()
    person = settled.column("person")
    shown_first = replace(person, role=settled.column("sex").role, pseudonym=None)
    project = project_of(settled.with_column(shown_first))
    release(project, tmp_path / "out")
    project.save_document(project.document.with_column(person))
    with pytest.raises(LadderError, match="so a pseudonym in its place hides nothing from them"):
        release(project, tmp_path / "out", "Institute B")


def test_rows_that_a_pseudonym_links_are_said_to_be_in_no_count(project_of, tmp_path):
    outcome = release(project_of(with_pseudonyms()), tmp_path / "out")
    readme = (outcome.path / "README.md").read_text(encoding="utf-8")
    assert "no count of unique records and no size of a group includes that" in readme


@pytest.mark.parametrize("sharing", [(), None, ("Institute B",)])
def test_document_rules_and_plan_keep_them(sharing):
    settled = with_pseudonyms(sharing)
    assert document_from_json(document_to_json(settled)) == settled
    read = apply_rules(rules_of(settled), MemorySurvey(table()), document())
    assert read.column("person") == settled.column("person")
    plan = plan_for(material_of(settled, table()), (), "Institute B")
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.pseudonyms == {"person": "recipient Institute B" if sharing == () else "shared"}


@pytest.mark.parametrize(
    ("stated", "said"),
    [('"everybody"', 'Write "each", "shared"'), ('["Clinc A"]', "Did you mean Clinic A?")],
)
def test_rules_that_share_with_nobody_are_refused(stated, said):
    rules = rules_of(with_pseudonyms()).replace('pseudonym = "each"', f"pseudonym = {stated}")
    with pytest.raises(RulesError) as refused:
        apply_rules(rules, MemorySurvey(table()), document())
    assert said in str(refused.value)


def test_who_shares_is_known_by_the_new_name_of_a_renamed_recipient():
    changed = renamed(with_pseudonyms(("Clinic A",)), "Clinic A", "Clinic Z")
    assert changed.column("person").pseudonym == Pseudonym(("Clinic Z",))


def test_every_row_shows_the_pseudonym_of_its_own_person(project_of, tmp_path):
    project = project_of(with_pseudonyms())
    frame = released_csv(release(project, tmp_path / "out"))
    true, secret = table().frame, project.secret.reveal()
    expected = {
        (pseudonym_by_hand(secret, "person", "recipient Clinic A", person), sex)
        for person, sex in zip(true["person"], true["sex"], strict=True)
    }
    assert set(zip(frame["person"], frame["sex"], strict=True)) == expected


def test_what_linked_rows_show_together_is_counted_though_no_row_is_unique():
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "person": [f"P{one}" for one in draw.integers(0, 60, 600)],
            "sex": draw.choice(["f", "m"], 600),
            "illness": draw.choice(ILLNESSES, 600),
        }
    )
    together = frame.groupby("person")["sex"].value_counts().unstack(fill_value=0)
    unique = int((together.value_counts() == 1).sum())
    asked = with_pseudonyms(), in_batches(Table(frame)), KeyRing(SECRET), Silent()
    for one in examine(*looked_at(*asked), (), Silent()):
        [found] = [each for each in one.findings if each.check == "Linked rows"]
        assert found.severity is Severity.CAUTION
        assert f"unique for {unique} of 60 values of person" in found.sentence
    alone = (
        with_pseudonyms(),
        in_batches(Table(frame.drop_duplicates("person"))),
        KeyRing(SECRET),
        Silent(),
    )
    for one in examine(*looked_at(*alone), (), Silent()):
        assert "Linked rows" not in {each.check for each in one.findings}


def test_linked_rows_of_a_table_that_is_read_in_parts_are_told_without_a_count():
    sampled = SampledColumns(table(), 10_000)
    for key, told in ((None, 1), ("person", 0)):
        settled = replace(with_pseudonyms(), record_key=key)
        looks = (ColumnView(settled.column("sex")),)
        found = list(linked_rows(Examined(settled, settled.recipients[0], looks, sampled, {})))
        assert len(found) == told
        assert all("can be unique where none of them is" in one.sentence for one in found)
