"""One plugin of each kind: a policy, a law, a formula, a measure, a command."""
