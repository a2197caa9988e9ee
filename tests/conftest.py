"""What all tests share."""

from __future__ import annotations

from hypothesis import settings

# Examples are small; a slow one tells of a busy machine, not of the code.
settings.register_profile("here", deadline=None)
settings.load_profile("here")
