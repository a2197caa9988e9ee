"""Merges two layers of the configuration. Pure.

It must not know any key. `layers` is its neighbour: it decides the order of the layers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Mapping


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` with the values of `over`. Objects are merged key by key; other values of `over` replace the old
    ones.

    `{"a": {"x": 1, "y": 2}}` and `{"a": {"y": 3}}` -> `{"a": {"x": 1, "y": 3}}`. Neither argument is changed.
    """
    merged = dict(base)
    for name, value in over.items():
        old = merged.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[name] = merge(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        else:
            merged[name] = value
    return merged
