"""The store: seeded data in SQLite and the tools that read and write it."""
