"""Generalized tables: the search for one, and publishing it."""
