"""The parts of the page about coalitions."""
