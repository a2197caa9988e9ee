"""A desk where agents may be spawned, and what tests ask of what a client received there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.content import ToolCalledContent
from tests.support.host_and_client import Desk, desk

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams as Received


def house(folder: Path, rules: list[dict[str, Any]], *allowed: str, **more: Any) -> AbstractAsyncContextManager[Desk]:
    """Where what only looks is allowed, and what is named besides."""
    looking = ("spawn_agent", "directory_tree", "read_file", *allowed)
    return desk(folder, rules, toolCall={"approval": {"allow": {name: {} for name in looking}}}, **more)


def spawn(agent: str, task: str, **more: str) -> dict[str, Any]:
    return {"tool": "spawn_agent", "arguments": {"agent": agent, "task": task, **more}}


def children(received: list[Received]) -> list[str]:
    """The chats of subagents, in the order in which they were heard of."""
    return list(dict.fromkeys(str(one.chat_id) for one in received if one.parent_chat_id is not None))


def mine(received: list[Received]) -> list[Received]:
    return [one for one in received if one.parent_chat_id is None]


def results(received: list[Received]) -> list[str]:
    """Of the calls that spawned, in the order in which they ended."""
    called = (one.content for one in mine(received))
    return [c.outputs[0].text for c in called if isinstance(c, ToolCalledContent) and c.name == "spawn_agent"]


def result(received: list[Received]) -> str:
    (only,) = results(received)
    return only
