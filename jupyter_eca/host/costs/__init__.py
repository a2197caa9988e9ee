"""Owns the costs of answers: a ledger of what was paid, and the budgets that limit it."""
