"""Every table and column of a project's file is changed without the passphrase.

The attacker knows the format, has an older copy of the file, and works on a computer that has
never seen the project, so that nothing but the seal can tell. Whatever is changed, opening for
writing refuses, nothing beside the file is touched, and reading says what is wrong.
"""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.project.approval import add_approver
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery_sheet import make_sheet
from sfumato.project.release.release import make_release
from sfumato.project.store import schema
from sfumato.project.store.schema import read_contents, tables_of
from tests.campaigns import chance
from tests.in_batches import in_batches
from tests.project.making import CHEAP, PASSPHRASE, document, new_project, noon, table
from tests.project.tampering import change, everything_in, put, rows
from tests.thorough import some

TABLES = tables_of(schema.newest_version())
TEXTS = ("", " ", "x", "/", "..", "{}", "[]", "null", "\0", "é" * 70, "release completed")
NUMBERS = (-(2**63), -1, 0, 1, 2, 3, 99, 2**31, 2**53, 2**63 - 1)


class Died(BaseException):
    """Stands for the death of the process in the midst of a release."""


@dataclass
class Ground:
    """A folder with a project in the midst of a release, and what an attacker has of it."""

    folder: Path
    older: dict[str, list[tuple[object, ...]]]

    @property
    def path(self):
        return self.folder / "ward.sfumato"


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template")
    with new_project(folder) as project:
        project.record(EntryKind.OVERRIDE, {"reason": "agreed with the board"})
        make_release(project, in_batches(table()), "Clinic A", folder / "out", "csv", Silent())
        add_approver(project, "Ada", "another passphrase")
        interrupted(project, "Institute B", "noted")
        make_sheet(project, PASSPHRASE, lambda _sheet: None)
    older = {name: rows(project.path, name) for name in TABLES}
    with ProjectFile.open(project.path, PASSPHRASE, clock=noon) as project:
        project.save_document(replace(document(), title="Ward 8"))
        project.change_passphrase(PASSPHRASE, PASSPHRASE, cost=CHEAP)
        make_sheet(project, PASSPHRASE, lambda _sheet: None)
        interrupted(project, "Institute B", "prepared")
    (folder / "precious").mkdir()
    (folder / "precious" / "thesis").write_text("the only copy")
    return Ground(folder, older)


def interrupted(project, recipient, step):
    """Leave a release in the midst, as a power cut does."""

    def die(reached):
        if reached == step:
            raise Died

    out = project.path.parent / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.project.store.files.Staging.clear", lambda *_: None)
        with pytest.raises(Died):
            make_release(project, in_batches(table()), recipient, out, "csv", Silent(), at_step=die)


@pytest.fixture
def ground(template, tmp_path, monkeypatch):
    # Unfinished releases are known by absolute paths: the folder stays where it is.
    shutil.copytree(template.folder, tmp_path / "kept")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another computer"))
    yield template
    shutil.rmtree(template.folder)
    shutil.copytree(tmp_path / "kept", template.folder)


def expect_refusal(ground, what):
    """The file is refused, says so to who reads it, and nothing stands otherwise than before."""
    before = everything_in(ground.folder)
    assert refusal_of(ground.path) is not None, f"opened for writing: {what}"
    assert refusal_of(ground.path, read_only=True) is not None, f"not told to a reader: {what}"
    assert everything_in(ground.folder) == before, what


def refusal_of(path, **options):
    """Return why a project is refused, or what a reader is told; None where there is nothing."""
    try:
        with ProjectFile.open(path, PASSPHRASE, clock=noon, **options) as project:
            return project.tampering
    except SfumatoError as error:
        return error if error.remedy else None


def other_values(value, others):
    """Return what could stand in the place of a value, of every type."""
    if isinstance(value, int):
        near = (value + 1, value - 1)
        return (*near, *NUMBERS, *others, None)
    if isinstance(value, bytes):
        flipped = bytes([value[0] ^ 1]) + value[1:] if value else b"x"
        return (flipped, b"", value[:-1], value + b"\0", bytes(len(value)), *others, None)
    if value is None:
        return (*NUMBERS, *others)
    text = str(value)
    near = (text + " ", text[:-1], text.swapcase(), text[1:] + text[:1], text.replace("0", "1"))
    return (*near, *TEXTS, *others, None)


def attempts(ground, *statements):
    """Whether a change is one that the tables take, and a change at all."""
    before = {name: rows(ground.path, name) for name in TABLES}
    try:
        change(ground.path, *statements)
    except sqlite3.IntegrityError:
        return False
    return {name: rows(ground.path, name) for name in TABLES} != before


def names_of_columns(path, name):
    with closing(sqlite3.connect(path)) as connection:
        return [column[1] for column in connection.execute(f"PRAGMA table_info({name})")]


def keys_of(path, name):
    """Return the first key of a table, one in the middle and the last."""
    with closing(sqlite3.connect(path)) as connection:
        keys = [key for (key,) in connection.execute(f"SELECT rowid FROM {name}")]
    return sorted({keys[0], keys[len(keys) // 2], keys[-1]}) if keys else []


def test_untouched_it_opens_and_finishes_what_was_interrupted(ground):
    with ProjectFile.open(ground.path, PASSPHRASE, clock=noon) as project:
        assert project.tampering is None
        assert len(project.recovered) == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TABLES)
def test_another_value_in_any_cell_is_refused(ground, name):
    content = ground.path.read_bytes()
    tried = 0
    cells = itertools.product(names_of_columns(ground.path, name), keys_of(ground.path, name))
    for turn, (column, key) in enumerate(cells):
        with closing(sqlite3.connect(ground.path)) as connection:
            query = f"SELECT {column}, rowid = {key} FROM {name} ORDER BY 2 DESC"
            (value, _), *others = connection.execute(query).fetchall()
        for other in some(other_values(value, [cell for cell, _ in others[:2]]), turn):
            ground.path.write_bytes(content)
            statement = f"UPDATE {name} SET {column} = ? WHERE rowid = {key}"
            if attempts(ground, (statement, (other,))):
                expect_refusal(ground, f"{name}.{column} of row {key}: {other!r:.40}")
                tried += 1
    assert tried >= 4


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("name", TABLES)
def test_a_row_more_or_less_is_refused(ground, name):
    content, standing = ground.path.read_bytes(), rows(ground.path, name)
    fewer = [[*standing[:place], *standing[place + 1 :]] for place in range(len(standing))]
    keys = (0, 2, 99, -1, 2**63 - 1, "/tmp", "", ".x.partial-01234567")
    more = [[*standing, (key, *row[1:])] for row in standing for key in keys]
    tried = 0
    for changed in (*fewer, *more, []):
        ground.path.write_bytes(content)
        try:
            put(ground.path, name, changed)
        except sqlite3.IntegrityError:
            continue  # a second row in a table of one, or a key of another type
        expect_refusal(ground, f"{name}: {len(changed)} rows")
        tried += 1
    assert tried >= 2


@pytest.mark.slow
def test_rows_of_an_older_copy_are_refused_unless_they_are_the_whole(ground):
    content = ground.path.read_bytes()
    differing = [name for name in TABLES if ground.older[name] != rows(ground.path, name)]
    changed = {"wrapping", "keys", "document", "ledger", "ledger_end", "pending", "seal"}
    assert set(differing) == changed
    tried = 0
    for count in range(1, len(differing)):
        for names in itertools.combinations(differing, count):
            ground.path.write_bytes(content)
            for name in names:
                put(ground.path, name, ground.older[name])
            expect_refusal(ground, f"older {names}")
            tried += 1
    assert tried == 2**7 - 2


@pytest.mark.few(2)
@pytest.mark.parametrize("name", TABLES)
def test_anything_added_to_the_schema_is_refused(ground, name):
    content = ground.path.read_bytes()
    (column, *_) = names_of_columns(ground.path, name)
    act = "BEGIN DELETE FROM pending; UPDATE document SET content = '{}'; END"
    for statement in (
        *(
            f"CREATE TRIGGER evil {when} {what} ON {name} {act}"
            for when in ("BEFORE", "AFTER")
            for what in ("INSERT", "UPDATE", "DELETE")
        ),
        f"CREATE VIEW evil AS SELECT * FROM {name}",
        f"CREATE TABLE evil AS SELECT * FROM {name}",
        f"CREATE INDEX evil ON {name} ({column})",
        f"CREATE INDEX evil ON {name} (abs(random() * {column} * 0))".replace("random() * ", ""),
        f"CREATE UNIQUE INDEX evil ON {name} ({column}) WHERE {column} IS NULL",
        f"ALTER TABLE {name} ADD COLUMN evil TEXT DEFAULT ('x')",
        f"ALTER TABLE {name} ADD COLUMN evil TEXT GENERATED ALWAYS AS (upper('x'))",
        f"ALTER TABLE {name} RENAME TO evil",
        f"DROP TABLE {name}",
        "CREATE VIRTUAL TABLE evil USING fts5(x)",
        "ANALYZE",
    ):
        ground.path.write_bytes(content)
        with closing(sqlite3.connect(ground.path)) as connection:
            connection.execute(statement)
        expect_refusal(ground, statement)


@pytest.mark.parametrize(
    "pragma", ["user_version = 2", "user_version = 4", "user_version = -1", "application_id = 0"]
)
def test_another_version_or_owner_in_the_header_is_refused(ground, pragma):
    with closing(sqlite3.connect(ground.path)) as connection:
        connection.execute(f"PRAGMA {pragma}")
    expect_refusal(ground, pragma)


def at_random(draw, ground):
    """Change cells, rows and bytes at random; return what was done."""
    done = []
    for _ in range(draw.randint(1, 3)):
        way, name = draw.choice(("cell", "older", "row", "bytes")), draw.choice(TABLES)
        done.append((way, name))
        standing = rows(ground.path, name)
        if way == "older":
            put(ground.path, name, ground.older[name])
        elif way == "row" and standing:
            put(ground.path, name, draw.sample(standing, draw.randint(0, len(standing) - 1)))
        elif way == "cell" and standing:
            column = draw.choice(names_of_columns(ground.path, name))
            key = draw.choice(keys_of(ground.path, name))
            value = draw.choice((*TEXTS, *NUMBERS, draw.randbytes(draw.randint(0, 60))))
            attempts(ground, (f"UPDATE {name} SET {column} = ? WHERE rowid = {key}", (value,)))
        elif way == "bytes":
            content = bytearray(ground.path.read_bytes())
            for _ in range(draw.randint(1, 4)):
                content[draw.randrange(len(content))] = draw.randrange(256)
            ground.path.write_bytes(content)
            return done  # the file may be no database any more
    return done


def contents_of(path):
    """Return all rows and the schema as they stand; None where they can't be read."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            found = read_contents(connection, path)
    except (SfumatoError, sqlite3.Error, UnicodeDecodeError):
        return None
    return found.version, found.tables, found.oddities


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_nothing_that_is_changed_at_random_is_believed(ground, part):
    """A change that opens is one in bytes that hold nothing, or changes nothing."""
    draw = chance(f"tampering, part {part}")
    content, honest = ground.path.read_bytes(), contents_of(ground.path)
    for attempt in range(150):
        ground.path.write_bytes(content)
        done = at_random(draw, ground)
        if contents_of(ground.path) != honest:
            expect_refusal(ground, f"part {part}, attempt {attempt}: {done}")
    assert everything_in(ground.folder / "precious") == {"thesis": b"the only copy"}
