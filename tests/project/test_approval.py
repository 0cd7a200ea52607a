"""A second person's approval: bound to exactly what is released, by a key of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.analysis.releasing import check_project
from sfumato.engine.core.progress import Silent
from sfumato.project.approval import (
    add_approver,
    approvals,
    approve,
    approvers,
    remove_approver,
    require_approval,
)
from sfumato.project.document.model import TableSource, document_from_json, document_to_json
from sfumato.project.errors import (
    NotApproved,
    NotSealed,
    PassphraseError,
    ProjectPart,
    ReadOnlyProject,
    ReleaseError,
    WrongPassphrase,
)
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_plan, make_release
from sfumato.project.store.secret import key_in, unwrap
from sfumato.project.withdrawal import withdraw
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE, document, new_project, noon, reopened, table
from tests.project.tampering import change, put, rows

GRACE, OWN = "Grace Hopper", "nanoseconds of wire"


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path, document(needs_approval=True)) as made:
        add_approver(made, f"  {GRACE} ", OWN)
        yield made


def released(project, recipient="Clinic A", out="out", **options):
    folder = project.path.parent / out
    return make_release(project, in_batches(table()), recipient, folder, "csv", Silent(), **options)


def approved(project, recipient="Clinic A"):
    return approvals(project, project.document, [recipient])[recipient]


def test_nothing_is_released_that_no_second_person_has_approved(project, tmp_path):
    for make in (
        lambda: released(project),
        lambda: make_plan(
            project,
            in_batches(table()),
            "Clinic A",
            tmp_path / "plan.json",
            tmp_path / "keys",
            Silent(),
        ),
    ):
        with pytest.raises(NotApproved, match="No second person has approved") as caught:
            make()
        assert GRACE in caught.value.remedy
    assert {path.name.removesuffix("-journal") for path in tmp_path.iterdir()} == {"ward.sfumato"}
    assert project.releases == ()


def test_an_approved_release_is_made_and_the_ledger_tells_who_approved_it_and_when(project):
    (made,) = approve(project, ["Clinic A"], GRACE, OWN)
    assert (made.name, made.recorded_at) == (GRACE, "2026-11-20T12:00:00+00:00")
    record = released(project).record
    told = {"name": GRACE, "at": made.recorded_at, "entry": made.number}
    assert record.details["approval"] == told
    entry = next(one for one in project.ledger.entries if one.number == made.number)
    assert entry.kind == "release approved"
    assert (entry.details["recipient"], entry.details["approver"]) == ("Clinic A", GRACE)
    assert entry.details["table"] == ["ab" * 32, 12]
    project.ledger.verify_chain()
    released(project, out="once more")
    with pytest.raises(NotApproved):
        released(project, "Institute B")


def test_a_project_that_asks_for_none_needs_none(tmp_path):
    with new_project(tmp_path) as project:
        assert require_approval(project, "Clinic A") == {}
        assert "approval" not in released(project).record.details
        assert "needs_approval" not in document_to_json(project.document)


CHANGES = {
    "level": lambda d: replace(
        d,
        recipients=(
            replace(d.recipients[0], statements={"illness": {"retention_probability": 0.61}}),
            *d.recipients[1:],
        ),
    ),
    "role": lambda d: d.with_column(replace(d.column("sex"), drop=True)),
    "title": lambda d: replace(d, title="Ward 8"),
    "order": lambda d: replace(d, rows_as_in_table="they join by number"),
    "reason": lambda d: replace(d, accepted={"x": "it is a test"}),
    "table": lambda d: replace(d, source=replace(d.source, digest="cd" * 32)),
    "rows": lambda d: replace(d, source=replace(d.source, rows=11)),
    "reading": lambda d: replace(d, source=replace(d.source, options={"delimiter": ";"})),
}


@pytest.mark.parametrize("what", [name for name in CHANGES if name != "role"])
def test_an_approval_lapses_when_what_it_is_of_changes_and_holds_again_when_it_is_back(
    project, what
):
    approve(project, ["Clinic A"], GRACE, OWN)
    before = project.document
    project.save_document(CHANGES[what](before))
    assert approved(project) is None
    with pytest.raises(NotApproved, match="is not what would be released now"):
        require_approval(project, "Clinic A")
    project.save_document(before)
    assert approved(project).name == GRACE


def test_what_is_released_to_others_and_where_the_table_is_are_no_part_of_it(project):
    approve(project, ["Clinic A"], GRACE, OWN)
    now = project.document
    others = tuple(replace(one, statements={}) for one in now.recipients[1:])
    moved = TableSource(
        "/elsewhere/ward.csv", now.source.digest, 12, now.source.options, {"sex": "string"}
    )
    project.save_document(replace(now, recipients=(now.recipients[0], *others), source=moved))
    assert approved(project).name == GRACE


def test_an_approval_lapses_when_the_release_is_withdrawn(project):
    approve(project, ["Clinic A", "Institute B"], GRACE, OWN)
    withdraw(project, released(project).record, "the wrong extract")
    assert approved(project) is None
    assert approved(project, "Institute B") is not None
    approve(project, ["Clinic A"], GRACE, OWN)
    released(project, out="again")


def test_an_approval_lapses_with_who_gave_it(project):
    approve(project, ["Clinic A"], GRACE, OWN)
    remove_approver(project, GRACE)
    assert (approved(project), approvers(project)) == (None, ())
    with pytest.raises(NotApproved) as caught:
        released(project)
    assert "--add NAME" in caught.value.remedy
    add_approver(project, GRACE, OWN)
    assert approved(project) is None, "another key of the same name approved nothing"


def test_only_a_named_person_approves_by_their_own_passphrase(project):
    for name, passphrase, error in (
        (GRACE, PASSPHRASE, WrongPassphrase),
        (GRACE, "wrong", WrongPassphrase),
        (GRACE, "", PassphraseError),
        ("Nobody", OWN, ReleaseError),
        ("", OWN, ReleaseError),
    ):
        with pytest.raises(error):
            approve(project, ["Clinic A"], name, passphrase)
    for recipient in ("Nowhere", "", "the public"):
        with pytest.raises(ReleaseError, match="no recipient"):
            approve(project, [recipient], GRACE, OWN)
    assert [entry.kind for entry in project.ledger.entries].count("release approved") == 0


def test_who_approves_has_another_passphrase_than_the_project(project):
    with pytest.raises(PassphraseError, match="project's own"):
        add_approver(project, "Ada", PASSPHRASE)
    for name, passphrase in (("Ada", ""), ("", OWN), (" \n", OWN), ("x" * 201, OWN), (GRACE, OWN)):
        with pytest.raises((PassphraseError, ReleaseError)):
            add_approver(project, name, passphrase)
    assert approvers(project) == (GRACE,)
    project.close()
    with pytest.raises(WrongPassphrase):
        ProjectFile.open(project.path, OWN, read_only=True)


def test_a_project_that_is_open_for_reading_takes_no_approval(project):
    with reopened(project, read_only=True) as reading:
        with pytest.raises(ReadOnlyProject):
            approve(reading, ["Clinic A"], GRACE, OWN)
        with pytest.raises(ReadOnlyProject):
            add_approver(reading, "Ada", "another")


def test_the_custodian_alone_can_not_write_an_approval(project):
    """Who has the project's passphrase, and not the second one, may append what they like."""
    approve(project, ["Clinic A"], GRACE, OWN)
    genuine = project.ledger.entries[-1].details
    withdraw(project, released(project).record, "to be approved anew")
    for forged in (
        dict(genuine),  # the same once more
        {**genuine, "signature": "00" * 64},
        {**genuine, "signature": ""},
        {**genuine, "signature": None},
        {**genuine, "approver": "Ada"},
        {**genuine, "approver": None},
        {**genuine, "recipient": "Institute B"},
    ):
        project.record(EntryKind.RELEASE_APPROVED, forged)
        assert approved(project) is None
        assert approved(project, "Institute B") is None


def test_the_keys_of_who_approves_are_sealed(project):
    approve(project, ["Clinic A"], GRACE, OWN)
    project.close()
    content = project.path.read_bytes()
    (row,) = rows(project.path, "keys")
    flipped = bytes([row[2][0] ^ 1]) + row[2][1:]
    for changed in ([], [(row[0], "Ada", *row[2:])], [(*row[:2], flipped, *row[3:])]):
        put(project.path, "keys", changed)
        with pytest.raises(NotSealed) as caught:
            ProjectFile.open(project.path, PASSPHRASE, clock=noon)
        assert caught.value.parts == {ProjectPart.KEYS}
        project.path.write_bytes(content)
    change(project.path, "DELETE FROM ledger WHERE kind = 'release approved'")
    with pytest.raises(NotSealed):
        ProjectFile.open(project.path, PASSPHRASE, clock=noon)


def test_the_passphrase_of_who_approves_is_not_tried_with_the_file_alone(project):
    _, wrapped = key_in(project.database.rows("SELECT * FROM keys"), "approver", GRACE)
    with pytest.raises(WrongPassphrase):
        unwrap(wrapped, OWN, f"{project.project_id} approver {GRACE}")


def test_approvals_stay_when_the_passphrase_of_the_project_changes(project):
    approve(project, ["Clinic A"], GRACE, OWN)
    project.change_passphrase(PASSPHRASE, "another one", cost=CHEAP)
    assert approved(project).name == GRACE
    approve(project, ["Institute B"], GRACE, OWN)


def test_the_check_before_a_release_tells_of_the_approval(project):
    approve(project, ["Clinic A"], GRACE, OWN)
    found = {each.recipient: each for each in check_project(project, in_batches(table()), Silent())}
    first = {name: each.findings[0] for name, each in found.items()}
    assert str(first["Clinic A"].sentence) == f"{GRACE} approved it."
    assert first["Institute B"] in found["Institute B"].standing
    assert "No second person" in str(first["Institute B"].sentence)


def test_the_choice_is_kept_with_the_document():
    chosen = document(needs_approval=True)
    assert document_from_json(document_to_json(chosen)) == chosen
    assert document_from_json(document_to_json(document())).needs_approval is None
