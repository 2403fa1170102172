"""Datasets: what is in them, what is wrong with them, which rows to keep, and how they are cut into decision points."""
