"""Preview: what each recipient would see, and how useful it would be to them."""

from sfumato.ui.panels.preview.panel import PreviewPanel

PANEL = PreviewPanel
