"""The audits of the command line, ``sfumato audit NAME``: one module each, as commands are."""
