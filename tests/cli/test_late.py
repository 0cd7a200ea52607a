"""A library that is imported late is imported once, by whoever asks first, and is itself then."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Barrier, Thread

import pytest

from sfumato.commands.shared.late import imported_late


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The folder of a library that counts how often it is imported, and of whom it is not."""
    folder = tmp_path / "slowly_made"
    folder.mkdir()
    text = "import sys, time\nsys.times_made = getattr(sys, 'times_made', 0) + 1\ntime.sleep(0.2)\n"
    (folder / "__init__.py").write_text(text + "answer = 42\n")
    (folder / "part.py").write_text("from slowly_made import answer\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "times_made", 0, raising=False)
    yield folder
    for name in ("slowly_made", "slowly_made.part", "slowly_made.other"):
        sys.modules.pop(name, None)


def test_it_is_imported_when_it_is_asked(library):
    imported_late("slowly_made")
    found = import_module("slowly_made")
    assert (sys.times_made, "slowly_made" in repr(found)) == (0, True)
    assert (found.answer, found.answer, sys.times_made) == (42, 42, 1)
    assert sys.modules["slowly_made"].__file__ == str(library / "__init__.py")
    imported_late("slowly_made")
    assert import_module("slowly_made") is not found


def test_a_part_of_it_imports_it(library):
    imported_late("slowly_made")
    assert import_module("slowly_made.part").answer == 42
    assert sys.times_made == 1


def test_what_is_imported_with_it_and_not_used_is_imported_late(library):
    (library / "other.py").write_text("import slowly_made\nasked = slowly_made.part\n")
    import_module("slowly_made")
    imported_late("slowly_made.other", "slowly_made.part")
    other = import_module("slowly_made.other")
    assert "answer" not in vars(other.asked)
    assert other.asked.answer == 42
    assert sys.modules["slowly_made.part"].answer == 42


def test_several_threads_may_be_the_first_to_ask(library):
    imported_late("slowly_made")
    found, answers, together = import_module("slowly_made"), [], Barrier(4)

    def ask():
        together.wait()
        answers.append(found.answer)

    threads = [Thread(target=ask) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (answers, sys.times_made) == ([42] * 4, 1)


def test_what_it_lacks_is_told_as_ever_and_a_failure_is_no_end(library):
    imported_late("slowly_made")
    found = import_module("slowly_made")
    text = (library / "__init__.py").read_text()
    (library / "__init__.py").write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        found.answer  # noqa: B018
    (library / "__init__.py").write_text(text + "# once more\n")
    assert found.answer == 42
    with pytest.raises(AttributeError, match="question"):
        found.question  # noqa: B018


def test_what_is_not_installed_is_not_there():
    imported_late("no_such_library_at_all")
    with pytest.raises(ModuleNotFoundError):
        import_module("no_such_library_at_all")
