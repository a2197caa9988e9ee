"""Finds mistakes in the user's set-up for the report of `doctor`, each as two sentences: what is wrong, and what to do.

Every check is fast, and none sends a request over the network. A check never returns a secret: it names the place of a
key, and the host of an address. The report is written by its neighbour `host.doctor`.
"""
