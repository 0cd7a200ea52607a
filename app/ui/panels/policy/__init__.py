"""Policy: how each sensitive attribute is protected, and how far whom is trusted."""

from app.ui.panels.policy.panel import PolicyPanel

PANEL = PolicyPanel
