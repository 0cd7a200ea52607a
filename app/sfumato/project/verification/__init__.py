"""Whether a bundle is what it claims to be, and where a leaked file comes from."""
