"""Uniform retention (Xiao, Tao and Chen, 2009)."""
