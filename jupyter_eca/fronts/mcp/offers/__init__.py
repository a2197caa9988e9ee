"""What the assistant offers beside its native tools, one module a subject, each with its `OFFERS`."""
