"""How the window looks and writes."""
