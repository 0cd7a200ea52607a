"""The uniform and the Brownian ladder, and the ladder of releases made elsewhere."""
