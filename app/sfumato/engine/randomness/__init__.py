"""Keys, record identifiers, keyed draws and normal numbers."""
