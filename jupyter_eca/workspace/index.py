"""The files of the workspace by name, kept in memory for those who type."""

from __future__ import annotations

from typing import Protocol


class Index(Protocol):
    """What `contexts` ask while somebody types."""
