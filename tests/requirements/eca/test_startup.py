"""`initialize` is answered at once, whatever looking for models takes: editors give up on a server that is late."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.plugins.test_loader import install
from tests.requirements.eca.seat import TODAY
from tests.support.host_and_client import desk
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# A provider that looks for its models for ever.
PLUG = """
import asyncio

class Lost:
    name, rank = "lost", None

    async def models(self, settings):
        await asyncio.Event().wait()

    async def stream(self, model, request, settings):
        yield None

PROVIDER = Lost()
"""


@pytest.mark.parametrize("can", [TODAY, {"chat": True, "doc": True}])
async def test_initialize_waits_for_no_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can: dict[str, Any]
) -> None:
    (tmp_path / "somebodys_lost_provider.py").write_text(PLUG)
    monkeypatch.syspath_prepend(str(tmp_path))  # pyright: ignore[reportUnknownMemberType]  # untyped in pytest
    install(tmp_path, "providers", lost="somebodys_lost_provider:PROVIDER")
    async with desk(tmp_path, [{"message": "", "reply": [{"text": "Hello"}]}]) as table:
        at = connect(table)
        async with asyncio.timeout(2):
            assert (await at.initialize(can))["chatDefaultModel"] == "scripted/test"
        await at.tell("initialized", {})
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await at.content("text", text="Hello")
        await at.finished()
        await at.close()
