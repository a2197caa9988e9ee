"""Describes the outside agent Qwen Code."""

from __future__ import annotations

from typing import Final

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="Qwen Code",
    command=("qwen", "--acp"),
    mode="default",  # the mode in which it asks before it edits or runs something
    install="Install it with `npm install -g @qwen-code/qwen-code`.",
    sign_in="Run `qwen` in a terminal once and sign in there, or set OPENAI_API_KEY in `acpAgents.qwen.env`.",
)
