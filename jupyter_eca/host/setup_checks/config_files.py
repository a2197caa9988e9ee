"""Finds mistakes in the text of configuration files: settings that are misspelled or written twice, and keys of
providers that other people can read.

It must not show a value, because a value may be a secret. `config.layers` reports a file that cannot be read.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config import Config, McpServerConfig, ProviderConfig, mcp_servers
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.base import Model

# Names that other programs use for a setting, each with our name: at the top of the configuration, in a provider, and
# in an MCP server.
_TOP_NAMES: Final = {
    "mcp": "mcpServers",
    "servers": "mcpServers",
    "model": "defaultModel",
    "customProviders": "providers",
}
_PROVIDER_NAMES: Final = {"apiKey": "key", "token": "key", "baseUrl": "url", "apiBase": "url", "endpoint": "url"}
_SERVER_NAMES: Final = {
    "cmd": "command",
    "arguments": "args",
    "environment": "env",
    "httpUrl": "url",
    "serverUrl": "url",
}


def find_file_problems(files: Sequence[Path], folders: Sequence[Path]) -> Iterator[str]:
    """Yield what is wrong in the text of files. Blocks: it reads them. `folders` are the folders of the workspace."""
    for file in files:
        repeated: list[str] = []
        settings = _parse(file, repeated)
        for key in dict.fromkeys(repeated):
            yield f"{file} has the key {key!r} twice in the same object, and only the last one counts. Remove one."
        yield from _find_misspellings(file, settings)
        if _has_plain_key(settings):
            yield from _find_readable_keys(file, folders)


def _parse(file: Path, repeated: list[str]) -> dict[str, Any]:
    """Return the content of a file, and add the keys that are written twice to `repeated`. A broken file is empty."""
    import json5  # imported here because it takes 40 ms

    def combine(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        """Return an object of the text, and note the keys that it has twice. Called for each object, with its keys and
        values in order."""
        combined: dict[str, Any] = {}
        for key, value in pairs:
            if key in combined:
                repeated.append(key)
            combined[key] = value
        return combined

    try:
        text = mcp_servers.read_text(file)
        data: Any = json5.loads(text, object_pairs_hook=combine)  # pyright: ignore[reportUnknownMemberType]  # untyped library
    except (OSError, ConfigError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _find_misspellings(file: Path, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each key that does nothing and looks like one of ours. Other unknown keys may be keys of
    ECA. `settings` are the content of the file."""
    yield from _compare_keys(file, "", settings, Config, _TOP_NAMES)
    for key, schema, names in (
        ("providers", ProviderConfig, _PROVIDER_NAMES),
        ("mcpServers", McpServerConfig, _SERVER_NAMES),
    ):
        group: Any = settings.get(key)
        for name, entry in cast("dict[str, Any]", group).items() if isinstance(group, dict) else ():
            if isinstance(entry, dict):
                yield from _compare_keys(file, f"{key}.{name}.", cast("dict[str, Any]", entry), schema, names)


def _compare_keys(
    file: Path, place: str, settings: Mapping[str, Any], schema: type[Model], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each unknown key of an object that looks like a key of its schema, or that `names`
    translates. `settings` is the object, and `place` are the keys that lead to it, such as `providers.openai.`."""
    known = {field.alias or name for name, field in schema.model_fields.items()}
    known_by_form = {_simplify(key): key for key in known} | {_simplify(key): ours for key, ours in names.items()}
    for key in settings:
        ours = known_by_form.get(_simplify(key))
        if key not in known and ours is not None and ours not in settings:
            yield f"`{place}{key}` in {file} is not a key and does nothing. Write `{ours}`."


def _simplify(key: str) -> str:
    """Return a key without the differences between ways of writing: `mcp_server` and `mcpServers` are the same."""
    return key.replace("_", "").replace("-", "").casefold().removesuffix("s")


def _has_plain_key(settings: Mapping[str, Any]) -> bool:
    """Return whether the key of a provider is written in a file itself, and not as `${env:NAME}`."""
    providers: Any = settings.get("providers")
    for provider in cast("dict[str, Any]", providers).values() if isinstance(providers, dict) else ():
        key: Any = cast("dict[str, Any]", provider).get("key") if isinstance(provider, dict) else None
        if isinstance(key, str) and key.strip() and "${" not in key:
            return True
    return False


def _find_readable_keys(file: Path, folders: Sequence[Path]) -> Iterator[str]:
    """Yield a warning if other people can read a file that has a key."""
    if any(file.is_relative_to(folder) for folder in folders):
        yield (
            f"{file} has the key of a provider, and it is in the folder of the project, so you may share it by "
            "mistake. Move the key to your own file, or write `${env:NAME}`."
        )
    elif os.name == "posix" and file.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
        yield f"{file} has the key of a provider, and other users of this machine can read it. Run `chmod 600 {file}`."
