"""The rules file: a document's decisions as TOML."""
