"""Starting the window."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtWidgets import QApplication

from sfumato.ui.shell import application
from sfumato.ui.shell.application import run_window, spare_what_is_loaded


@pytest.fixture
def thawed():
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()  # as it was: see `pytest_collection_finish`


@pytest.mark.slow
def test_no_search_for_garbage_looks_at_what_was_loaded_at_the_start(thawed):
    loaded = [[]]
    assert any(each is loaded for each in gc.get_objects())
    spare_what_is_loaded()
    later = [[]]
    searched = gc.get_objects()
    assert any(each is later for each in searched)
    assert not any(each is loaded for each in searched)


@pytest.mark.slow
def test_a_window_that_is_shown_searches_for_new_garbage_only(themed, thawed, monkeypatch):
    searched = []
    monkeypatch.setattr(QApplication, "exec", lambda _: searched.append(len(gc.get_objects())) or 0)
    assert run_window() == 0
    assert searched[0] < gc.get_freeze_count() / 10


@pytest.mark.slow
def test_the_window_speaks_what_the_command_line_asked_for(themed, thawed, monkeypatch):
    said = []
    monkeypatch.setattr(application, "asked_for", lambda: "de")
    monkeypatch.setattr(application, "speak", lambda _application, name: said.append(name))
    monkeypatch.setattr(QApplication, "exec", lambda _: 0)
    assert run_window() == 0
    assert said == ["de"]
