"""Limits for each value (Chaytor, Wang and Brantingham, 2010)."""
