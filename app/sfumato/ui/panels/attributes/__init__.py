"""Attributes: what each column is for, how it is read, and which values it can take."""

from sfumato.ui.panels.attributes.panel import AttributesPanel

PANEL = AttributesPanel
