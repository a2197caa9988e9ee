"""How one layer of JSON goes over another. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


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
