"""Laplace noise: what belongs to it alone."""
