"""Traces as conversations: spans of any format become steps, and the steps of a conversation become its messages."""
