"""The project: the document, its file, the ledger, the secret, and making a release."""
