"""How a file is read: its options beside its first rows, wherever a file is chosen."""
