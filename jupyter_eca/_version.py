"""Owns the version of the package, which is written only here.

Any module may import it. It must not import anything itself.
"""

__version__ = "0.1.0"
