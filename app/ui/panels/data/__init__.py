"""Data: open a table, see how it is read, and look at what is in it."""

from app.ui.panels.data.panel import DataPanel

PANEL = DataPanel
