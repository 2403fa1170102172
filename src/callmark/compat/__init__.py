"""The source documents' own names over the same engine."""
