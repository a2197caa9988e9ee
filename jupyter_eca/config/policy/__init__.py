"""Owns the administrator's policy: restrictions that no file, client or variable of the user loosens.

`document` has its keys, `sources` reads it, `enforcement` applies it to a configuration, and `applied_policy` says what
it refuses while the program runs. It must not know the user's files: `config.layers` reads those, and applies the
policy last.
"""
