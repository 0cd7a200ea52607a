"""Sfumato: release one table at many trust levels, and see what every coalition learns."""

__version__ = "0.1.0"
