"""A generalized table in the place of perturbed releases: what is asked of it, and which one."""
