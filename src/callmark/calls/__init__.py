"""One call, one value, one list of calls: reading them from any shape and fault_evaluators what they are."""
