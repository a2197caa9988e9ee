"""OpenCode. It has no mode in which it asks, so its own configuration is told to ask."""

from __future__ import annotations

from typing import Final

from pydantic import SecretStr

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="OpenCode",
    command=("opencode", "acp"),
    # Without this it edits files and runs commands unasked.
    env={"OPENCODE_CONFIG_CONTENT": SecretStr('{"permission":{"*":"ask"}}')},
    install="Install it with `npm install -g opencode-ai`.",
    sign_in="Run `opencode auth login` in a terminal.",
    has_tool_as_title=True,
)
