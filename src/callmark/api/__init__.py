"""The public functions behind the command line: each command parses its arguments, calls one of these and prints the result."""
