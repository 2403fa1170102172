"""Show results in the terminal, and write charts, JUnit XML and notebooks."""
