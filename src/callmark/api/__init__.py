"""What the command line does, as functions: each command parses its arguments, calls one of these and shows the result."""
