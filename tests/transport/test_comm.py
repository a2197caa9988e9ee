"""A link over a comm: what goes together, and what does not wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport.comm import CommLink

pytestmark = pytest.mark.asyncio

HOUR = 3600.0


def said(text: str) -> Notification:
    content = {"type": "text", "text": text}
    return Notification("chat/contentReceived", {"chatId": "c", "role": "assistant", "content": content})


def running(call: str) -> Notification:
    content = {"type": "toolCallRunning", "id": call}
    return Notification("chat/contentReceived", {"chatId": "c", "role": "assistant", "content": content})


class Written(list[list[Any]]):
    """What was written, by what came together: texts, types of contents, methods."""

    def __call__(self, data: dict[str, Any]) -> None:
        self.append([self._what(message) for message in data["messages"]])

    @staticmethod
    def _what(message: dict[str, Any]) -> str:
        content = message.get("params", {}).get("content", {})
        return content.get("text") or content.get("type") or message["method"]


async def turn() -> None:
    """Of the event loop."""
    await asyncio.sleep(0)


async def test_what_is_sent_at_once_travels_together() -> None:
    written = Written()
    link = CommLink(written, lambda: None)
    for text in ("a", "b"):
        await link.send(said(text))
    await link.send(running("1"))
    await turn()
    await link.send(said("c"))
    await turn()
    assert written == [["a", "b", "toolCallRunning"], ["c"]]


async def test_pieces_of_an_answer_wait_for_each_other_and_nothing_else_waits() -> None:
    written = Written()
    link = CommLink(written, lambda: None, pace=HOUR)
    for text in ("a", "b", "c"):
        await link.send(said(text))
        await turn()
    assert written == [["a"]]
    await link.send(running("1"))
    await turn()
    assert written == [["a"], ["b", "c", "toolCallRunning"]]
    await link.send(said("d"))
    await link.send(Request(1, "kernel/execute", {}))
    await turn()
    assert written[2:] == [["d", "kernel/execute"]]


async def test_what_waits_is_sent_before_the_link_is_closed() -> None:
    written = Written()
    shut: list[None] = []
    link = CommLink(written, lambda: shut.append(None), pace=HOUR)
    for text in ("a", "b"):
        await link.send(said(text))
        await turn()
    await link.close()
    await link.send(said("c"))
    await turn()
    assert (written, shut) == ([["a"], ["b"]], [None])
