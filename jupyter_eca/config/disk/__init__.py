"""Opens and replaces files safely. `config` is the lowest room that reads files, so these functions are here.

It must not know what is in a file: its callers do.
"""
