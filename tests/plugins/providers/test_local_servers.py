"""vLLM and llama.cpp at their usual addresses, which all kinds of programs use: they are recognised by their answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, ProviderConfig
from jupyter_eca.plugins.providers import openai
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.connection.local_models import KnownServers
from jupyter_eca.plugins.providers.openai_chat import PROVIDER
from jupyter_eca.plugins.providers.presets import CHAT
from tests.plugins.providers.ask import KEY, says
from tests.support.anthropic_server import Fault, LoopbackAnthropic, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable

pytestmark = pytest.mark.asyncio

# The lists of the two servers, as vLLM 0.11 and llama.cpp b6800 send them.
VLLM: dict[str, Any] = {
    "object": "list",
    "data": [
        {
            "id": "Qwen/Qwen3-8B",
            "object": "model",
            "created": 1764300000,
            "owned_by": "vllm",
            "root": "Qwen/Qwen3-8B",
            "parent": None,
            "max_model_len": 40960,
            "permission": [],
        }
    ],
}
LLAMA: dict[str, Any] = {
    "models": [{"name": "qwen3-4b.gguf", "model": "qwen3-4b.gguf"}],
    "object": "list",
    "data": [{"id": "qwen3-4b.gguf", "object": "model", "created": 1764300000, "owned_by": "llamacpp", "meta": {}}],
}


class Program(LoopbackAnthropic):
    """Anything that listens at a port, and gives this answer to everything."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(says(""))
        self.fault = fault

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:  # noqa: ARG002  # of the class
        return self.fault, ()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]  # autouse
    """What another test has found at a port counts no more."""
    monkeypatch.setattr(openai, "_KNOWN_SERVERS", KnownServers())


def said(body: object) -> Fault:
    return Fault(said=json.dumps(body), plain=True)


def catalog(server: LoopbackAnthropic, name: str, **settings: Any) -> Catalog:
    """A catalog in which the known server of this name has the address of `server`."""
    preset = CHAT[name]
    moved = replace(preset, settings=preset.settings.model_copy(update={"url": f"{server.url}/v1"}))
    own = {name: ProviderConfig.model_validate(settings)} if settings else {}
    return Catalog({"openai-chat": replace(PROVIDER, presets={name: moved})}, Config(providers=own))


@pytest.mark.parametrize(
    ("name", "body", "model"),
    [("vllm", VLLM, "vllm/Qwen/Qwen3-8B"), ("llamacpp", LLAMA, "llamacpp/qwen3-4b.gguf")],
)
async def test_a_known_server_at_its_usual_address_is_found_without_a_key(
    name: str, body: object, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{name.upper()}_API_KEY", KEY)
    with Program(said(body)) as server:
        found = catalog(server, name)
        assert server.requests == []
        assert await found.models() == (model,)
        assert await found.default() == model
        assert KEY not in str([request.headers for request in server.requests])


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(said({"data": [{"id": "gpt-9", "object": "model", "owned_by": "somebody"}]}), id="other models"),
        pytest.param(said({"data": [{"id": "gpt-9"}]}), id="no owner"),
        pytest.param(said(["data"]), id="other JSON"),
        pytest.param(Fault(said="<h1>JupyterHub</h1>", plain=True), id="a page"),
        pytest.param(Fault(404, "not found"), id="not found"),
        pytest.param(Fault(401, "who are you?"), id="a key is needed"),
        pytest.param(Fault(said="x" * 2_000_000, plain=True), id="too much"),
    ],
)
async def test_another_program_at_that_address_has_no_models_and_is_left_alone_for_a_while(fault: Fault) -> None:
    with Program(fault) as server:
        found = catalog(server, "vllm")
        assert await found.models() == ()
        assert await found.models() == ()
        assert len(server.requests) == 1


async def test_another_program_is_asked_again_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(openai, "_KNOWN_SERVERS", KnownServers(lambda: now[0]))
    with Program(Fault(404, "not found")) as server:
        found = catalog(server, "vllm")
        assert await found.models() == ()
        server.fault = said(VLLM)  # another program has taken the port
        assert await found.models() == ()
        now[0] = 61.0
        assert await found.models() == ("vllm/Qwen/Qwen3-8B",)


async def test_a_server_that_loads_its_model_is_asked_again_at_once() -> None:
    with Program(Fault(503, "Loading model")) as server:
        found = catalog(server, "llamacpp")
        assert await found.models() == ()
        server.fault = said(LLAMA)  # it has loaded
        assert await found.models() == ("llamacpp/qwen3-4b.gguf",)


async def test_a_redirect_of_another_program_is_not_followed() -> None:
    with Program(said(VLLM)) as other:
        location = {"Location": f"{other.url}/v1/models"}
        with Program(Fault(302, "over there", headers=location)) as server:
            assert await catalog(server, "vllm").models() == ()
        assert other.requests == []


async def test_an_address_that_the_user_names_needs_no_owner() -> None:
    with Program(said({"data": [{"id": "mine"}]})) as server, Program(Fault(404, "not found")) as usual:
        assert await catalog(usual, "vllm", url=f"{server.url}/v1").models() == ("vllm/mine",)
        assert usual.requests == []
