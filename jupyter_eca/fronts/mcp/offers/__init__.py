"""What the assistant offers beside its native tools: one module for each subject, with its `OFFERS`."""
