"""How commands end: codes, messages, passphrases, cancelling, faults."""

from __future__ import annotations

import os
import signal

import pytest

from sfumato.commands.shared import command as terminals
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, ExitCode
from sfumato.project import source
from sfumato.project.project_file import ProjectFile
from sfumato.project.store.files import Staging
from tests.cli.conftest import RULES
from tests.project.making import CHEAP, PASSPHRASE, document


def descriptor_with(text):
    reading, writing = os.pipe()
    os.write(writing, text.encode())
    os.close(writing)
    return reading


@pytest.mark.parametrize(
    "arguments",
    [
        ("nonsense",),
        ("release",),
        ("--nonsense",),
        ("init", "p"),
        ("verify", "b"),
        ("a.sfumato", "b"),
    ],
)
def test_a_command_line_that_is_not_understood_ends_with_2(line, arguments, capsys):
    assert line.run(*arguments) == ExitCode.USAGE
    assert "usage" in capsys.readouterr().err


def test_the_passphrase_is_no_argument(line, capsys):
    assert line.run("ledger", "p", "--passphrase", "x") == ExitCode.USAGE
    assert "unrecognized" in capsys.readouterr().err


def test_a_wrong_passphrase_ends_with_4(made):
    made.environment[PASSPHRASE_VARIABLE] = "wrong"
    for command in ("ledger", "rules", "recipients", "source"):
        assert made.run(command, made.project) == ExitCode.PASSPHRASE
        assert "does not open" in made.remarks
    assert "wrong" not in made.remarks


def test_a_missing_passphrase_ends_with_4_and_says_how_to_give_it(made):
    del made.environment[PASSPHRASE_VARIABLE]
    assert made.run("ledger", made.project) == ExitCode.PASSPHRASE
    assert PASSPHRASE_VARIABLE in made.remarks
    assert "--passphrase-fd" in made.remarks


def test_an_empty_passphrase_makes_no_project(line):
    line.environment[PASSPHRASE_VARIABLE] = ""
    assert line.init() == ExitCode.PASSPHRASE
    assert not line.project.exists()


@pytest.mark.parametrize("ending", ["\n", "\r\n", "", "\nsecond line"])
def test_a_passphrase_is_read_from_a_descriptor(made, ending):
    made.environment[PASSPHRASE_VARIABLE] = "not looked at"
    descriptor = descriptor_with(PASSPHRASE + ending)
    assert made.run("ledger", made.project, "--passphrase-fd", descriptor) == ExitCode.OK


def test_a_descriptor_that_is_not_open_ends_with_4(made):
    assert made.run("ledger", made.project, "--passphrase-fd", 987) == ExitCode.PASSPHRASE
    assert "987" in made.remarks


def test_a_person_is_asked_for_the_passphrase(made, monkeypatch):
    del made.environment[PASSPHRASE_VARIABLE]
    made.watched = True
    asked = []
    monkeypatch.setattr(
        terminals.getpass, "getpass", lambda question, stream: asked.append(question) or PASSPHRASE
    )
    assert made.run("ledger", made.project) == ExitCode.OK
    assert asked == ["Passphrase: "]


def test_a_person_types_a_new_passphrase_twice(line, monkeypatch):
    del line.environment[PASSPHRASE_VARIABLE]
    line.watched = True
    typed = iter(["one", "another", "the same", "the same"])
    monkeypatch.setattr(terminals.getpass, "getpass", lambda question, stream: next(typed))
    assert line.init() == ExitCode.PASSPHRASE
    assert "differ" in line.remarks
    assert not line.project.exists()
    assert line.init() == ExitCode.OK
    ProjectFile.open(line.project, "the same").close()


def test_a_person_who_closes_the_input_is_told(made, monkeypatch):
    def closed(question, stream):
        raise EOFError

    del made.environment[PASSPHRASE_VARIABLE]
    made.watched = True
    monkeypatch.setattr(terminals.getpass, "getpass", closed)
    assert made.run("ledger", made.project) == ExitCode.PASSPHRASE


def test_the_passphrase_can_be_changed(made):
    made.environment["SFUMATO_NEW_PASSPHRASE"] = "new words"
    assert made.run("passphrase", made.project) == ExitCode.OK
    assert made.run("ledger", made.project) == ExitCode.PASSPHRASE
    made.environment[PASSPHRASE_VARIABLE] = "new words"
    assert made.run("ledger", made.project) == ExitCode.OK
    back = ("passphrase", made.project, "--new-passphrase-fd", descriptor_with(PASSPHRASE))
    assert made.run(*back) == ExitCode.OK
    ProjectFile.open(made.project, PASSPHRASE).close()


def expect_error(line, part, *, made_nothing=True):
    assert line.remarks.startswith("sfumato: ")
    assert part in line.remarks
    assert len(line.remarks.splitlines()) >= 2, "there is no way forward"
    assert not made_nothing or not line.project.exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("ward.csv", None, "ward.csv"),
        ("ward.csv", b"", "ward.csv"),
        ("ward.csv", b"person,sex\nP1,f\n", "illness"),
        ("ward.csv", b"person,sex,illness\nP1,f,mumps\nP2,m,flu\n", "row 1"),
        ("ward.csv", b"person,sex,illness\nP1,f,flu\nP1,m,flu\n", "person"),
        ("ward.csv", b"person,sex,illness\nP1,f,\nP2,m,flu\n", "illness"),
        ("rules.toml", None, "rules.toml"),
        ("rules.toml", b"format = \n", "line 1"),
        ("rules.toml", b"\xff\xfe\x00", "UTF-8"),
        ("rules.toml", RULES.replace("uniform", "unifrom").encode(), "Did you mean uniform"),
        ("rules.toml", RULES.replace("0.6", "6").encode(), "Line 23"),
        ("rules.toml", RULES.replace("epsilon = 1.0", "epsilon = 0.0").encode(), "range"),
    ],
)
def test_bad_input_makes_no_project_and_says_what_is_wrong(line, name, content, part):
    if content is None:
        (line.folder / name).unlink()
    else:
        (line.folder / name).write_bytes(content)
    assert line.init() == ExitCode.EXPECTED_ERROR
    expect_error(line, part)
    for value in ("mumps", "P1"):
        assert value not in line.remarks


def test_a_project_is_never_overwritten(made):
    content = made.project.read_bytes()
    assert made.init() == ExitCode.EXPECTED_ERROR
    expect_error(made, "already", made_nothing=False)
    assert made.project.read_bytes() == content


def test_an_unknown_record_key_is_named(line):
    assert line.init("--record-key", "persn") == ExitCode.EXPECTED_ERROR
    expect_error(line, "persn")


@pytest.mark.parametrize("command", ["ledger", "rules", "recipients", "source", "passphrase"])
def test_a_project_that_is_not_there_is_named(line, command):
    line.environment["SFUMATO_NEW_PASSPHRASE"] = "x"
    assert line.run(command, line.folder / "none.sfumato") == ExitCode.EXPECTED_ERROR
    expect_error(line, "none.sfumato")
    for words in (("open", line.folder / "none.sfumato"), (line.folder / "none.sfumato",)):
        assert line.run(*words) == ExitCode.EXPECTED_ERROR
        expect_error(line, "none.sfumato")


def test_a_file_that_is_no_project_is_named(line):
    assert line.run("ledger", line.folder / "ward.csv") == ExitCode.EXPECTED_ERROR
    expect_error(line, "not a Sfumato project")


def test_a_project_open_elsewhere_is_said_to_be_so(made):
    with ProjectFile.open(made.project, PASSPHRASE):
        assert made.release() == ExitCode.EXPECTED_ERROR
    expect_error(made, "another window", made_nothing=False)
    assert made.bundles() == []


@pytest.mark.parametrize(
    ("more", "part"),
    [
        (("--format", "docx"), "docx"),
        (("--recipient", "Clinic Z"), "Clinic Z"),
    ],
)
def test_a_release_that_can_not_be_made_leaves_nothing(made, more, part):
    recipient = "Clinic A" if "--format" in more else "Clinic Y"
    assert made.release(recipient, *more) == ExitCode.EXPECTED_ERROR
    expect_error(made, part if "--format" in more else "Clinic Y", made_nothing=False)
    assert made.bundles() == []


def test_a_release_is_never_overwritten(released):
    assert released.release() == ExitCode.EXPECTED_ERROR
    expect_error(released, "never overwrites", made_nothing=False)


def test_a_bundle_that_is_not_there_fails_its_verification(made):
    code = made.run("verify", made.folder / "nothing", "--project", made.project)
    assert code == ExitCode.CHECK_FAILED
    assert "FAIL  Files" in made.output


def test_a_release_left_unfinished_is_settled_and_said(released):
    target = released.folder / "out" / "half"
    staging = Staging.beside(target, "id", "Clinic A", as_zip=False)
    staging.folder_path.mkdir()
    project = ProjectFile.open(released.project, PASSPHRASE)
    with project, project.database.transaction() as connection:
        staging.note(connection)
    assert released.release("Institute B") == ExitCode.OK
    assert "unfinished release to Clinic A was settled" in released.remarks
    assert not staging.folder_path.exists()


def test_ctrl_c_cancels_and_leaves_nothing(made, monkeypatch):
    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        return table_of(*arguments)

    table_of = source.open_table
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(source, "open_table", interrupted)
    assert made.release() == ExitCode.CANCELLED
    assert "Cancelled" in made.remarks
    assert made.bundles() == []
    assert signal.getsignal(signal.SIGINT) is before
    with ProjectFile.open(made.project, PASSPHRASE) as project:
        assert [entry.kind for entry in project.ledger.entries] == ["project created"]


def test_ctrl_c_twice_ends_at_once(made, monkeypatch):
    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("the second one was not heard")

    monkeypatch.setattr(source, "open_table", interrupted)
    assert made.release() == ExitCode.CANCELLED


def test_ctrl_c_at_the_question_for_a_passphrase_cancels(made, monkeypatch):
    def interrupted(question, stream):
        raise KeyboardInterrupt

    del made.environment[PASSPHRASE_VARIABLE]
    made.watched = True
    monkeypatch.setattr(terminals.getpass, "getpass", interrupted)
    assert made.run("ledger", made.project) == ExitCode.CANCELLED


def test_progress_is_shown_only_where_somebody_watches(made):
    assert made.release() == ExitCode.OK
    assert "%" not in made.remarks
    made.watched = True
    assert made.release("Institute B") == ExitCode.OK
    assert "100 %" in made.remarks
    assert made.remarks.endswith("\r")
    assert "%" not in made.output


def test_a_fault_shows_where_it_is_and_nothing_of_the_table(made, monkeypatch):
    def faulty(*arguments):
        raise KeyError("gout of patient P007")

    monkeypatch.setattr(source, "open_table", faulty)
    assert made.release() == ExitCode.FAULT
    assert "KeyError in sfumato.commands.shared.opening, line " in made.remarks
    assert "gout" not in made.remarks + made.output
    assert "P007" not in made.remarks + made.output


def test_a_project_without_recipients_says_so(line):
    empty = document(recipients=())
    ProjectFile.create(line.project, PASSPHRASE, empty, cost=CHEAP).close()
    assert line.run("recipients", line.project) == ExitCode.OK
    assert "no recipients yet" in line.remarks


def test_a_check_without_recipients_says_why_it_says_nothing(line, tmp_path):
    (tmp_path / "t.csv").write_text("sex,age\nm,30\nw,40\n", encoding="utf-8")
    assert line.run("init", line.project, "--table", tmp_path / "t.csv") == ExitCode.OK
    assert line.run("check", line.project) == ExitCode.OK
    assert "no recipients yet" in line.remarks
