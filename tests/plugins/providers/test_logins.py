"""Signing in without any wire: what is told to whom, where nothing was set up before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config import Config
from jupyter_eca.config.credentials import KeyStore
from jupyter_eca.errors import LocalError
from jupyter_eca.plugins.providers.anthropic import AnthropicProvider
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.credentials.sign_in import Logins
from jupyter_eca.plugins.providers.local import LocalProvider
from tests.plugins.providers.ask import KEY, says
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.keyrings import NoRing, Ring

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.provider import ProviderStatus

pytestmark = pytest.mark.asyncio


@dataclass
class Told:
    statuses: list[ProviderStatus] = field(default_factory=list["ProviderStatus"])
    defaults: list[str | None] = field(default_factory=list["str | None"])

    async def changed(self, status: ProviderStatus, default: str | None) -> None:
        self.statuses.append(status)
        self.defaults.append(default)


def logins(folder: Path, url: str | None, told: Told, *names: str, ring: Ring | NoRing | None = None) -> Logins:
    credentials = KeyStore(folder / "auth.json", ring or Ring())
    one = {"api": "anthropic", "models": {"claude-haiku-5-5": None}} | ({"url": url} if url else {})
    providers = dict.fromkeys(names or ("house",), one)
    catalog = Catalog({"a": AnthropicProvider()}, Config.model_validate({"providers": providers}), credentials)
    return Logins(catalog, credentials, told.changed)


async def test_the_first_model_there_is_becomes_the_default_and_leaves_with_its_key(tmp_path: Path) -> None:
    with LoopbackAnthropic(says("Hi"), key=KEY) as server:
        told = Told()
        mine = logins(tmp_path, None, told)
        await mine.enter("house", {"key": KEY, "url": server.url})
        await mine.logout("house")
    assert told.defaults == ["house/claude-haiku-5-5", None]
    assert [status.auth.source for status in told.statuses] == ["login", None]


async def test_sign_ins_at_once_are_all_kept(tmp_path: Path) -> None:
    names, ring = [f"house-{n}" for n in range(8)], Ring()
    with LoopbackAnthropic(says("Hi"), key=KEY) as server:
        mine = logins(tmp_path, server.url, Told(), *names, ring=ring)
        await asyncio.gather(*(mine.enter(name, {"key": KEY}) for name in names))
    later = logins(tmp_path, None, Told(), *names, ring=ring)
    assert [(await later.status(name)).auth.source for name in names] == ["login"] * len(names)


async def test_a_key_for_an_address_that_is_none_is_not_sent_anywhere(tmp_path: Path) -> None:
    told = Told()
    with pytest.raises(LocalError, match="no address"):
        await logins(tmp_path, None, told).enter("house", {"key": KEY, "url": "house.example"})
    assert told.statuses == []


async def test_a_key_in_the_configuration_comes_first_and_that_is_said(tmp_path: Path) -> None:
    with LoopbackAnthropic(says("Hi"), key=KEY) as server:
        credentials = KeyStore(tmp_path / "auth.json", Ring())
        config = Config.model_validate({"providers": {"anthropic": {"key": "configured", "url": server.url}}})
        mine = Logins(Catalog({"a": AnthropicProvider()}, config, credentials), credentials, Told().changed)
        step = await mine.enter("anthropic", {"key": KEY})
        assert step.message is not None
        assert "comes first" in step.message
        assert (await mine.status("anthropic")).auth.source == "config"


async def test_a_settings_page_is_told_which_models_in_this_process_can_call_tools(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "m.gguf").write_bytes(b"GGUF")
    (tmp_path / "t.jinja").write_text("{{ tools }}")
    able = {"path": "m.gguf", "chatTemplate": "t.jinja", "tools": True}
    local = {"folder": str(tmp_path), "models": {"able": able, "plain": {"path": "m.gguf"}}}
    config = Config.model_validate({"providers": {"local": local}})
    credentials = KeyStore(tmp_path / "auth.json", Ring())
    mine = Logins(Catalog({"l": LocalProvider()}, config, credentials), credentials, Told().changed)
    told = {model.id: model.capabilities.tools for model in (await mine.status("local")).models}
    assert (told["able"], told["plain"]) == (True, False)
