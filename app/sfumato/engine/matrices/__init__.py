"""Perturbation matrices: what they promise, estimates from them, goodness of fit."""
