"""Datasets: statistics, linting, filtering, splitting, near-duplicates, and decision points."""
