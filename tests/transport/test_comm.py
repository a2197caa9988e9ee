"""The link over a comm: which messages travel together, and which messages do not wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport.comm import CommLink

pytestmark = pytest.mark.asyncio

HOUR = 3600.0


def make_text(text: str) -> Notification:
    content = {"type": "text", "text": text}
    return Notification("chat/contentReceived", {"chatId": "c", "role": "assistant", "content": content})


def make_running_call(call: str) -> Notification:
    content = {"type": "toolCallRunning", "id": call}
    return Notification("chat/contentReceived", {"chatId": "c", "role": "assistant", "content": content})


class WriteLog(list[list[Any]]):
    """A list of the written batches. Each message is named by its text, its content type or its method."""

    def __call__(self, data: dict[str, Any]) -> None:
        self.append([self._name(message) for message in data["messages"]])

    @staticmethod
    def _name(message: dict[str, Any]) -> str:
        content = message.get("params", {}).get("content", {})
        return content.get("text") or content.get("type") or message["method"]


async def run_loop_once() -> None:
    """Let the event loop make one turn."""
    await asyncio.sleep(0)


async def test_messages_of_one_loop_turn_travel_together() -> None:
    written = WriteLog()
    link = CommLink(written, lambda: None)
    for text in ("a", "b"):
        await link.send(make_text(text))
    await link.send(make_running_call("1"))
    await run_loop_once()
    await link.send(make_text("c"))
    await run_loop_once()
    assert written == [["a", "b", "toolCallRunning"], ["c"]]


async def test_pieces_of_an_answer_wait_for_each_other_and_nothing_else_waits() -> None:
    written = WriteLog()
    link = CommLink(written, lambda: None, pace=HOUR)
    for text in ("a", "b", "c"):
        await link.send(make_text(text))
        await run_loop_once()
    assert written == [["a"]]
    await link.send(make_running_call("1"))
    await run_loop_once()
    assert written == [["a"], ["b", "c", "toolCallRunning"]]
    await link.send(make_text("d"))
    await link.send(Request(1, "kernel/execute", {}))
    await run_loop_once()
    assert written[2:] == [["d", "kernel/execute"]]


async def test_waiting_messages_are_sent_before_the_link_is_closed() -> None:
    written = WriteLog()
    shut: list[None] = []
    link = CommLink(written, lambda: shut.append(None), pace=HOUR)
    for text in ("a", "b"):
        await link.send(make_text(text))
        await run_loop_once()
    await link.close()
    await link.send(make_text("c"))
    await run_loop_once()
    assert (written, shut) == ([["a"], ["b"]], [None])
