"""Run models, grade predictions, and store the results in run folders."""
