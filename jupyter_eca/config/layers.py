"""Owns the layers of the configuration: where each is read from, and which one wins.

It must not know what a key does: `schema` has the keys. `interpolation` is its neighbour: it fills in `${env:NAME}`.

The order is ECA's (3.13). A later layer wins: the built-in defaults, the client's `initializationOptions`, the text in
`ECA_CONFIG`, then either the file of `--config-file` or the `config.json` of the user and of each project, and last the
files in `extraConfigs`. So the user's files win over the defaults that an editor sends, and a configuration means the
same here as in ECA. The agent that a client selects (`chatAgent`, `chatBehavior`) is a choice, so it wins over all.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from jupyter_eca.config import front_matter
from jupyter_eca.config.custom_tools import CustomToolConfig
from jupyter_eca.config.interpolation import Layer, ReadingNotes
from jupyter_eca.config.merge import merge
from jupyter_eca.config.schema import ALIASES, AgentConfig, Config
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Json = dict[str, Any]

# Tools that only read or ask are allowed. Tools that change or run something ask first (ECA 3.3 has the same list).
_HARMLESS = (
    *("read_file", "directory_tree", "grep", "variables", "preview_file_change", "ask_user", "task", "fetch_rule"),
    *("notebook_read", "preview_notebook_change", "inspect", "kernel_state", "skill", "spawn_agent", "read_output"),
    *("editor_diagnostics", "editor_definition", "editor_references"),
)
ALLOWED: Json = {
    **{name: {} for name in _HARMLESS},
    "bg_job": {"argsMatchers": {"action": ["list", "read_output"]}},
}
_DEFAULTS: Json = {"toolCall": {"approval": {"allow": ALLOWED}}}

# Names of tools that every vendor accepts.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

# The key of the default agent, and its older name.
_AGENT_KEYS = ("defaultAgent", "defaultBehavior")

# Keys of a client's options that are not part of the configuration.
_PRIVATE = frozenset({"pureConfig", "env", "chatAgent", "chatBehavior"})


def read_config(
    folders: Iterable[Path],
    only: Path | None = None,
    client: Mapping[str, Any] | None = None,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Config:
    """Read the configuration. Blocks: it reads files and may run the user's commands.

    `only` replaces the files of the user and the projects (`--config-file`). `home` replaces `~/.config`.

    Raises: ConfigError, naming the file and the place in it.
    """
    options = dict(client or {})
    added = _strings(options.get("env"))
    variables = {**(os.environ if environment is None else environment), **added}
    base = home or Path(variables.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    reading = _ConfigReader(tuple(folders), base / "eca", variables)
    reading.variables = added
    reading.client(options)
    if options.get("pureConfig") is not True:
        reading.text()
        reading.files(only)
        reading.extras()
    selected = options.get("chatAgent") or options.get("chatBehavior")
    if isinstance(selected, str):
        reading.add({"defaultAgent": selected}, "the client's options")
    return reading.config


@dataclass
class _ConfigReader:
    """Reads the configuration once, layer by layer, so that an error names the layer that caused it."""

    folders: tuple[Path, ...]
    home: Path
    environment: Mapping[str, str]
    found: ReadingNotes = field(default_factory=ReadingNotes)
    sources: list[str] = field(default_factory=list[str])
    variables: dict[str, str] = field(default_factory=dict[str, str])
    data: Json = field(default_factory=lambda: dict(_DEFAULTS))

    @property
    def first(self) -> Path:
        return self.folders[0] if self.folders else Path.cwd()

    @property
    def config(self) -> Config:
        return self._parse("the configuration")

    def add(self, settings: Mapping[str, Any], source: str) -> None:
        self.data = self._drop_bad_tools(merge(self.data, settings), source)
        self._parse(source)

    def _drop_bad_tools(self, data: Json, source: str) -> Json:
        """Leave out custom tools with an error, and keep the others."""
        written: Any = data.get("customTools")
        if written is None:
            return data
        good: Json = {}
        for name, settings in cast("Json", written if isinstance(written, dict) else {"": written}).items():
            try:
                if not _TOOL_NAME.fullmatch(name):
                    raise ValueError("a name may have 64 letters, digits, hyphens and underscores")
                CustomToolConfig.model_validate(settings)
            except ValueError as error:
                self.found.warnings.append(f"{source}: the custom tool {name!r} was left out: {_reason(error)}.")
            else:
                good[name] = settings
        return {**data, "customTools": good}

    def client(self, options: Json) -> None:
        settings = {name: value for name, value in options.items() if name not in _PRIVATE}
        self._settle(settings, self._layer("the client's options", self.first))

    def text(self) -> None:
        """Read the variable `ECA_CONFIG`, which whoever starts the server can set on the command line."""
        if text := self.environment.get("ECA_CONFIG", "").strip():
            self._settle(_object(text, "ECA_CONFIG"), self._layer("ECA_CONFIG", self.first))

    def files(self, only: Path | None) -> None:
        if only is not None:
            self._file(only, own=True, needed=True)
            return
        self._agents(self.home, own=True)
        self._file(self.home / "config.json", own=True)
        for folder in self.folders:
            self._agents(folder / ".eca", within=folder)
            self._file(folder / ".eca" / "config.json", within=folder)

    def extras(self) -> None:
        """Read the files in `extraConfigs`. Paths start at the workspace. A missing file is ignored: it may be on
        another machine."""
        named: Any = self.data.get("extraConfigs")
        layer = self._layer("extraConfigs", self.first)
        for text in cast("list[Any]", named) if isinstance(named, list) else ():
            if isinstance(text, str):
                path = layer.path(text)
                # Only files in the user's folder count as the user's own, because a project can name any file.
                is_own = path.resolve().is_relative_to(self.home.resolve())
                self._file(path, own=is_own, within=None if is_own else self.first)

    def _layer(self, source: str, folder: Path, *, own: bool = False, within: Path | None = None) -> Layer:
        return Layer(source, folder, self.environment, self.found, own, within)

    def _file(self, path: Path, *, own: bool = False, within: Path | None = None, needed: bool = False) -> None:
        self.found.watch(path)
        settings = _load(path, needed=needed)
        if settings is not None:
            self.sources.append(str(path))
            self._settle(settings, self._layer(str(path), path.parent, own=own, within=within))

    def _agents(self, folder: Path, *, own: bool = False, within: Path | None = None) -> None:
        """Read agents from Markdown files. An agent with an error is left out; the server still starts (ECA 6.1, class
        44)."""
        self.found.watch(folder / "agents")
        for path in _markdown(folder / "agents"):
            self.found.watch(path)
            try:
                layer = self._layer(str(path), path.parent, own=own, within=within)
                written = layer.fill(front_matter.agent(path.read_text(encoding="utf-8")))
                AgentConfig.model_validate(written)
            except (OSError, ValueError) as error:
                self.found.warnings.append(f"{path} is no agent and was left out: {_reason(error)}.")
            else:
                self.sources.append(str(path))
                name = path.stem.lower()  # as ECA has it
                self.add({"agent": {ALIASES.get(name, name): written}}, str(path))

    def _settle(self, settings: Json, layer: Layer) -> None:
        netrc_file = settings.get("netrcFile") or self.data.get("netrcFile")
        filled = _modernize(layer.fill(settings, netrc_file if isinstance(netrc_file, str) else None))
        providers: Any = filled.get("providers")
        for provider in cast("Json", providers).values() if isinstance(providers, dict) else ():
            if isinstance(provider, dict):
                cast("Json", provider).setdefault("folder", str(layer.folder))
        if isinstance(filled.get("rules"), list):
            filled["rules"] = [rule for rule in filled["rules"] if self._may_read_rules(rule, layer)]
        hooks: Any = filled.get("hooks")
        for hook in cast("Json", hooks).values() if isinstance(hooks, dict) else ():
            if isinstance(hook, dict):
                cast("Json", hook).update(source=layer.where, folder=str(layer.folder))
        self.add(filled, layer.where)

    def _may_read_rules(self, rule: Any, layer: Layer) -> bool:
        """Return whether rules may be read. The model reads them, so a project's rules must be files of the project."""
        path: Any = cast("Json", rule).get("path") if isinstance(rule, dict) else None
        if layer.within is None or not isinstance(path, str):
            return True
        within = layer.within.resolve()
        if (within / Path(path).expanduser()).resolve().is_relative_to(within):
            return True
        self.found.warnings.append(f"{layer.where}: the rules {path!r} are outside of the project and were not read.")
        return False

    def _parse(self, source: str) -> Config:
        derived: Json = {"sources": self.sources, "watched": self.found.watched, "warnings": self.found.warnings}
        try:
            return Config.model_validate({**self.data, **derived, "variables": self.variables})
        except ValidationError as error:
            # Not `from error`: pydantic's message quotes the values, and one of them may be a key.
            raise ConfigError(f"{source}: {_reason(error)}. Mend this key, or remove it.") from None


def _markdown(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.md"))
    except OSError:
        return []


def _reason(error: Exception) -> str:
    """Return the reason without any value, because a value may be a key."""
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        case OSError():
            return str(error.strerror)
        case _:
            return str(error)


def _strings(value: object) -> dict[str, str]:
    pairs = cast("Json", value).items() if isinstance(value, dict) else ()
    return {name: item for name, item in pairs if isinstance(item, str)}


def find_default_agent(settings: Mapping[str, Any]) -> str | None:
    """Return the default agent that settings name, in its place or in one of the older ones: `chat.defaultAgent`, and
    the same with `Behavior`."""
    chat: Any = settings.get("chat")
    places: tuple[Mapping[str, Any], ...] = (settings, cast("Json", chat)) if isinstance(chat, dict) else (settings,)
    named: Any = next((place[key] for place in places for key in _AGENT_KEYS if key in place), None)
    return named if isinstance(named, str) else None


def _modernize(settings: Json) -> Json:
    """Replace older spellings of agents: `behavior`, `defaultBehavior`, both below `chat` too, and the names in
    `ALIASES`."""
    moved = {name: value for name, value in settings.items() if name not in {"behavior", "defaultBehavior"}}
    if agent := find_default_agent(settings):
        moved["defaultAgent"] = agent
    chat = settings.get("chat")
    if isinstance(chat, dict):
        moved["chat"] = {name: item for name, item in cast("Json", chat).items() if name not in _AGENT_KEYS}
    named: Json = {}
    for key in ("behavior", "agent"):
        agents: Any = settings.get(key)
        if isinstance(agents, dict):
            named = merge(named, {ALIASES.get(name, name): value for name, value in cast("Json", agents).items()})
    return {**moved, "agent": named} if named else moved


def _load(path: Path, *, needed: bool) -> Json | None:
    try:
        if not needed and not path.is_file():
            return None
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}. Mend or remove it.") from error
    except UnicodeError as error:
        raise ConfigError(f"{path} is not JSON: it is not UTF-8. Mend it, or move it away.") from error
    return _object(text, str(path))


def _object(text: str, source: str) -> Json:
    import json5  # 40 ms, and only needed by those who have a file

    try:
        data = json5.loads(text)  # pyright: ignore[reportUnknownMemberType]  # untyped library
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source} is not JSON: {error}. Mend it, or move it away.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{source} must hold one JSON object.")
    return cast("Json", data)
