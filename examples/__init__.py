"""Examples that are run as modules from a clone of the repository."""
