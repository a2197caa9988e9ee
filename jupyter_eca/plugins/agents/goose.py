"""Goose."""

from __future__ import annotations

from typing import Final

from pydantic import SecretStr

from jupyter_eca.config import OutsideAgent

AGENT: Final = OutsideAgent(
    title="Goose",
    command=("goose", "acp"),
    env={"GOOSE_MODE": SecretStr("approve")},  # its default is `auto`, in which it does not ask
    install="Its website has an installer for each system.",
    sign_in="Run `goose configure` in a terminal.",
)
