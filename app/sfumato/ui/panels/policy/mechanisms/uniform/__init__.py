"""The editor of uniform retention."""
