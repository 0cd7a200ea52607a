"""What is found by being in a package is found on a disk and in an archive."""

from __future__ import annotations

import sys
import zipfile

import pytest

from sfumato.engine.core.discovery import found_in

FILES = {
    "__init__.py": "",
    "base.py": "OTHER = 1",
    "tall.py": "THING = 'a module'",
    "wide/__init__.py": "THING = 'not asked'",
    "wide/main.py": "THING = 'a package'",
}


@pytest.fixture(params=["folder", "archive"])
def package(request, tmp_path, monkeypatch):
    name = f"found_in_a_{request.param}"
    if request.param == "archive":
        place = tmp_path / "modules.zip"
        with zipfile.ZipFile(place, "w") as archive:
            for file, text in FILES.items():
                archive.writestr(f"{name}/{file}", text)
    else:
        place = tmp_path
        for file, text in FILES.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(place))
    yield name
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


def test_modules_and_packages_that_define_the_name_are_found(package):
    assert found_in(package, "THING", main="main") == ["a module", "a package"]


def test_a_package_speaks_for_itself_where_no_module_does(package):
    assert found_in(package, "THING") == ["a module", "not asked"]
    assert found_in(package, "OTHER") == [1]


def test_nothing_is_found_where_nothing_defines_the_name(package):
    assert found_in(package, "ELSE") == []
