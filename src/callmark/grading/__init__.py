"""Suites, faults and grades: values in, values out. Only `suites` looks beyond, for suites that others wrote."""
