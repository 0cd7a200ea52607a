"""Tables and queries of databases as sources: SQLite, DuckDB and PostgreSQL."""
