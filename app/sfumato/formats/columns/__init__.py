"""Columns as they are read: texts become values, and the type of a column is found out."""
