"""Owns the assistant's offers in addition to its native tools: one module for each subject, with its `OFFERS`."""
