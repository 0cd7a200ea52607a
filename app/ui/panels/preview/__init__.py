"""Preview: what each recipient would see, and how useful it would be to them."""

from app.ui.panels.preview.panel import PreviewPanel

PANEL = PreviewPanel
