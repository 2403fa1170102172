"""Synthetic conversations for training: planned, simulated with an expert and a user on real tools, and filtered."""
