"""The parts of the page about the published experiments."""
