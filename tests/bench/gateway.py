"""What a gateway adds: the same answers from a vendor, and through LiteLLM Proxy with our files. It is LiteLLM's own
time, and is not counted in any figure of ours."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from argparse import Namespace
from contextlib import aclosing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Final

from jupyter_eca.apps.hub.write_gateway import write_gateway
from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from tests.apps.hub.gateway_parts import KEYS, SCOPE, build_litellm, lead_to, wait_for_litellm
from tests.apps.hub.test_hub_accounts import LoopbackHub, describe
from tests.bench.figure import Figure, differences, list_of, ratios
from tests.e2e.browser.hub import find_ports
from tests.plugins.providers.ask import asking
from tests.support.gateway_server import CLAUDE, GPT

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.plugins.providers.base import Provider

ROUNDS: Final = 7
CHUNKS: Final = 2000
TOKEN: Final = "token-of-ada"  # noqa: S105  # of a hub that only says whose it is

APIS: Final[dict[str, tuple[Provider, str, str]]] = {
    "messages": (anthropic.PROVIDER, CLAUDE, ""),
    "responses": (openai.PROVIDER, GPT, ""),
    "chat completions": (openai_chat.PROVIDER, GPT, "/v1"),
}
# Only the API of which most answers are made has a limit.
MOST_ADDED_MS: Final = {"messages": 40.0}
MOST_PER_CHUNK: Final = {"messages": 5.0}


async def figures() -> list[Figure]:
    found: list[Figure] = []
    with TemporaryDirectory() as name, running_vendor() as vendor, running_litellm(Path(name), vendor) as gateway:
        for api, (provider, model, path) in APIS.items():
            direct: list[tuple[float, float]] = []
            through: list[tuple[float, float]] = []
            for number in range(ROUNDS + 1):  # the first round imports the SDK and opens the connections
                rounds = [await time_answer(provider, model, f"{url}{path}") for url in (vendor, gateway)]
                if number:
                    direct.append(rounds[0])
                    through.append(rounds[1])
            (first, whole), (first_there, whole_there) = zip(*direct, strict=True), zip(*through, strict=True)
            beside = f"{list_of(first_there, 'ms', 1000)}, without LiteLLM {list_of(first, 'ms', 1000)}"
            added = [seconds * 1000 for seconds in differences(first_there, first)]
            found.append(Figure(f"LiteLLM: first text over {api}", added, "ms", MOST_ADDED_MS.get(api), beside))
            each = [(seconds - median(first)) / CHUNKS * 1e6 for seconds in whole]
            each_there = [(seconds - median(first_there)) / CHUNKS * 1e6 for seconds in whole_there]
            beside = f"{list_of(each_there, 'us')}, without LiteLLM {list_of(each, 'us')}"
            factor = ratios(each_there, each)
            found.append(Figure(f"LiteLLM: a piece over {api}", factor, "x", MOST_PER_CHUNK.get(api), beside))
    return found


async def time_answer(provider: Provider, model: str, url: str) -> tuple[float, float]:
    """Return the seconds until the first text, and until the end."""
    settings = ProviderConfig.model_validate({"url": url, "key": TOKEN, "models": {model: {"limit": {"output": 9000}}}})
    began, first, count = monotonic(), 0.0, 0
    async with aclosing(provider.stream(model, asking("hi", model=f"house/{model}"), settings)) as stream:
        async for delta in stream:
            if isinstance(delta, TextDelta):
                first, count = first or monotonic() - began, count + 1
    assert count
    return first, monotonic() - began


@contextmanager
def running_vendor() -> Generator[str]:
    """The URL of a vendor in a process of its own."""
    command = [sys.executable, "-m", "tests.support.gateway_server", str(CHUNKS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # our own
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def running_litellm(folder: Path, vendor: str) -> Generator[str]:
    """The URL of LiteLLM, whose users are those of a hub that only says whose a token is."""
    litellm, files = build_litellm(folder / "litellm"), folder / "gateway"
    write_gateway(Namespace(folder=files))
    lead_to(vendor, files / "litellm_config.yaml")
    everything = {"default": {"models": [CLAUDE, GPT], "budget": 1000}}
    (files / "limits.json").write_text(json.dumps(everything))
    (port,) = find_ports(1)
    with LoopbackHub(**{TOKEN: describe("ada", SCOPE)}) as hub, (folder / "log").open("wb") as log:
        own = {"JUPYTERHUB_API_URL": hub.api_url, "LITELLM_MASTER_KEY": f"sk-{os.urandom(16).hex()}"}
        environment = {**os.environ, **KEYS, **own, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        command = [litellm, "--config", files / "litellm_config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(command, cwd=files, env=environment, stdout=log, stderr=log)  # the same
        try:
            wait_for_litellm(f"http://127.0.0.1:{port}", folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()
