"""Describes the outside agent Gemini CLI of Google."""

from __future__ import annotations

from typing import Final

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="Gemini CLI",
    command=("gemini", "--acp"),  # versions before 0.30 call it `--experimental-acp`
    mode="default",  # the mode in which it asks before it edits or runs something
    install="Install it with `npm install -g @google/gemini-cli`.",
    sign_in="Run `gemini` in a terminal once and sign in there, or set GEMINI_API_KEY in `acpAgents.gemini.env`.",
)
