"""Pictures of every panel in its states."""
