"""Whole conversations: a simulated user talks to an agent that has tools, until the task is done."""
