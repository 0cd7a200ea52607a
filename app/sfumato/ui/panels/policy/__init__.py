"""Policy: how each sensitive attribute is protected, and how far whom is trusted."""

from sfumato.ui.panels.policy.panel import PolicyPanel

PANEL = PolicyPanel
