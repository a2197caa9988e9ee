"""Owns the user's defaults in the configuration files: it lists them with their files, and sets one in the user's own
file.

It must not know what uses a default. `config.editing` changes the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config.editing import WRITING, ConfigFiles
from jupyter_eca.errors import LocalError
from jupyter_eca.protocol import lifecycle as wire

if TYPE_CHECKING:
    from jupyter_eca.config import Config
    from jupyter_eca.config.editing import Place
    from jupyter_eca.config.mcp_servers import ConfigSources

_MODELS: Final = frozenset({wire.DefaultName.MODEL, wire.DefaultName.COMPLETION_MODEL})
_WRONG_KIND: Final = "`{name}` must be {kind}."


def list_defaults(config: Config, sources: ConfigSources) -> wire.ConfigDefaultsResult:
    """Return all defaults. Blocks: it reads files."""
    files = ConfigFiles(sources)
    return wire.ConfigDefaultsResult(
        defaults=tuple(_describe(config, files, name) for name in wire.DefaultName),
        file=files.get_display_name(files.user_file),
    )


def _describe(config: Config, files: ConfigFiles, name: wire.DefaultName) -> wire.DefaultSetting:
    defining = files.find_defining_files(_find_place(name))
    file = defining[-1] if defining else None
    return wire.DefaultSetting(
        name=name,
        **{"model" if name in _MODELS else "dollars": _read_value(config, name)},
        file=files.get_display_name(file) if file else None,
        own=file in {None, files.user_file},
    )


def _read_value(config: Config, name: wire.DefaultName) -> Any:
    value: Any = config.model_dump(mode="json", by_alias=True)
    for key in _find_place(name):
        value = value.get(key)
    return value


def set_default(sources: ConfigSources, params: wire.ConfigSetDefaultParams) -> None:
    """Set or remove a default in the user's own file. Blocks: it writes the file.

    Raises: LocalError for a value of the wrong kind, ConfigError when the file cannot be changed.
    """
    name = params.name
    value, other = (params.model, params.dollars) if name in _MODELS else (params.dollars, params.model)
    if other is not None:
        kind = "PROVIDER/MODEL" if name in _MODELS else "a number of US dollars"
        raise LocalError(_WRONG_KIND.format(name=name.value, kind=kind))
    with WRITING:
        files = ConfigFiles(sources)
        place = _find_place(name)
        if value is not None:
            files.put(files.user_file, place, value)
        elif files.get(files.user_file, place) is not None:
            files.drop(files.user_file, place)


def _find_place(name: wire.DefaultName) -> Place:
    return tuple(name.value.split("."))
