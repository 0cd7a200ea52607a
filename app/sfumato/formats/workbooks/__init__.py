"""Workbooks of every kind: their sheets, what they hide, and their rows one by one."""
