"""Reconstruction privacy (Wang, Han and Fu, 2012)."""
