"""The table, its profile, its micro groups, and proposals for roles and bins."""
