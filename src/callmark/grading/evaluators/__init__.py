"""The built-in evaluators, one file each."""
