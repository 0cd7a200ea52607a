"""Adopting earlier releases: the card on an entry's page, the dialog, and what they ask for."""
