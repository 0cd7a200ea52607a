"""What recipients learn together."""
