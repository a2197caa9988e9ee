"""The peers, as data: what is installed, how each is set up for the model, and what it can do.

The drivers of their clients and pages are named here and lie in `clients.py` and `chat_pages.py`. To add a peer, add a
row; where it cannot do something, give the reason in place of the driver.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tests.bench.peers.model_server import MODEL

if TYPE_CHECKING:
    from collections.abc import Callable

KEY: Final = "sk-loopback"
JUPYTERNAUT: Final = "jupyter-ai-personas::jupyter_ai_jupyternaut::JupyternautPersona"


@dataclass(frozen=True)
class Cannot:
    """Why a peer has no figures in a row."""

    reason: str


@dataclass(frozen=True)
class Cells:
    """A magic. `cell` asks: `{url}` and `{question}` are replaced."""

    extension: str
    cell: str | Cannot


@dataclass(frozen=True)
class McpServer:
    """The tool that reads a notebook of ten cells. `{port}`, `{mcp_port}` and `{root}` are replaced in texts."""

    url: str
    tool: str
    arguments: dict[str, Any]
    options: tuple[str, ...] = ()
    # A call that must come before, such as one that opens the notebook.
    before: tuple[str, dict[str, Any]] | None = None


@dataclass(frozen=True)
class Peer:
    """`requirement` is what its documentation says to install; `more` is what it then lacks to ask a model of OpenAI's
    interface. `files` are of its user's home, and are given the url of the model. `server` and `ready` are None for
    those that a Jupyter server has."""

    name: str
    requirement: str
    more: tuple[str, ...] = ()
    files: Callable[[str], dict[str, str]] = lambda _: {}
    env: Callable[[str], dict[str, str]] = lambda _: {}
    options: tuple[str, ...] = ()
    cells: Cells | Cannot = Cannot("it has no magic")
    client: str | Cannot = Cannot("it has no chat")
    page: str | Cannot = Cannot("it has no chat in a page")
    mcp: McpServer | Cannot = Cannot("it is no MCP server")
    lab: bool = True
    prerelease: bool = False


def _ours(url: str) -> dict[str, str]:
    provider: Any = {"api": "openai-chat", "url": f"{url}/v1", "key": KEY, "models": {MODEL: {}}}
    config = {"providers": {"loopback": provider}, "defaultModel": f"loopback/{MODEL}", "notebook": {"place": False}}
    return {".config/eca/config.json": json.dumps(config)}


def _notebook_intelligence(url: str) -> dict[str, str]:
    properties = {"api_key": KEY, "model_id": MODEL, "base_url": f"{url}/v1", "context_window": "100000"}
    model = {"provider": "openai-compatible", "model": "openai-compatible-chat-model"}
    config = {
        "chat_model": {**model, "properties": [{"id": name, "value": text} for name, text in properties.items()]},
        "inline_completion_model": {"provider": "none", "model": "none"},
    }
    return {".jupyter/nbi/config.json": json.dumps(config)}


def _jupyter_ai(url: str) -> dict[str, str]:
    model = f"openai/{MODEL}"
    config = {
        "model_provider_id": model,
        "fields": {model: {"api_base": f"{url}/v1"}},
        "api_keys": {},
        "embeddings_fields": {},
        "completions_fields": {},
        "send_with_shift_enter": False,
    }
    return {".local/share/jupyter/jupyter_ai/config.json": json.dumps(config), "work/bench.chat": "{}"}


def _jupyterlite_ai(url: str) -> dict[str, str]:
    provider = {"id": "loopback", "name": "loopback", "provider": "generic", "model": MODEL}
    settings = {
        "useSecretsManager": False,
        "providers": [{**provider, "baseURL": f"{url}/v1", "apiKey": KEY}],
        "defaultProvider": "loopback",
    }
    name = ".jupyter/lab/user-settings/@jupyternaut/persona/settings-model.jupyterlab-settings"
    return {name: json.dumps(settings)}


def _marimo(url: str) -> dict[str, str]:
    return {
        ".config/marimo/marimo.toml": f"""
[ai.models]
chat_model = "loopback/{MODEL}"
custom_models = ["loopback/{MODEL}"]
[ai.custom_providers.loopback]
api_key = "{KEY}"
base_url = "{url}/v1"
"""
    }


def _openai(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{url}/v1", "OPENAI_BASE_URL": f"{url}/v1"}


NO_EXTENSION: Final = Cannot("it has no extension for IPython")
NO_PARTNER: Final = Cannot("it asks the program Hermes Agent, which its package does not bring")

OURS: Final = Peer(
    "jupyter_eca",
    "",
    files=_ours,
    cells=Cells("jupyter_eca", "%%eca\n{question}"),
    client="eca",
    page="eca",
    mcp=McpServer("http://127.0.0.1:{port}/eca/mcp", "eca_notebook_read", {"path": "{root}/cells.ipynb"}),
)
LAB: Final = Peer(
    "JupyterLab alone",
    "",
    cells=Cannot("nothing to load"),
    client=Cannot("no assistant"),
    page=Cannot("no assistant"),
    mcp=Cannot("no assistant"),
)
PEERS: Final = (
    LAB,
    OURS,
    Peer(
        "jupyter-ai",
        "jupyter-ai>=3.2,<4",
        more=("jupyter-ai[jupyternaut,magics]",),
        prerelease=True,
        options=("--MCPExtensionApp.mcp_port={mcp_port}", f"--PersonaManager.default_persona_id={JUPYTERNAUT}"),
        files=_jupyter_ai,
        env=_openai,
        cells=Cells("jupyter_ai_magic_commands", f"%%ai openai/{MODEL} --api-base {{url}}/v1\n{{question}}"),
        client="jupyter_ai",
        page="jupyter_ai",
        mcp=Cannot("its tools work only while a page of JupyterLab is open: without one `read_notebook` fails"),
    ),
    Peer(
        "notebook-intelligence",
        "notebook-intelligence>=6.2,<7",
        files=_notebook_intelligence,
        cells=NO_EXTENSION,
        client="notebook_intelligence",
        page="notebook_intelligence",
    ),
    Peer(
        "jupyterlite-ai",
        "jupyterlite-ai>=0.20,<0.21",
        files=_jupyterlite_ai,
        cells=NO_EXTENSION,
        client=Cannot("it runs in the page only"),
        page="jupyterlite_ai",
    ),
    Peer(
        "jupyter-mcp-server",
        "jupyter-mcp-server>=2.2,<3",
        cells=NO_EXTENSION,
        mcp=McpServer(
            "http://127.0.0.1:{port}/mcp",
            "read_notebook",
            {"notebook_name": "cells"},
            before=("use_notebook", {"notebook_name": "cells", "notebook_path": "cells.ipynb", "mode": "connect"}),
        ),
    ),
    Peer(
        "jupyter-ai-magics",
        "jupyter-ai-magics>=2.31,<3",
        more=("langchain-openai",),
        env=_openai,
        cells=Cells("jupyter_ai_magics", f"%%ai openai-chat-custom:{MODEL}\n{{question}}"),
        client="cells",
        page=Cannot("it is a magic: its answers are outputs of cells"),
    ),
    Peer(
        "jupyter-ai-hermes-magics",
        "jupyter-ai-hermes-magics>=0.5,<0.6",
        cells=Cells("jupyter_ai_hermes_magics", NO_PARTNER),
        client=NO_PARTNER,
        page=Cannot("it is a magic: its answers are outputs of cells"),
    ),
    Peer(
        "marimo",
        "marimo>=0.25,<0.26",
        more=("pydantic-ai-slim[openai]", "marimo[mcp]"),
        files=_marimo,
        lab=False,
        cells=Cannot("it does not use IPython"),
        client="marimo",
        page="marimo",
        mcp=McpServer("http://127.0.0.1:{port}/mcp/server", "get_active_notebooks", {"args": {}}, options=("--mcp",)),
    ),
)
