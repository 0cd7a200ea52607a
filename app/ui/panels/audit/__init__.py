"""Audit: what recipients could learn, alone and together."""

from app.ui.panels.audit.panel import AuditPanel

PANEL = AuditPanel
