"""Owns what is sent to a model and what comes back from it: requests, history, deltas, budgets, retries, compaction.

It must not send anything or know a vendor: `plugins/providers` does.
"""
