"""How what a user points at becomes words and pictures for a model, one module a format."""
