"""Integrations with other packages, each imported only when used."""
