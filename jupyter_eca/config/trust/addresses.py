"""Owns the rule that a key is never sent to an address that another, later file has set. Pure.

Without this rule, a project that sets only the address of a provider would receive the key from the user's own file.
The rule applies to providers of models and to MCP servers, also in trusted folders. It must not read a file: its
neighbour `layers` does, and applies the rule to each new layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, cast

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Target:
    """A kind of entry of the configuration that has an address, and secrets that are only for this address."""

    noun: str
    """What such an entry is called in a warning."""
    addresses: tuple[str, ...]
    """The keys that make up the address."""
    secrets: tuple[str, ...]
    """The keys whose values are secrets."""


# The kinds of entries, by their key in the configuration.
_TARGETS: Final = {
    # `completionUrlRelativePath` is a part of the address, because it is appended to `url`.
    "providers": _Target("provider", ("url", "completionUrlRelativePath"), ("key", "extraHeaders")),
    "mcpServers": _Target("MCP server", ("url", "command", "args"), ("headers", "env", "clientSecret")),
}


def drop_secrets(earlier: Json, settings: Json, where: str) -> tuple[Json, list[str]]:
    """Return the settings of the earlier layers without the secrets that must not be sent to the new layer's addresses.

    A layer is the settings of one file. `earlier` are the earlier layers, merged, and `settings` is the new layer. Its
    name is `where`. Also returns a warning for each entry that has lost its secrets and has no other in the new layer.
    """
    warnings: list[str] = []
    result = dict(earlier)
    for section, target in _TARGETS.items():
        for name, entry in _as_object(settings.get(section)).items():
            known = _as_object(_as_object(result.get(section)).get(name))
            if _changes_address(target, known, _as_object(entry)):
                kept = _remove_secrets(target, known)
                if kept != known:
                    result[section] = {**result[section], name: kept}
                    warnings += _make_warnings(target, name, _as_object(entry), where)
    return result, warnings


def _make_warnings(target: _Target, name: str, entry: Json, where: str) -> list[str]:
    """Return a warning that an entry has lost its secrets; an empty list if the new layer has a secret of its own."""
    if any(secret in entry for secret in target.secrets):
        return []
    return [
        f"{where}: this file changes the address of the {target.noun} {name!r}. The keys and headers of earlier files "
        "are not sent there. Write a key beside the address if it needs one."
    ]


def _changes_address(target: _Target, known: Json, entry: Json) -> bool:
    """Return whether the new layer's `entry` sets another address than the `known` entry of the earlier layers has."""
    return any(field in entry and entry[field] != known.get(field) for field in target.addresses)


def _remove_secrets(target: _Target, entry: Json) -> Json:
    """Return an entry without its secrets, and without those of the models in it."""
    kept = {name: value for name, value in entry.items() if name not in target.secrets}
    models: Any = kept.get("models")
    if isinstance(models, dict):
        kept["models"] = {
            name: {field: value for field, value in cast("Json", model).items() if field not in target.secrets}
            if isinstance(model, dict)
            else model
            for name, model in cast("Json", models).items()
        }
    return kept


def _as_object(value: Any) -> Json:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("Json", value) if isinstance(value, dict) else {}
