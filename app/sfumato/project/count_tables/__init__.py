"""Tables of counts with noise on the ladder: making them, their bundles, and what they cost."""
