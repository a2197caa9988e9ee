"""What is wrong with a notebook or a file. Each source of diagnostics is a module that knows none of the others;
`collect.py` asks them all, and `merge.py` removes duplicates."""
