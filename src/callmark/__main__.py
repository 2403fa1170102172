"""`python -m callmark`: the command line."""

from callmark.cli.main import main

main()
