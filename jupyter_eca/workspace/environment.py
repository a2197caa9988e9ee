"""Owns the environment variables that programs inherit when we start them.

It must not know which variables have keys of providers: the catalog in `plugins/providers/` does. Its method
`build_environment` returns the environment for all programs that a model, a project or the configuration names. Our own
helpers, such as git that reads for us, need no secret: they get `build_helper_environment`.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

SERVER_TOKENS: Final = frozenset(
    {"JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN", "JUPYTER_ECA_REST_TOKEN", "MCP_HTTP_TOKEN"}
)
"""Variables with tokens. A program that reads one of them could use Jupyter, or one of our servers, as the user."""


# A word of a name that says that the variable has a key or a password: `OPENAI_API_KEY`, `HF_TOKEN`, `PGPASSWORD`. The
# names that users choose for the keys of providers have such a word, too.
_SECRET_WORD: Final = re.compile(
    r"(?:^|_)(?:KEY|APIKEY|ACCESS_KEY_ID|TOKEN|PAT|SECRET|PASS|PASSPHRASE|CREDENTIALS?)(?:_|$)|PASSWORD|PASSWD", re.I
)


def inherit_environment() -> dict[str, str]:
    """Return our environment without the tokens of Jupyter and of our own servers."""
    return {name: value for name, value in os.environ.items() if name not in SERVER_TOKENS}


def build_helper_environment() -> dict[str, str]:
    """Return the environment of a program that only reads or draws for us, and so needs no secret."""
    return drop_secrets(inherit_environment())


def drop_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables without those whose name says that they have a key or a password."""
    return {name: value for name, value in environment.items() if not _SECRET_WORD.search(name)}
