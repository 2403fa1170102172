"""`python -m callmark`: the command line. Modules in the current folder are not imported, as with the command `callmark`."""

import os
import sys

if not sys.flags.safe_path and sys.path[0] == os.getcwd():
    del sys.path[0]

from callmark.cli.main import main

main()
