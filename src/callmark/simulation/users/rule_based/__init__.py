"""The rule-based user: follows the tasks of a scenario, without a model."""
