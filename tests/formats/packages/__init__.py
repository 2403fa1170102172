"""Fixtures that packages produce themselves: one script per package, each run in an environment of that package (`make formats-proof`)."""
