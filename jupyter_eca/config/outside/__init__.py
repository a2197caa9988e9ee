"""Owns the outside agents of a configuration: other programs that answer in the place of our agents."""
