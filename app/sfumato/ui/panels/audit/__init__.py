"""Audit: what recipients could learn, alone and together."""

from sfumato.ui.panels.audit.panel import AuditPanel

PANEL = AuditPanel
