"""What commands share: their description, the terminal, and the flags of several."""
