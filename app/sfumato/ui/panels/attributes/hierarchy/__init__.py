"""The hierarchy editor: its forms, its preview and its list of problems."""
