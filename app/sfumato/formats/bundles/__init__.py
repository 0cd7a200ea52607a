"""Bundles: what a recipient is given."""
