"""Opens files safely. The functions are here because `config` is the lowest room (folder of the package) that reads
files.

It must not know what is in a file: its callers do.
"""
