"""Text files with one record a line and fields between delimiters."""
