"""One figure a file: ``build_…(data, theme)`` returns a matplotlib Figure; no pyplot, no Qt."""
