"""A retail store: a real MCP server on SQLite (customers, products, orders) with the fifteen tools of a store's assistant, and its policy.

python -m callmark.worlds.retail [--seed 7] [--http PORT]
"""
