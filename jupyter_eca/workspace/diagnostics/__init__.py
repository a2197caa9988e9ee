"""Owns the diagnostics: what is wrong with a notebook or a file. Each source of diagnostics is a module, and must not
know the other sources. `collect.py` collects from all of them, and `merge.py` removes duplicates."""
