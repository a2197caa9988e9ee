"""Owns the trust in folders: which settings of a project wait for the user's trust, and which ones the user trusts.

It must not read the configuration files: its neighbour `layers` does, and calls these modules.

`split_settings` decides which settings wait, `held_settings` describes them for the user, `scripts` finds the files
that they run, and `trusted_folders` stores the answer. The rules of `addresses` and `restrictions` apply to trusted
folders too: a key is never sent to the address of another file, and a denial in one file is never lifted by another
file.
"""

from jupyter_eca.config.trust.trusted_folders import TrustedFolders, open_trusted_folders

__all__ = ["TrustedFolders", "open_trusted_folders"]
