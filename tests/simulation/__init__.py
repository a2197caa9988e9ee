"""Random conversations from seeds, with rules that hold after each step. See `conversation`."""
