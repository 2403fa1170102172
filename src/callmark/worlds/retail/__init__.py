"""A retail store: an MCP server over SQLite (customers, products, orders) with fifteen tools, a policy, an expert and simulated users.

python -m callmark.worlds.retail [--seed 7] [--http PORT]
"""
