"""The registry of tools, the progress of calls, and outputs too long for a model."""
