"""What goes to a model and what comes back from it: requests, history, deltas, budgets, retries, compaction."""
