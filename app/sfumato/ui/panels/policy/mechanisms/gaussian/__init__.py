"""The parts of the editor of noise on numbers."""
