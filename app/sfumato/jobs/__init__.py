"""The only threads of the application."""
