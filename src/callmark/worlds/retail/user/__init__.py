"""The simulated user: a rule-based customer who pursues the goals of a plan."""
