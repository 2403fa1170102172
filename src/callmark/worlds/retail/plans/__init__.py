"""Plans: which customer has which goals, what they volunteer, and which calls a correct agent makes."""
