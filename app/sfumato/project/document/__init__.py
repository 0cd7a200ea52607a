"""The document: everything that a custodian decides, as immutable values."""
