"""Retention with replacements from a published distribution."""
