"""What answers cost, and the budgets that limit it."""
