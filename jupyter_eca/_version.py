"""The version of the package, written down here only. Any module may import it: it imports nothing itself."""

__version__ = "0.1.0"
