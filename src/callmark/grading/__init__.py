"""Evaluators, faults and grades. Pure functions of their input, except for importing the evaluators of other packages."""
