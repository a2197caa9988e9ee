"""`/login` on a machine that is not the user's: `JUPYTER_ECA_KEYS=memory`, as Binder's start script sets it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.config.credentials import MEMORY_ONLY
from jupyter_eca.host.commands import CommandAnswer
from jupyter_eca.protocol.jsonrpc import Result
from tests.host.commands.test_login import MODELS, dialogue
from tests.plugins.providers.ask import KEY
from tests.support.host_and_client import desk
from tests.support.raw_client import SessionClient, connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.anthropic_server import LoopbackAnthropic

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk", "keyless")]


@pytest.fixture(autouse=True)
def memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MEMORY_ONLY, "memory")


def holding(folder: Path, text: str) -> list[str]:
    return [file.name for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def test_the_user_is_told_before_typing_and_no_file_has_the_key(
    tmp_path: Path, vendor: LoopbackAnthropic
) -> None:
    made, asked = await dialogue(tmp_path, vendor, "/login anthropic", KEY)
    assert made == CommandAnswer("You are signed in to anthropic.")
    assert asked[0]["question"] == "API key (kept in memory only: it is gone when this server ends)"
    assert asked[0]["secret"]
    assert holding(tmp_path, KEY) == []
    assert not any((tmp_path / name).exists() for name in ("auth.json", "system-keyring"))


async def test_it_is_used_forgotten_by_logout_and_gone_with_the_server(
    tmp_path: Path, vendor: LoopbackAnthropic
) -> None:
    models: dict[str, Any] = {"providers": {"house": {"api": "anthropic", "url": vendor.url, "models": MODELS}}}

    async def asked(client: SessionClient, method: str, **params: Any) -> Any:
        reply = await client.ask(method, params)
        assert isinstance(reply, Result)
        return reply.result

    async def source(client: SessionClient) -> str | None:
        listed = (await asked(client, "providers/list"))["providers"]
        return next(one["auth"].get("source") for one in listed if one["id"] == "house")

    (tmp_path / "auth.json").write_text(json.dumps({"house": {"key": "sk-of-somebody-before", "url": vendor.url}}))
    before = (tmp_path / "auth.json").read_bytes()
    for _ in range(2):  # the second server knows nothing of the first one's
        async with desk(tmp_path, []) as table, connect_and_initialize(table) as client:
            await table.host.configure(Config.model_validate(table.host.config.model_dump() | models))
            assert await source(client) is None
            await asked(client, "providers/loginInput", provider="house", data={"key": KEY})
            assert await source(client) == "login"
            await asked(client, "providers/logout", provider="house")
            assert await source(client) is None
            await asked(client, "providers/loginInput", provider="house", data={"key": KEY})
    assert (tmp_path / "auth.json").read_bytes() == before
    assert holding(tmp_path, KEY) == []
    assert not (tmp_path / "system-keyring").exists()
