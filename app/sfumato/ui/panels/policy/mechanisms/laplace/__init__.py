"""The editor of Laplace noise."""
