"""Small changes of the engine, which some test must notice. See `__main__`."""
