"""The uniform and the Brownian ladder, and multi-pert."""
