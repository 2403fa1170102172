"""Training data from the failures of runs: the correct call at each failed decision point, preference pairs, and regression sets."""
