"""Runs: the folder that holds one, and what fills it."""
