"""Reads the configuration layer by layer, and merges the layers. A later layer overrides the earlier ones.

It must not know what a key does: `schema` has the keys. `interpolation` is its neighbour: it fills in `${env:NAME}`.

A configuration means the same here as in ECA, and the order of the layers is ECA's too:

1. the built-in defaults;
2. the `initializationOptions` that the client (an editor, or our panel) sends;
3. the text in the variable `ECA_CONFIG`;
4. the `config.json` of the user and of each project, or the file of `--config-file` in their place;
5. the files in `extraConfigs`;
6. the agent that a client selects (`chatAgent`, `chatBehavior`), because this is a choice of the user;
7. the policy of the administrator (`policy/`), which can only take away.

Somebody else may have written a project's files. Until the user trusts the folder, only the settings that restrict
something take effect (`trust/`).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import ValidationError

from jupyter_eca.config import front_matter, jsonc
from jupyter_eca.config.custom_tools import CustomToolConfig
from jupyter_eca.config.disk.kernel_sandbox import may_folder_want_sandbox
from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.config.interpolation import Layer, ReadLog
from jupyter_eca.config.merge import merge
from jupyter_eca.config.policy.applied_policy import AppliedPolicy
from jupyter_eca.config.policy.document import Feature, FeatureState
from jupyter_eca.config.policy.enforcement import drop_allow_rules, enforce
from jupyter_eca.config.policy.sources import list_policy_files, read_policies
from jupyter_eca.config.schema import AGENT_ALIASES, AgentConfig, Config
from jupyter_eca.config.trust.addresses import drop_secrets
from jupyter_eca.config.trust.held_settings import describe_held
from jupyter_eca.config.trust.restrictions import (
    REVIEW_IGNORED,
    STORE_IGNORED,
    keep_restrictions,
    loosens_review,
)
from jupyter_eca.config.trust.split_settings import split_settings
from jupyter_eca.errors import ConfigError
from jupyter_eca.protocol.base import MAX_DEPTH, is_nested_too_deeply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jupyter_eca.config.policy.sources import ReadPolicy
    from jupyter_eca.config.trust.trusted_folders import TrustedFolders
    from jupyter_eca.protocol.lifecycle import HeldSettings

Json = dict[str, Any]

# Tools that only read or ask are allowed. Tools that change or run something need approval. ECA has the same list.
# `task` writes only the plan of the chat, and `skill` only returns files of instructions. `spawn_agent` starts another
# agent, and each call of that agent is decided by itself.
_HARMLESS = (
    *("read_file", "directory_tree", "grep", "variables", "preview_file_change", "ask_user", "task", "fetch_rule"),
    *("notebook_read", "preview_notebook_change", "inspect", "kernel_state", "skill", "spawn_agent", "read_output"),
    *("editor_diagnostics", "editor_definition", "editor_references"),
)
ALLOWED: Json = {
    **{name: {} for name in _HARMLESS},
    "bg_job": {"argsMatchers": {"action": ["list", "read_output", "wait"]}},
}
# The first layer.
_DEFAULTS: Json = {"toolCall": {"approval": {"allow": ALLOWED}}}

# Names of tools that every vendor accepts.
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")

# The key of the default agent, and its older name.
_AGENT_KEYS = ("defaultAgent", "defaultBehavior")

# Keys of a client's options that are not keys of the configuration.
_CLIENT_ONLY_KEYS = frozenset({"pureConfig", "env", "chatAgent", "chatBehavior"})

# Settings that replace a project's files when those cannot be read. They are cautious, because the files may contain
# restrictions.
_CAUTIOUS: Final[Json] = {"toolCall": {"approval": {"byDefault": "ask"}}, "chat": {"defaultTrust": False}}
# One more of them, if the files may ask for it.
_SANDBOXED_KERNELS: Final[Json] = {"toolCall": {"sandbox": {"kernels": True}}}

# Warnings for the user about settings that are not used. `reason` is a sentence.
_SKIPPED: Final = (
    "{reason} Until then this project's settings are not used, and you are asked about each tool call that none of "
    "your rules allows."
)
_SANDBOXED: Final = " Kernels start in the sandbox, because these settings may ask for it."

_UNUSED_RULES: Final = "Your rules in `toolCall.approval.allow` are not used. {reason}"
_UNUSED_MODEL: Final = "Your `defaultModel` is not used. {reason}"
_HELD_BY_POLICY: Final = "Settings of {folder} are not used. {reason}"

_ALL_TRUSTED: Final = (
    "The folder {folder} brings its own settings ({settings}). They are used, because this editor cannot ask you "
    "whether you trust the folder."
)


def read_config(
    folders: Iterable[Path],
    only: Path | None = None,
    client: Mapping[str, Any] | None = None,
    home: Path | None = None,
    environment: Mapping[str, str] | None = None,
    trust: TrustedFolders | None = None,
    *,
    skip_broken_projects: bool = False,
) -> Config:
    """Read the configuration. Blocks: it reads files and may run the user's commands.

    `folders` are the folders of the workspace. `only` replaces the files of the user and the projects
    (`--config-file`). `client` are the client's `initializationOptions`. `home` replaces `~/.config`, and `environment`
    replaces the variables of this process. Without `trust`, no folder is trusted. With `skip_broken_projects`, a
    project whose files have an error counts as a project without settings, and a warning says so: use it at the start,
    when there is no earlier configuration that could be kept.

    Raises: ConfigError with the file and the place in it.
    """
    options = dict(client or {})
    own_environment = os.environ if environment is None else environment
    policies = read_policies(own_environment)  # a client cannot set the variables of the policy
    if any(policy.document.features.project_settings is FeatureState.FORCE_OFF for policy in policies):
        trust = None  # a policy switches the settings of projects off, so no folder is trusted
    added = _keep_strings(options.get("env"))
    variables = {**own_environment, **added}
    base = home or Path(variables.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    reader = _ConfigReader(tuple(folders), base / "eca", variables, trust, skip_broken_projects)
    reader.variables = added
    reader.read_client_options(options)
    if options.get("pureConfig") is not True:
        reader.read_variable()
        reader.read_files(only)
        reader.read_extra_files()
    selected = options.get("chatAgent") or options.get("chatBehavior")
    if isinstance(selected, str):
        reader.add({"defaultAgent": selected}, "the client's options")
    for file in list_policy_files(own_environment):
        reader.read_log.watch(file)
    return reader.apply_policies(policies, own_environment)


@dataclass(frozen=True, slots=True)
class _ConfigPart:
    """One file of the configuration."""

    settings: Json
    """Its settings, with their placeholders."""
    layer: Layer
    """Fills in the placeholders."""
    is_agent: bool = False
    """Whether it is the Markdown file of an agent."""


@dataclass
class _ConfigReader:
    """Reads a configuration layer by layer. Each layer is checked when it is added, so that an error can name it.

    Many methods have two parameters that say whose file is read. `own`: it is the user's own, so it may run commands.
    `within`: somebody else may have written it, so it may only read files in this folder. Both are passed on to the
    `Layer` of the file.
    """

    folders: tuple[Path, ...]
    """The folders of the workspace."""
    home: Path
    """The user's own folder, usually `~/.config/eca`."""
    environment: Mapping[str, str]
    """The variables of the environment, with those that the client adds."""
    trust: TrustedFolders | None = None
    """The folders that the user trusts; None for no folder."""
    skip_broken_projects: bool = False
    """Whether a project with an error is left out, see `read_config`."""
    read_log: ReadLog = field(default_factory=ReadLog)
    """The warnings, and the files that were read."""
    sources: list[str] = field(default_factory=list[str])
    """The files that were read, in order."""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """The variables that the client adds to the environment."""
    data: Json = field(default_factory=lambda: dict(_DEFAULTS))
    """The layers so far, merged."""
    layers: list[Json] = field(default_factory=list[Json])
    """The layers so far, each as it was added. They are kept beside `data`, because merging loses restrictions."""
    held_back: list[HeldSettings] = field(default_factory=list["HeldSettings"])
    """The settings that have no effect until the user trusts their folder."""
    trusted_files: set[Path] = field(default_factory=set[Path])
    """The files in `extraConfigs` of the projects that the user trusts."""

    @property
    def first_folder(self) -> Path:
        """The first folder of the workspace."""
        return self.folders[0] if self.folders else Path.cwd()

    @property
    def config(self) -> Config:
        """The configuration of all layers so far. If several layers restrict the same tool, `data` has only the rule of
        the last one. So the restrictions are taken from all layers once more."""
        return keep_restrictions(self._parse("the configuration"), self.layers)

    def add(self, settings: Json, source: str) -> None:
        """Add a layer. `source` is its name in warnings and errors. Raises: ConfigError when it has an error."""
        # A key is never sent to an address that another file has set. So if this layer changes the address of a
        # provider or an MCP server, the key that the earlier layers have for it is dropped.
        earlier, warnings = drop_secrets(self.data, settings, source)
        self.read_log.warnings += warnings
        self.data = self._drop_bad_tools(merge(earlier, settings), source)
        self._parse(source)
        self.layers.append(settings)

    def apply_policies(self, policies: tuple[ReadPolicy, ...], environment: Mapping[str, str]) -> Config:
        """Apply the administrator's policies, and return the configuration. Nothing may be added afterwards.
        `environment` fills in their placeholders: it has no variables of a client."""
        written_documents = tuple(policy.document for policy in policies)
        policies = tuple(self._fill_policy(policy, environment) for policy in policies)
        for filled in policies:
            self.read_log.warnings += [filled.error] if filled.error else []
            rules = filled.document.approval.model_dump(mode="json", by_alias=True, include={"deny", "always_ask"})
            self.add({"toolCall": {"approval": rules}}, filled.name)
            # As for every other layer: a key is not sent to an address that another file has set.
            self.data, warnings = drop_secrets(self.data, filled.document.locked, filled.name)
            self.read_log.warnings += warnings
        self.data, policy, warnings = enforce(self.data, policies)
        self.read_log.warnings += warnings
        if reason := policy.find_feature_refusal(Feature.ALLOW_RULES):
            kept = drop_allow_rules(self.data, ALLOWED)
            self.read_log.warnings += [_UNUSED_RULES.format(reason=reason)] if kept != self.data else []
            self.data = kept
        if reason := policy.find_feature_refusal(Feature.PROJECT_SETTINGS):
            self.read_log.warnings += [
                _HELD_BY_POLICY.format(folder=held.folder, reason=reason) for held in self.held_back
            ]
            self.held_back = []
        config = self.config
        if config.default_model and (reason := policy.find_model_refusal(config.default_model)):
            config = config.model_copy(update={"warnings": (*config.warnings, _UNUSED_MODEL.format(reason=reason))})
        # The documents as they were written: without the keys that fill their placeholders.
        return config.model_copy(update={"policy": policy.model_copy(update={"documents": written_documents})})

    def _fill_policy(self, policy: ReadPolicy, environment: Mapping[str, str]) -> ReadPolicy:
        """Return a policy with the placeholders in its locked settings filled in. The locked settings replace those of
        all layers. As in the user's own file, their placeholders may run commands."""
        layer = Layer(policy.name, Path(policy.name).parent, environment, self.read_log, is_own=True)
        locked = layer.fill(policy.document.locked)
        return replace(policy, document=policy.document.model_copy(update={"locked": locked}))

    def _drop_bad_tools(self, data: Json, source: str) -> Json:
        """Leave out custom tools with an error, and keep the others."""
        written: Any = data.get("customTools")
        if written is None:
            return data
        valid: Json = {}
        for name, settings in cast("Json", written if isinstance(written, dict) else {"": written}).items():
            try:
                if not _TOOL_NAME.fullmatch(name):
                    raise ValueError("a name may have 64 letters, digits, hyphens and underscores")
                CustomToolConfig.model_validate(settings)
            except ValueError as error:
                reason = _describe_error(error)
                self.read_log.warnings.append(f"{source}: the custom tool {name!r} was left out: {reason}.")
            else:
                valid[name] = settings
        return {**data, "customTools": valid}

    def read_client_options(self, options: Json) -> None:
        """Add the client's `initializationOptions`."""
        settings = {name: value for name, value in options.items() if name not in _CLIENT_ONLY_KEYS}
        layer = self._make_layer("the client's options", self.first_folder)
        self._add_filled(self._fill(settings, layer), layer)

    def read_variable(self) -> None:
        """Add the text in the variable `ECA_CONFIG`, which can be set on the command line that starts the server."""
        if text := self.environment.get("ECA_CONFIG", "").strip():
            layer = self._make_layer("ECA_CONFIG", self.first_folder)
            self._add_filled(self._fill(_parse_object(text, "ECA_CONFIG"), layer), layer)

    def read_files(self, only: Path | None) -> None:
        """Add the files of the user and of each project; or, if `only` is given, only this file."""
        if only is not None:
            self._add_parts(self._load_file(only, own=True, needed=True))
            return
        self._add_parts(self._load_agents(self.home, own=True))
        self._add_parts(self._load_file(self.home / "config.json", own=True))
        for folder in self.folders:
            saved = self.data, list(self.layers), list(self.sources), list(self.held_back)
            try:
                self._read_project(folder)
            except ConfigError as error:
                if not self.skip_broken_projects:
                    raise
                self.data, self.layers, self.sources, self.held_back = saved
                may_want_sandbox = may_folder_want_sandbox(folder / ".eca")
                warning = _SKIPPED.format(reason=error) + (_SANDBOXED if may_want_sandbox else "")
                self.read_log.warnings.append(warning)
                self.add(_CAUTIOUS, str(folder))
                if may_want_sandbox:
                    self.add(_SANDBOXED_KERNELS, str(folder))

    def _read_project(self, folder: Path) -> None:
        """Add the files of a project. The files in its `extraConfigs` are only checked: they are added later."""
        parts = [
            *self._load_agents(folder / ".eca", within=folder),
            *self._load_file(folder / ".eca" / "config.json", within=folder),
        ]
        extras = [path for part in parts for path in self._list_extras(part.settings) if not self._is_own(path)]
        extra_parts = [part for path in extras for part in self._load_file(path, within=folder)]
        if self._add_project(folder, folder, parts, extra_parts):
            self.trusted_files.update(extras)

    def _add_project(
        self, folder: Path, place: Path, parts: Sequence[_ConfigPart], extras: Sequence[_ConfigPart] = ()
    ) -> bool:
        """Add files of a project: all of their settings if the user trusts them, else only the restrictions.

        Returns whether all settings are trusted. `extras` are files that are trusted together with the parts, but added
        later. `place` is the folder or the file whose settings the user trusts.
        """
        # All files are split here to find the settings that need trust, before any is added. `_add_parts_by_trust`
        # splits each file again when it adds it.
        split_parts = [split_settings(_modernize(part.settings), self.data) for part in (*parts, *extras)]
        held_parts = [
            (part.layer, held) for part, (_, held) in zip((*parts, *extras), split_parts, strict=True) if held
        ]
        described = describe_held(folder, held_parts, self.folders) if held_parts else None
        is_trusted = self._hold_unless_trusted(folder, place, described)
        self._add_parts_by_trust(parts, is_trusted=is_trusted)
        return is_trusted

    def _hold_unless_trusted(self, folder: Path, place: Path, held: HeldSettings | None) -> bool:
        """Return whether the settings of a place are trusted. If they are not, they are added to `held_back`.

        `held` are the settings that need trust; None when there are none.
        """
        is_trusted = held is None
        if self.trust is not None:
            self.read_log.watch(self.trust.file)
            # Called even if no settings need trust: settings that are added later were not there when the program
            # started, so they must not count as trusted since the start.
            is_trusted = self.trust.has(folder, place, held.digest if held else "") or is_trusted
        if held is None or is_trusted:
            return True
        if self.trust is not None and self.trust.trusts_all:
            self.read_log.warnings.append(_ALL_TRUSTED.format(folder=folder, settings=held.summary))
            return True
        self.held_back.append(held)
        return False

    def _add_parts_by_trust(self, parts: Iterable[_ConfigPart], *, is_trusted: bool) -> None:
        """Add files: all of their settings if the user trusts them (`is_trusted`), else only the restrictions."""
        for part in parts:
            # Split only now, because a file must not loosen what the files before it have restricted.
            restrictions, held = split_settings(_modernize(part.settings), self.data)
            self._add_part(part, merge(restrictions, held) if is_trusted else restrictions)

    def read_extra_files(self) -> None:
        """Add the files in `extraConfigs`. Relative paths start at the workspace.

        A missing file is ignored, because a configuration may be used on several machines.
        """
        for path in self._list_extras(self.data):
            # Only a file in the user's folder is the user's own: a project may name any file in `extraConfigs`.
            is_own = self._is_own(path)
            parts = self._load_file(path, own=is_own, within=None if is_own else self.first_folder)
            folder = next((folder for folder in self.folders if path.resolve().is_relative_to(folder.resolve())), None)
            if path in self.trusted_files:
                self._add_parts_by_trust(parts, is_trusted=True)
            elif folder is None or is_own:
                self._add_parts(parts)
            else:
                self._add_project(folder, path, parts)

    def _list_extras(self, settings: Json) -> Iterator[Path]:
        """Yield the files that the key `extraConfigs` of some settings names."""
        named: Any = settings.get("extraConfigs")
        layer = self._make_layer("extraConfigs", self.first_folder)
        for text in cast("list[Any]", named) if isinstance(named, list) else ():
            if isinstance(text, str):
                yield layer.resolve_path(text)

    def _is_own(self, path: Path) -> bool:
        """Return whether a file is in the user's own folder."""
        return path.resolve().is_relative_to(self.home.resolve())

    def _make_layer(self, source: str, folder: Path, *, own: bool = False, within: Path | None = None) -> Layer:
        """Return the layer of a file, or of settings that are in no file. `own` and `within` are fields of `Layer`."""
        return Layer(source, folder, self.environment, self.read_log, own, within)

    def _load_file(
        self, path: Path, *, own: bool = False, within: Path | None = None, needed: bool = False
    ) -> list[_ConfigPart]:
        """Return the content of a file as a list of one part; an empty list if the file does not exist. See
        `_make_layer` for `own` and `within`.

        Raises: ConfigError, also when the file is `needed` and does not exist.
        """
        self.read_log.watch(path)
        settings = _read_object(path, needed=needed)
        return (
            []
            if settings is None
            else [_ConfigPart(settings, self._make_layer(str(path), path.parent, own=own, within=within))]
        )

    def _load_agents(self, folder: Path, *, own: bool = False, within: Path | None = None) -> Iterator[_ConfigPart]:
        """Yield the agents in Markdown files. An agent with an error is left out, so that the server still starts. See
        `_make_layer` for `own` and `within`."""
        self.read_log.watch(folder / "agents")
        for path in _list_markdown_files(folder / "agents"):
            self.read_log.watch(path)
            try:
                text = front_matter.decode_text(read_regular(path, MAX_TEXT_BYTES)).replace("\r\n", "\n")
                written = front_matter.parse_agent(text)
            except (OSError, ValueError) as error:
                self._leave_agent_out(str(path), error)
            else:
                name = path.stem.lower()  # as in ECA
                settings = {"agent": {AGENT_ALIASES.get(name, name): written}}
                layer = self._make_layer(str(path), path.parent, own=own, within=within)
                yield _ConfigPart(settings, layer, is_agent=True)

    def _leave_agent_out(self, path: str, error: Exception) -> None:
        """Warn that the file of an agent is ignored."""
        self.read_log.warnings.append(f"{path} is not an agent and was left out: {_describe_error(error)}.")

    def _add_parts(self, parts: Iterable[_ConfigPart]) -> None:
        """Add files with all of their settings."""
        for part in parts:
            self._add_part(part, part.settings)

    def _add_part(self, part: _ConfigPart, settings: Json) -> None:
        """Add these settings of a file: all of its settings, or only the restrictions among them."""
        filled = self._fill(settings, part.layer)
        if part.is_agent:
            try:
                for agent in filled.get("agent", {}).values():
                    AgentConfig.model_validate(agent)
            except ValidationError as error:
                self._leave_agent_out(part.layer.label, error)
                return
        self.sources.append(part.layer.label)
        self._add_filled(filled, part.layer)

    def _fill(self, settings: Json, layer: Layer) -> Json:
        """Return the settings with their placeholders filled in, and with the current names of keys."""
        netrc_file = settings.get("netrcFile") or self.data.get("netrcFile")
        return _modernize(layer.fill(settings, netrc_file if isinstance(netrc_file, str) else None))

    def _add_filled(self, filled: Json, layer: Layer) -> None:
        """Add settings whose placeholders are filled in.

        First, what only their file shows is written into them: the folders of providers and hooks, and whether a
        project has set the address of a provider (`foreignAddress`: then no key of the environment is sent there). What
        the file may not say is removed: a looser `review` or a `store` that is not the user's own, and rules outside of
        a project.
        """
        providers: Any = filled.get("providers")
        for provider in cast("Json", providers).values() if isinstance(providers, dict) else ():
            if isinstance(provider, dict):
                cast("Json", provider).setdefault("folder", str(layer.folder))
                cast("Json", provider).pop("foreignAddress", None)
                if "url" in provider or "completionUrlRelativePath" in provider:
                    cast("Json", provider)["foreignAddress"] = layer.within is not None
        if loosens_review(filled, self.data) and not layer.is_own:
            filled.pop("review")
            self.read_log.warnings.append(REVIEW_IGNORED.format(source=layer.label))
        if "store" in filled and not layer.is_own:
            filled.pop("store")
            self.read_log.warnings.append(STORE_IGNORED.format(source=layer.label))
        if isinstance(filled.get("rules"), list):
            filled["rules"] = [rule for rule in filled["rules"] if self._may_read_rules_file(rule, layer)]
        hooks: Any = filled.get("hooks")
        for hook in cast("Json", hooks).values() if isinstance(hooks, dict) else ():
            if isinstance(hook, dict):
                cast("Json", hook).update(source=layer.label, folder=str(layer.folder))
        self.add(filled, layer.label)

    def _may_read_rules_file(self, rule: Any, layer: Layer) -> bool:
        """Return whether a file of rules may be read. If it may not, a warning is added. A project may name only its
        own files, because the model reads them."""
        path: Any = cast("Json", rule).get("path") if isinstance(rule, dict) else None
        if layer.within is None or not isinstance(path, str):
            return True
        within = layer.within.resolve()
        if (within / Path(path).expanduser()).resolve().is_relative_to(within):
            return True
        self.read_log.warnings.append(
            f"{layer.label}: the rules {path!r} are outside of the project and were not read."
        )
        return False

    def _parse(self, source: str) -> Config:
        """Parse all layers so far. Raises: ConfigError, with `source` as the layer that has the error."""
        derived: Json = {"sources": self.sources, "watched": self.read_log.watched, "warnings": self.read_log.warnings}
        derived |= {"heldBack": self.held_back, "policy": AppliedPolicy()}
        try:
            # Only the keys of files count, such as `toolCall`. The policy is applied to these keys. A setting with the
            # name of a field, such as `tool_call`, would be read without it.
            return Config.model_validate({**self.data, **derived, "variables": self.variables}, by_name=False)
        except ValidationError as error:
            # Not `from error`: pydantic's message quotes the values, and a value may be a key.
            raise ConfigError(f"{source}: {_describe_error(error)}. Fix this key, or remove it.") from None


def _list_markdown_files(folder: Path) -> list[Path]:
    """Return the Markdown files in a folder, sorted by name; none if the folder cannot be read."""
    try:
        return sorted(folder.glob("*.md"))
    except OSError:
        return []


def _describe_error(error: Exception) -> str:
    """Return the reason for an error without any value, because a value may be a key."""
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
        case OSError():
            return str(error.strerror)
        case _:
            return str(error)


def _keep_strings(value: object) -> dict[str, str]:
    """Return the members of an object whose values are texts."""
    pairs = cast("Json", value).items() if isinstance(value, dict) else ()
    return {name: item for name, item in pairs if isinstance(item, str)}


def find_default_agent(settings: Mapping[str, Any]) -> str | None:
    """Return the default agent of some settings; None when they name none.

    Its key is `defaultAgent`. The older keys are `defaultBehavior`, `chat.defaultAgent` and `chat.defaultBehavior`.
    """
    chat: Any = settings.get("chat")
    places: tuple[Mapping[str, Any], ...] = (settings, cast("Json", chat)) if isinstance(chat, dict) else (settings,)
    named: Any = next((place[key] for place in places for key in _AGENT_KEYS if key in place), None)
    return named if isinstance(named, str) else None


def _modernize(settings: Json) -> Json:
    """Return the settings with the current names of keys and agents.

    The older names are `behavior` for `agent`, the older keys of the default agent, and the names in `AGENT_ALIASES`.
    """
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
            named = merge(named, {AGENT_ALIASES.get(name, name): value for name, value in cast("Json", agents).items()})
    return {**moved, "agent": named} if named else moved


def _read_object(path: Path, *, needed: bool) -> Json | None:
    """Return the content of a JSON file; None when it does not exist and is not `needed`. Raises: ConfigError."""
    try:
        if not needed and not path.is_file():
            return None
        text = read_regular(path, MAX_TEXT_BYTES).decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}. Fix or remove it.") from error
    except UnicodeError as error:
        raise ConfigError(f"{path} is not JSON: it is not UTF-8. Fix it, or move it away.") from error
    return _parse_object(text, str(path))


def _parse_object(text: str, source: str) -> Json:
    """Parse a text of JSON with comments. Raises: ConfigError when it is not one object."""
    try:
        data = jsonc.load(text)
    except (ValueError, RecursionError) as error:
        reason = str(error).replace("<string>:", "line ", 1)  # json5 names the text so
        raise ConfigError(f"{source} is not JSON: {reason}. Fix it, or move it away.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{source} must hold one JSON object.")
    if is_nested_too_deeply(data):
        raise ConfigError(f"{source} has more than {MAX_DEPTH} levels of objects and lists. Fix it, or move it away.")
    return cast("Json", data)
