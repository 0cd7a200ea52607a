"""Hierarchical retention: what belongs to it alone."""
