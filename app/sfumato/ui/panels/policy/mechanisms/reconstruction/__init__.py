"""The parts of the editor of reconstruction privacy."""
