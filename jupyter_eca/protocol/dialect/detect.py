"""Finds out which revision of ECA a client speaks. The protocol has no version number, so the words that the client
uses decide.

It must not translate anything: its neighbours `incoming` and `outgoing` do.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.protocol.lifecycle import InitializeParams


class Dialect(StrEnum):
    """A revision of ECA. `OLDEST` and `OLDER` are the two older ones, and `CURRENT` is today's. The numbers are those
    of two documents and do not tell their age. `OWN` is the dialect of our own clients: they come with this release, so
    messages to them are not translated."""

    OLDEST = "001"
    OLDER = "000"
    CURRENT = "current"
    OWN = "own"


# The methods that a client of the oldest revision can send.
_OLD_METHODS: Final = frozenset({
    "initialize", "initialized", "shutdown", "exit", "chat/prompt", "chat/toolCallApprove", "chat/toolCallReject",
    "chat/queryContext", "chat/queryCommands", "chat/promptStop", "chat/delete", "mcp/startServer", "mcp/stopServer",
})  # fmt: skip
# The methods that the clients of each older revision can send.
_METHODS_OF: Final[Mapping[Dialect, frozenset[str]]] = {
    Dialect.OLDEST: _OLD_METHODS,
    Dialect.OLDER: _OLD_METHODS | {"chat/selectedBehaviorChanged"},
}


def detect_dialect(hello: InitializeParams, first_prompt: Any = None) -> Dialect:
    """Choose the dialect by words that only clients of one revision use.

    `hello` are the parameters of `initialize`. `first_prompt` are those of the first prompt, which may have the word
    `requestId`; None before there is a prompt.

    A client without any such word counts as current. ECA's own command line client declares almost nothing and uses
    today's methods. A client of an older revision that counts as current only receives some more notifications, and
    it ignores them.
    """
    capabilities, options = hello.capabilities.code_assistant, hello.initialization_options
    declared = capabilities.model_fields_set
    if declared & {"envelope", "kernel", "unattended"}:
        return Dialect.OWN
    if declared & {"chat_capabilities", "rewrite"} or capabilities.editor.definition or capabilities.editor.references:
        return Dialect.CURRENT
    if "chatAgent" in options:
        return Dialect.CURRENT
    if "editor" in declared:
        return Dialect.OLDER
    if declared & {"doc", "edit", "fix"} or (isinstance(first_prompt, dict) and "requestId" in first_prompt):
        return Dialect.OLDEST
    return Dialect.OLDER if "chatBehavior" in options else Dialect.CURRENT


def correct_dialect(dialect: Dialect, method: str) -> Dialect:
    """Return the dialect of a client that has used a method: the one chosen before, or a newer one if the revision
    chosen before does not have this method."""
    if dialect not in _METHODS_OF or method not in METHODS or method in _METHODS_OF[dialect]:
        return dialect
    return Dialect.OLDER if method in _METHODS_OF[Dialect.OLDER] else Dialect.CURRENT
