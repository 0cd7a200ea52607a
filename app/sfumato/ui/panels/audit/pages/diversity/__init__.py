"""What the page about other holders' tables is made of."""
