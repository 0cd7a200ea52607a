"""Several categorical attributes protected as one, whose values are combinations of theirs."""
