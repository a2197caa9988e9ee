"""Owns the part of our environment that other programs inherit.

It must not know which variables hold keys of providers: the catalogue of providers does, and takes them out.
"""

from __future__ import annotations

import os
from typing import Final

SERVER_TOKENS: Final = frozenset(
    {"JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN", "JUPYTER_ECA_REST_TOKEN", "MCP_HTTP_TOKEN"}
)
"""Variables that let their reader into Jupyter, or into a server of ours."""


def inherit_environment() -> dict[str, str]:
    """Return our environment without the tokens of Jupyter and of our own servers."""
    return {name: value for name, value in os.environ.items() if name not in SERVER_TOKENS}
