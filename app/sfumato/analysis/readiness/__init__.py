"""The checks before a release, and the verdict on each recipient."""
