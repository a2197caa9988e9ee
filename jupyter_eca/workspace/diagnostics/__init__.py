"""What is wrong with a notebook, or a file: each source of it is a module that knows none of the others."""
