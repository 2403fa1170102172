"""A company's help desk: an MCP server over SQLite (tickets and action items), scenario templates, and two rule-based agents.

python -m callmark.worlds.helpdesk [--seed 7] [--http PORT]
"""
