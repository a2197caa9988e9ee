"""The tools a model may call; one module a subject."""
