"""Owns the environment variables that programs inherit when we start them.

It must not know which variables have keys of providers: `plugins/providers/` does, and the host removes these variables
for MCP servers.
"""

from __future__ import annotations

import os
from typing import Final

SERVER_TOKENS: Final = frozenset(
    {"JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN", "JUPYTER_ECA_REST_TOKEN", "MCP_HTTP_TOKEN"}
)
"""Variables with tokens. A program that reads one of them could use Jupyter, or one of our servers, as the user."""


def inherit_environment() -> dict[str, str]:
    """Return our environment without the tokens of Jupyter and of our own servers."""
    return {name: value for name, value in os.environ.items() if name not in SERVER_TOKENS}
