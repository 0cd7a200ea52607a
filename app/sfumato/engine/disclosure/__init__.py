"""What releases reveal when they are held together."""
