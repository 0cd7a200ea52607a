"""Any transition matrix (PRAM)."""
