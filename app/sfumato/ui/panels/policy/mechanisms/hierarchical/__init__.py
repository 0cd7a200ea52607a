"""The editor of hierarchical retention."""
