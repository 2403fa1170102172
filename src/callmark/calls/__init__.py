"""One call, one value, one list of calls: reading them from any shape and telling what they are."""
