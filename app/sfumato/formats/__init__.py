"""Reading and writing tables and bundles."""
