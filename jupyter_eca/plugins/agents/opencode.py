"""Describes the outside agent OpenCode. It has no mode in which it asks for permissions. So we set an
environment variable with a configuration that makes it ask."""

from __future__ import annotations

from typing import Final

from pydantic import SecretStr

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="OpenCode",
    command=("opencode", "acp"),
    # Without this setting, it edits files and runs commands without asking.
    env={"OPENCODE_CONFIG_CONTENT": SecretStr('{"permission":{"*":"ask"}}')},
    install="Install it with `npm install -g opencode-ai`.",
    sign_in="Run `opencode auth login` in a terminal.",
    has_tool_as_title=True,  # the title of its calls is only the name of the tool
)
