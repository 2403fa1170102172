"""The command line, one file per command: parse arguments, call `callmark.api`, print the result."""
