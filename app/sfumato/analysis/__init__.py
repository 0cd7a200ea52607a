"""One function a question that a person asks, for window, command line and report alike."""
