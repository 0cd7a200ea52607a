"""The ledger: what happened to a project, and the releases it tells of."""
