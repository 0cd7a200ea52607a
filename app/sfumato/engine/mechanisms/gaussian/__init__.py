"""Gaussian noise for numbers (Li, Chen, Li and Zhang, 2012)."""
