"""Who gets what: the board, and plans for all recipients."""
