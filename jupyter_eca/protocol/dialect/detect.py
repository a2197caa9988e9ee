"""Which revision a client speaks. The protocol has no version number, so it is known by what the client says."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.lifecycle import InitializeParams


class Dialect(StrEnum):
    """The two seeds by their numbers, and today's. `OWN` is that of our own clients, which are of this very release:
    they are sent what our models say."""

    OLD = "001"
    NEWER = "000"
    CURRENT = "current"
    OWN = "own"


# What a client of a seed may send.
_OLD_ASKS: Final = frozenset({
    "initialize", "initialized", "shutdown", "exit", "chat/prompt", "chat/toolCallApprove", "chat/toolCallReject",
    "chat/queryContext", "chat/queryCommands", "chat/promptStop", "chat/delete", "mcp/startServer", "mcp/stopServer",
})  # fmt: skip
_ASKS: Final[Mapping[Dialect, frozenset[str]]] = {
    Dialect.OLD: _OLD_ASKS,
    Dialect.NEWER: _OLD_ASKS | {"chat/selectedBehaviorChanged"},
}


def choose(hello: InitializeParams, first_prompt: Any = None) -> Dialect:
    """By what only one revision's clients say; `requestId` in the first prompt is the last sign.

    A client that gives no sign is a current one: ECA's own command line client declares next to nothing and uses
    methods of today, while a client of a seed that is taken for a current one is only sent, beside all that it knows,
    notifications that it ignores.
    """
    can, options = hello.capabilities.code_assistant, hello.initialization_options
    said = can.model_fields_set
    if said & {"envelope", "kernel", "unattended"}:
        return Dialect.OWN
    if said & {"chat_capabilities", "rewrite"} or can.editor.definition or can.editor.references:
        return Dialect.CURRENT
    if "chatAgent" in options:
        return Dialect.CURRENT
    if "editor" in said:
        return Dialect.NEWER
    if said & {"doc", "edit", "fix"} or (isinstance(first_prompt, dict) and "requestId" in first_prompt):
        return Dialect.OLD
    return Dialect.NEWER if "chatBehavior" in options else Dialect.CURRENT


def learned(dialect: Dialect, method: str) -> Dialect:
    """The client has used a method: if its revision has no such, it was taken for an older one than it is."""
    if dialect not in _ASKS or method not in METHODS or method in _ASKS[dialect]:
        return dialect
    return Dialect.NEWER if method in _ASKS[Dialect.NEWER] else Dialect.CURRENT
