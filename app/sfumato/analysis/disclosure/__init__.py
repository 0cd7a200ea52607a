"""What is found out about single people and records, and whose copy a file is."""
