"""Translates the user's decision into one of the answers that an outside agent offers. Pure.

If the user approves a call, an option that rejects is never chosen. If the user rejects it, an option that allows is
never chosen. An option is chosen by its kind and never by its place in the list. No answer allows more than the user
has clicked: approvals that last for the session are remembered by our server and not by the agent, because agents keep
them for other sessions too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PermissionOption:
    """An answer that the agent offers."""

    id: str
    """Its id."""
    name: str
    """Its text for the user."""
    kind: str
    """`allow_once`, `allow_always`, `reject_once` or `reject_always`; other kinds are never chosen."""


def read_options(value: Any) -> tuple[PermissionOption, ...]:
    """Return the options of a request. An option without an id is left out."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    objects = [cast("Json", item) for item in items if isinstance(item, Mapping)]
    return tuple(
        PermissionOption(str(item["optionId"]), str(item.get("name") or ""), str(item.get("kind") or ""))
        for item in objects
        if isinstance(item.get("optionId"), str)
    )


def choose_answer(options: tuple[PermissionOption, ...], *, allow: bool) -> dict[str, Any]:
    """Return the answer to a request for permission, in the form of the protocol. `allow` is the user's decision:
    whether this one call may run. If none of the options says exactly this, the answer is `CANCELLED`, which allows
    nothing."""
    kind = "allow_once" if allow else "reject_once"
    chosen = next((option for option in options if option.kind == kind), None)
    return CANCELLED if chosen is None else {"outcome": {"outcome": "selected", "optionId": chosen.id}}


def can_allow(options: tuple[PermissionOption, ...]) -> bool:
    """Return whether one of the options allows just this call."""
    return any(option.kind == "allow_once" for option in options)


CANCELLED: dict[str, Any] = {"outcome": {"outcome": "cancelled"}}
"""The answer that allows nothing: the protocol's word for a request whose turn was cancelled."""
