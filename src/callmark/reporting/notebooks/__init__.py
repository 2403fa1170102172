"""A run as two notebooks, those of document 004: how good it is, and what went wrong."""
