"""The configuration, in ECA's own files and keys (ECA 3.13), as far as it is used; other keys are left alone.

Layers, later ones win: defaults, `~/.config/eca/config.json`, `<workspace>/.eca/config.json`, the client's
`initializationOptions`. Files are JSON with comments. Objects are merged, everything else is replaced.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, SecretStr, ValidationError, field_serializer, field_validator

from jupyter_eca.engine.approval import Policy
from jupyter_eca.errors import ConfigError
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# What only looks is allowed; what changes or runs something asks (ECA 3.3 has the same list for its own tools).
_DEFAULTS: dict[str, Any] = {
    "toolCall": {"approval": {"allow": {"read_file": {}, "directory_tree": {}, "grep": {}, "variables": {}}}}
}


class ModelConfig(Model):
    """`model_name` is the vendor's name for it, `extra_payload` is merged into each request (`thinking`, `max_tokens`).
    `script` is the file of a `scripted` model, `path` the GGUF file of a `local` one."""

    model_name: str | None = None
    extra_payload: dict[str, Any] = Field(default_factory=dict[str, Any])
    script: str | None = None
    path: str | None = None


class ProviderConfig(Model):
    """`api` names the provider plug that speaks to this one; by default the plug of the same name. `folder` is where
    the relative paths of its models start."""

    api: str = ""
    url: str | None = None
    key: SecretStr | None = None
    models: dict[str, ModelConfig] = Field(default_factory=dict[str, ModelConfig])
    folder: str = ""

    @field_validator("models", mode="before")
    @classmethod
    def _bare_names(cls, value: object) -> object:
        """ECA allows `"name": null`, and `"models": null`."""
        if not isinstance(value, dict):
            return {} if value is None else value
        named = cast("dict[str, Any]", value)
        filled: dict[str, Any] = {name: {} if settings is None else settings for name, settings in named.items()}
        return filled

    @field_serializer("key")
    def _hide(self, key: SecretStr | None) -> str | None:
        return None if key is None else "**********"


class ToolCallConfig(Model):
    approval: Policy = Policy()


class AssistConfig(Model):
    """Help at the cursor: who gives it."""

    model: str | None = None


class Config(Model):
    """`sources` are the files it was read from."""

    providers: dict[str, ProviderConfig] = Field(default_factory=dict[str, ProviderConfig])
    default_model: str | None = None
    default_agent: str = "agent"
    welcome_message: str = "Ask about this notebook, its data or its errors."
    tool_call: ToolCallConfig = ToolCallConfig()
    rewrite: AssistConfig = AssistConfig()
    completion: AssistConfig = AssistConfig()
    sources: tuple[str, ...] = ()


def read(
    folders: Iterable[Path], only: Path | None = None, client: Mapping[str, Any] | None = None, home: Path | None = None
) -> Config:
    """`only` stands in for the global and project files (`--config-file`).

    Raises: ConfigError, naming the file and the place in it.
    """
    home_file = (home or Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")) / "eca" / "config.json"
    files = [only] if only else [home_file, *(folder / ".eca" / "config.json" for folder in folders)]
    layers = [(str(file), settings) for file in files if (settings := _file(file, needed=file == only)) is not None]
    sources = [where for where, _ in layers]
    data: dict[str, Any] = {**_DEFAULTS, "sources": sources}
    config = Config()
    for where, settings in (*layers, ("the client's options", dict(client or {}))):
        # Layer by layer, so that an error is put down to the one that made it.
        data = {**merge(data, settings), "sources": sources}
        config = _parse(data, where)
    return config


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Objects are merged key by key, all else is replaced. Neither argument is changed."""
    merged = dict(base)
    for name, value in over.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[name] = merge(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            merged[name] = value
    return merged


def _file(path: Path, *, needed: bool) -> dict[str, Any] | None:
    try:
        if not needed and not path.is_file():
            return None
        import json5  # 40 ms, and only needed by those who have a file

        data = json5.loads(path.read_text(encoding="utf-8"))  # pyright: ignore[reportUnknownMemberType]  # untyped library
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}. Mend or remove it.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON: {error}. Mend it, or move it away.") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{path} must hold one JSON object.")
    settings = _interpolated(cast("dict[str, Any]", data))
    providers: Any = settings.get("providers")
    for provider in cast("dict[str, Any]", providers).values() if isinstance(providers, dict) else ():
        if isinstance(provider, dict):
            cast("dict[str, Any]", provider).setdefault("folder", str(path.parent))
    return settings


_ENV = re.compile(r"\$\{env:(\w+)\}")


def _interpolated(value: Any) -> Any:
    """`${env:NAME}` in strings; an unset variable is an empty string, as in ECA."""
    match value:
        case str():
            return _ENV.sub(lambda found: os.environ.get(found[1], ""), value)
        case dict():
            return {name: _interpolated(item) for name, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_interpolated(item) for item in cast("list[Any]", value)]
        case _:
            return value


def _parse(data: dict[str, Any], where: str) -> Config:
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        # Not `from error`: pydantic's own words quote the values, and one of them may be a key.
        raise ConfigError(f"{where}: {place}: {first['msg']}. Mend this key, or remove it.") from None
