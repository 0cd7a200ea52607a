"""The whole product, driven as a person drives it."""
