"""Describes the outside agent Goose."""

from __future__ import annotations

from typing import Final

from pydantic import SecretStr

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="Goose",
    command=("goose", "acp"),
    env={"GOOSE_MODE": SecretStr("approve")},  # in its default mode `auto`, it runs tools without asking
    install="Its website has an installer for each system.",
    sign_in="Run `goose configure` in a terminal.",
)
