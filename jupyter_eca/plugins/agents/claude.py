"""Describes the outside agent Claude Code, which is started by the adapter `claude-agent-acp`."""

from __future__ import annotations

from typing import Final

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="Claude Code",
    command=("claude-agent-acp",),
    mode="default",  # without a mode it starts in `auto`, in which it edits files without asking
    install="Install it with `npm install -g @agentclientprotocol/claude-agent-acp`, which needs Node.js 22.",
    sign_in="Run `claude` in a terminal once and sign in there, or set ANTHROPIC_API_KEY in `acpAgents.claude.env`.",
)
