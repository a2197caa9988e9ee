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
    from collections.abc import Mapping

    from jupyter_eca.config import Config
    from jupyter_eca.config.editing import Place
    from jupyter_eca.config.mcp_servers import ConfigSources

# The field of `DefaultSetting` and of `ConfigSetDefaultParams` that has the value of a default.
_FIELDS: Final = {
    wire.DefaultName.MODEL: "model",
    wire.DefaultName.AGENT: "choice",
    wire.DefaultName.VARIANT: "choice",
    wire.DefaultName.COMPLETION_MODEL: "model",
    wire.DefaultName.REVIEW: "review",
    wire.DefaultName.BUDGET_PER_CHAT: "dollars",
    wire.DefaultName.BUDGET_PER_NOTEBOOK: "dollars",
    wire.DefaultName.BUDGET_PER_DAY: "dollars",
}
_WRONG_KIND: Final = "`{name}` must be {kind}."
# What a value must be, in words, by the field that has it.
_KINDS: Final = {
    "model": "PROVIDER/MODEL",
    "choice": "a name",
    "dollars": "a number of US dollars",
    "review": "`before`, `after` or `never`",
}


def list_defaults(
    config: Config, sources: ConfigSources, choices: Mapping[wire.DefaultName, tuple[str, ...]]
) -> wire.ConfigDefaultsResult:
    """Return all defaults. `choices` are the names that a default may have. Blocks: it reads files."""
    files = ConfigFiles(sources)
    return wire.ConfigDefaultsResult(
        defaults=tuple(_describe(config, files, name, choices.get(name, ())) for name in wire.DefaultName),
        file=files.get_display_name(files.user_file),
    )


def _describe(
    config: Config, files: ConfigFiles, name: wire.DefaultName, choices: tuple[str, ...]
) -> wire.DefaultSetting:
    """Return a default with its value, the names that it may have (`choices`), the file that sets it, and whether the
    user's own file may set it."""
    defining = files.find_defining_files(_split_name(name))
    file = defining[-1] if defining else None
    return wire.DefaultSetting(
        name=name,
        **{_FIELDS[name]: read_default(config, name)},
        choices=choices,
        file=files.get_display_name(file) if file else None,
        own=file in {None, files.user_file},
        locked=config.policy.locked.get(name.value),
        limited=config.policy.limited.get(name.value),
    )


def read_default(config: Config, name: wire.DefaultName) -> Any:
    """Return the value of a default; None when it is not set."""
    value: Any = config.model_dump(mode="json", by_alias=True)
    for key in _split_name(name):
        value = None if value is None else value.get(key)
    return value


def set_default(config: Config, sources: ConfigSources, params: wire.ConfigSetDefaultParams) -> None:
    """Set or remove a default in the user's own file. Blocks: it writes the file.

    Raises: LocalError for a value of the wrong kind, and for one that the administrator's policy does not allow;
    ConfigError when the file cannot be changed.
    """
    name, field = params.name, _FIELDS[params.name]
    value = getattr(params, field)
    if reason := config.policy.locked.get(name.value):
        raise LocalError(reason)
    # The highest number of dollars that the policy allows, and the message about it; None for no limit.
    budget = config.policy.find_budget(_split_name(name)[-1]) if field == "dollars" else None
    if budget is not None and value is not None and value > budget[0]:
        raise LocalError(budget[1])
    if any(getattr(params, other) is not None for other in _KINDS if other != field):
        raise LocalError(_WRONG_KIND.format(name=name.value, kind=_KINDS[field]))
    with WRITING:
        files = ConfigFiles(sources)
        place = _split_name(name)
        if value is not None:
            files.put(files.user_file, place, value)
        elif files.get(files.user_file, place) is not None:
            files.drop(files.user_file, place)


def _split_name(name: wire.DefaultName) -> Place:
    """Return the keys that lead to a default in the configuration: `"a.b" -> ("a", "b")`."""
    return tuple(name.value.split("."))
