"""Describes the outside agent Codex of OpenAI, which is started by the adapter `codex-acp`."""

from __future__ import annotations

from typing import Final

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="Codex",
    command=("codex-acp",),
    mode="read-only",  # in its default mode `agent`, a model approves its calls in place of the user
    install="Install it with `npm install -g @agentclientprotocol/codex-acp`.",
    sign_in="Run `codex login` in a terminal, or set OPENAI_API_KEY in `acpAgents.codex.env`.",
)
