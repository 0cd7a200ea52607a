"""How coarsely each recipient sees the quasi-identifiers, and what undoes that."""
