"""The expert: a rule-based agent that follows the plan and the policy without mistakes."""
