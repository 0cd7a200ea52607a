"""Starts the window or a command: ``python -m sfumato``."""

from __future__ import annotations

import sys

from sfumato.cli import main

if __name__ == "__main__":
    sys.exit(main())
