"""What is open now, and what is done with it."""
