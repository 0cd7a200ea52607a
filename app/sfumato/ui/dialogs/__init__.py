"""The few windows that come before the window."""
