"""A desk whose model has a price: what tests of money begin with."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.support.host_and_client import desk, settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.host_and_client import Desk

# A dollar for a million tokens: figures that one can do in one's head.
RATES: dict[str, float] = {"input": 1.0, "output": 1.0}

HELLO: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello there"}]}]


@asynccontextmanager
async def priced(
    folder: Path, rules: list[dict[str, Any]] = HELLO, model: dict[str, Any] | None = None, **more: Any
) -> AsyncGenerator[Desk]:
    """`model` is what the configuration says of it, beside its script."""
    script = settings(folder, rules)["providers"]["scripted"]["models"]["test"]["script"]
    said = {"cost": RATES} if model is None else model
    providers = {"scripted": {"models": {"test": {"script": script, **said}}}, **more.pop("providers", {})}
    async with desk(folder, rules, providers=providers, **more) as table:
        yield table
