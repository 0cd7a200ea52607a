"""Generalized tables that stay diverse, alone and beside the tables other holders published."""
