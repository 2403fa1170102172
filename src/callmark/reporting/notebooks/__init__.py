"""Write two executed notebooks for a run."""
