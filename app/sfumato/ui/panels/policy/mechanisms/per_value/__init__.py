"""What per-value limits are stated with: a grid, presets, and what comes of them."""
