"""Describes the settings that wait for trust: a summary, each setting by itself, and a digest of all of them.

A project may bring settings, such as a program to run. They have no effect ("are held") until the user trusts the
folder of the project. The user trusts the settings as they are now, which the digest identifies. This module must not
decide which settings wait: its neighbour `split_settings` does.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.config.folders import is_inside
from jupyter_eca.config.masking import mask_secrets
from jupyter_eca.config.trust.scripts import find_scripts
from jupyter_eca.protocol.lifecycle import HeldSetting, HeldSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from jupyter_eca.config.interpolation import Layer

    Part = tuple[Layer, "Json"]
    """A file of the configuration: its layer, and those of its settings that wait for trust."""

Json = dict[str, Any]

# For each key, what one of its settings is called, and what several are called. All other keys are "other settings".
_NOUNS: Final[Mapping[str, tuple[str, str]]] = {
    "mcpServers": ("MCP server", "MCP servers"),
    "hooks": ("hook", "hooks"),
    "customTools": ("custom tool", "custom tools"),
    "providers": ("provider", "providers"),
    "agent": ("agent", "agents"),
    "acpAgents": ("outside agent", "outside agents"),
    "toolCall": ("approval rule", "approval rules"),
}
_OTHER: Final = ("other setting", "other settings")
# Objects in which each key is shown as a setting of its own. The others are shown as one setting.
_OBJECTS: Final = frozenset(_NOUNS) | {
    "toolCall.approval",
    *(f"toolCall.approval.{key}" for key in ("allow", "ask", "alwaysAsk", "deny")),
}

# The file that a placeholder names.
_FILE: Final = re.compile(r"\$\{file:([^}]*)\}")
# Of a larger file, only the size is a part of the digest. Prompts and scripts are smaller.
_MAX_DIGESTED_BYTES: Final = 1_000_000


def describe_held(folder: Path, parts: Sequence[Part], workspace: Sequence[Path]) -> HeldSettings:
    """Describe the waiting settings of a folder. `parts` are its files with these settings. `workspace` are the folders
    of the workspace: scripts run in the first one. Blocks: it reads files."""
    settings = {path: value for _, waiting in parts for path, value in _flatten(waiting)}
    return HeldSettings(
        folder=str(folder),
        digest=_compute_digest(parts, workspace),
        summary=_summarize(settings),
        settings=tuple(
            HeldSetting(key=".".join(path), value=json.dumps(mask_secrets(value, path[-1]), ensure_ascii=False))
            for path, value in settings.items()
        ),
    )


def _flatten(value: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each setting that is shown, with the keys that lead to it: `(("mcpServers", "db"), {...})`."""
    for name, item in value.items():
        here = (*path, name)
        if ".".join(here) in _OBJECTS and isinstance(item, dict):
            yield from _flatten(cast("Json", item), here)
        else:
            yield here, item


def _summarize(settings: Mapping[tuple[str, ...], Any]) -> str:
    """Return the numbers of settings, for example `2 MCP servers, 1 hook`."""
    nouns = [_NOUNS.get(path[0], _OTHER) for path in settings]
    kinds = [*_NOUNS.values(), _OTHER]
    counted = ((nouns.count(kind), kind) for kind in kinds)
    # `kind` is a pair: the noun for one setting, and the noun for several.
    return ", ".join(f"{number} {kind[number > 1]}" for number, kind in counted if number)


def _compute_digest(parts: Sequence[Part], workspace: Sequence[Path]) -> str:
    """Return a digest of the settings, and of the files that they name, such as a prompt or a script."""
    digest = hashlib.sha256()
    for layer, waiting in parts:
        written = json.dumps(waiting, sort_keys=True)
        digest.update(f"{layer.label}\0{written}\0".encode())
        folders = (layer.folder, *workspace)
        scripts = map(str, find_scripts(waiting, folders))
        for name in sorted({*_FILE.findall(written), *scripts}):
            digest.update(f"{name}\0".encode() + _read_for_digest(layer, name, folders) + b"\0")
    return digest.hexdigest()


def _read_for_digest(layer: Layer, name: str, folders: Sequence[Path]) -> bytes:
    """Return what a file adds to the digest, usually its content. From now on, the configuration is read again when the
    file changes."""
    try:
        path = layer.resolve_path(name).resolve()
        if layer.within is not None and not is_inside(path, (layer.within, *folders)):
            return b""  # a project cannot change such a file
        layer.read_log.watch(path)
        # The content of a pipe or a device may have no end.
        if not path.is_file():
            return b""
        size = path.stat().st_size
        return path.read_bytes() if size <= _MAX_DIGESTED_BYTES else str(size).encode()
    except (OSError, ValueError, RuntimeError):
        return b""
