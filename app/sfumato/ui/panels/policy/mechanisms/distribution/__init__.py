"""The editor of a published distribution."""
