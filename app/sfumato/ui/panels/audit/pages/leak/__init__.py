"""The parts of the page that traces leaked files."""
