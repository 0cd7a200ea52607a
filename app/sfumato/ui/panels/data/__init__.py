"""Data: open a table, see how it is read, and look at what is in it."""

from sfumato.ui.panels.data.panel import DataPanel

PANEL = DataPanel
