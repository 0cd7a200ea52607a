"""Releases: make them, keep the ledger in sight, verify a file."""

from sfumato.ui.panels.releases.panel import ReleasesPanel

PANEL = ReleasesPanel
