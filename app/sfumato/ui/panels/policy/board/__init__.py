"""The board: every column of the table by every recipient, and who gets what."""
