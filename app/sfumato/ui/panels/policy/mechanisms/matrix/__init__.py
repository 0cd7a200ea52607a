"""What a transition matrix is stated with: a grid, reading, mending and comparing."""
