"""Tool calls and their values: read from any shape, compare, pair, validate against schemas, trace to their source."""
