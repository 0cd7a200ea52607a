"""The building blocks that panels share."""
