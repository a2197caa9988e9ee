"""Describes the outside agent GitHub Copilot CLI."""

from __future__ import annotations

from typing import Final

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="GitHub Copilot CLI",
    command=("copilot", "--acp"),
    install="Install it with `npm install -g @github/copilot`.",
    sign_in="Run `copilot` in a terminal once and sign in with `/login` there.",
)
