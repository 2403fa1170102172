"""Grading: numbers for a case and what came back, and why they are what they are. Pure: no file, no clock, no network."""
