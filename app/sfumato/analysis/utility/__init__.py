"""What releases are worth to recipients, and what would make them worth more."""
