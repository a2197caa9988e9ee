"""Owns the trust in folders: which settings of a project wait until the user trusts them, and which ones the user
trusts.

`division` decides what waits, `held_settings` describes it, `scripts` finds the files that it runs, and
`trusted_folders` remembers the answer. `addresses` and `restrictions` hold whether a folder is trusted or not: a key is
not sent to an address of another file, and a denial of one file is not lifted by another. `layers` is the neighbour: it
reads the files.
"""

from jupyter_eca.config.trust.trusted_folders import TrustedFolders, open_trusted_folders

__all__ = ["TrustedFolders", "open_trusted_folders"]
