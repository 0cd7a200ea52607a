"""What columns that leave unperturbed tell of the sensitive attributes."""
