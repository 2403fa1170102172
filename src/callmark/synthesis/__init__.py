"""Conversations made for training: plans, held by an expert and a user over real tools, and what of them is kept."""
