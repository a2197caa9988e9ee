"""A place full of secrets, one a source, and servers that repeat each that they are sent."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from tests.mcp_client.house import raw
from tests.plugins.providers.ask import says
from tests.support.anthropic_server import Fault, LoopbackAnthropic
from tests.support.openai_server import LoopbackOpenAI, recording

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tests.support.anthropic_server import Json, Recorded

# Every secret holds it, so that half of one is found as well.
MARK = "zq7k"
# Providers that have their secret from somewhere; `login` has none until it is typed in.
HELD = ("anthropic", "config", "env", "file", "cmd", "netrc", "header", "model", "password", "compatible", "payload")
PLUGS = ("raises", "refuses")


def secret(source: str) -> str:
    return f"{MARK}-{source}-{MARK}0123456789"


def traces(source: str) -> tuple[str, ...]:
    """Of a secret, as it is and as it is sent."""
    return MARK, b64encode(f"me:{secret(source)}".encode()).decode()


def echoing(asked: Recorded) -> Fault | None:
    """As the user wants it: a server that repeats what it was sent, in each way of failing."""
    words = json.dumps([asked.headers, asked.body.get("metadata")])
    wish = str(asked.body.get("messages", [""])[-1])
    if "be wrong" in wish:
        return Fault(401, f"{'so ' * 150}{words}")
    if "be down" in wish:
        return Fault(500, words, plain=True)
    if "break off" in wish:
        return Fault(events=({"type": "error", "error": {"type": "api_error", "message": words}},))
    return None


class Echo(LoopbackAnthropic):
    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path.startswith("/v1/"):
            fault = echoing(asked)
            if fault is not None and fault.events is None:
                return fault, ()
            self.faults.append(fault)
            return super().answered(asked)
        return Fault(403, json.dumps(asked.headers), plain=True), ()


class CompatibleEcho(LoopbackOpenAI):
    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        fault = echoing(asked)
        if fault is not None and fault.events is None:
            return fault, ()
        if fault is not None:
            return Fault(), [(0.0, f"data: {json.dumps(fault.events[0] if fault.events else {})}\n\n".encode())]
        return super().answered(asked)


def servers() -> tuple[Echo, CompatibleEcho]:
    return Echo(says("Hello."), key=secret("login")), CompatibleEcho(
        [recording("chat", "unicode_is_cut_between_packets")[0]]
    )


def written(folder: Path, echo: str, compatible: str) -> None:
    """The user's own configuration, and what it names."""
    home = folder / "config" / "eca"
    home.mkdir(parents=True)
    (home / "key").write_text(secret("file") + "\n")
    (home / "netrc").write_text(f"machine house login me password {secret('netrc')}\n")
    (home / "config.json").write_text(json.dumps(_config(folder, echo, compatible)))


def _config(folder: Path, echo: str, compatible: str) -> Json:
    def provider(**more: Any) -> Json:
        return {"api": "anthropic", "url": echo, "models": {"m": {}}, "retry": False, **more}

    headers = {"X-House": secret("header")}
    server = raw("works", folder / "log")
    names = {name: provider(api=f"somebodys-{name}", key=secret(name)) for name in PLUGS}
    return {
        "netrcFile": "netrc",
        "providers": {
            "anthropic": provider(),
            "config": provider(key=secret("config")),
            "env": provider(key="${env:MINE}"),
            "file": provider(key="${file:key}"),
            "cmd": provider(key=f"${{cmd:echo {MARK}-cmd-{MARK}0123456789}}"),
            "netrc": provider(key="${netrc:house}"),
            "header": provider(extraHeaders=headers),
            "model": provider(models={"m": {"extraHeaders": {"Authorization": f"Bearer {secret('model')}"}}}),
            "password": provider(url=echo.replace("//", f"//me:{secret('password')}@")),
            "payload": provider(extraPayload={"metadata": {"user_id": "${env:PAYLOAD_TOKEN}"}}),
            "compatible": provider(api="openai-chat", url=compatible, key=secret("compatible"), extraHeaders=headers),
            "login": provider(),
            **names,
        },
        "mcpServers": {
            "ends": raw("ends at once", env={"API_KEY": secret("mcp-env")}),
            "arguments": {**server, "args": [*server["args"], "--token", "${env:MCP_TOKEN}"]},
            "web": {"url": f"{echo}/mcp", "headers": {"X-Mcp": secret("mcp-header")}},
        },
        "defaultModel": "config/m",
        "rewrite": {"model": "raises/m"},
        "completion": {"model": "refuses/m"},
    }


ENVIRONMENT = {
    "ANTHROPIC_API_KEY": secret("anthropic"),
    "MINE": secret("env"),
    "PAYLOAD_TOKEN": secret("payload"),
    "MCP_TOKEN": secret("mcp-args"),
}

# A provider that says its key wherever it can.
PLUG = """
import logging
from dataclasses import dataclass
from jupyter_eca.errors import ProviderError

@dataclass
class Plug:
    name: str
    kind: type
    rank = None
    async def models(self, settings):
        return ("m",)
    async def stream(self, model, request, settings):
        key = settings.key.get_secret_value()
        logging.getLogger("somebody").warning("about to use %s", key)
        try:
            raise ValueError(f"inside {key}")
        except ValueError as error:
            raise self.kind(f"{key} is odd") from error
        yield

RAISES = Plug("somebodys-raises", RuntimeError)
REFUSES = Plug("somebodys-refuses", ProviderError)
"""
