"""Evaluators, faults and grades: values in, values out. Only `evaluators` looks beyond, for evaluators that others wrote."""
