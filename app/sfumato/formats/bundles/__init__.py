"""Bundles: what a recipient is given."""

from typing import Final

DATAPACKAGE_NAME: Final = "datapackage.json"
"""The file that describes a bundle."""
