"""Write a run as two executed notebooks."""
