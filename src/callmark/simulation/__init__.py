"""Simulated conversations: a simulated user talks to an agent with tools until the task is done."""
