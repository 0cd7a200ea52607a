"""Workbooks: cells that carry their own types, gathered as texts and read again."""
