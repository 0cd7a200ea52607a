"""What people install: the files around the application, and the packages that are built."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

from tests.source_code import ROOT

PACKAGING = ROOT / "installer" / "packaging"


def script(name: str) -> ModuleType:
    """Import a script of installer/packaging."""
    spec = importlib.util.spec_from_file_location(f"packaging_{name}", PACKAGING / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(PACKAGING))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(PACKAGING))
    return module
