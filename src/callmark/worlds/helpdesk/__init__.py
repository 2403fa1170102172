"""A company's help desk: a real MCP server on SQLite (tickets and action items), scenarios for it, and two rule-based agents.

python -m callmark.worlds.helpdesk [--seed 7] [--http PORT]
"""
