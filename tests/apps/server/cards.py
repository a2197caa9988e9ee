"""A page that draws the cards of cells: it speaks ECA over a widget's messages.

`labextension/src/widget/card.tsx` does the same in a browser."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from tests.apps.server.cells import PATIENCE, Widgets

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.apps.server.cells import PageKernel

CAN = {"chat": True, "envelope": True, "chatCapabilities": {"askQuestion": True}}


class Cards(Widgets):
    """`calls` are what was told last of each, `questions` those that are asked now, by the ids of their requests. What
    is done is done on the newest card."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.calls: dict[str, dict[str, Any]] = {}
        self.questions: dict[str, dict[str, Any]] = {}
        self.answers: dict[int, dict[str, Any]] = {}
        self.chat = ""
        self._channel = uuid.uuid4().hex
        self._model = ""
        self._asked = 0

    @classmethod
    def at(cls, kernel: PageKernel) -> Cards:
        page = cls(kernel.client)
        kernel.pages.append(page)
        return page

    @property
    def open(self) -> list[str]:
        return [id for id, state in self.models.items() if state.get("card")]

    def take(self, kind: str, content: dict[str, Any]) -> None:
        super().take(kind, content)
        data = content.get("data", {})
        if kind == "comm_open" and data.get("state", {}).get("card"):
            self._model = content["comm_id"]
            self._say(open=True)
        elif kind == "comm_msg" and data.get("method") == "custom" and data["content"]["channel"] == self._channel:
            self._told(data["content"])
        self.shown.set()

    def _told(self, told: dict[str, Any]) -> None:
        if told.get("opened"):
            self.chat = told["chat"]
            self._send_request("initialize", {"clientInfo": {"name": "page"}, "capabilities": {"codeAssistant": CAN}})
            self.notify("initialized", {})
        for message in told.get("messages", []):
            match message:
                case {"method": "chat/contentReceived", "params": {"content": {"id": id} as content}}:
                    self.calls[id] = content
                case {"method": "chat/askQuestion", "id": id, "params": params}:
                    self.questions[id] = params
                case {"method": "$/cancelRequest", "params": {"id": id}}:
                    self.questions.pop(id, None)
                case {"id": id}:
                    self.answers[id] = message
                case _:
                    raise AssertionError(f"the kernel says {message}")

    # -- what a reader sees and does

    async def sees(self, what: Callable[[], Any]) -> Any:
        async with asyncio.timeout(PATIENCE):
            while not (found := what()):
                self.shown.clear()
                await self.shown.wait()
        return found

    async def question(self, text: str) -> dict[str, Any]:
        asked: dict[str, Any] = await self.sees(
            lambda: next((one for one in self.questions.values() if one["question"] == text), None)
        )
        return asked

    def answer(self, **result: Any) -> None:
        """The question that was asked last."""
        id, _ = self.questions.popitem()
        self._say(messages=[{"jsonrpc": "2.0", "id": id, "result": result}])

    async def call(self, kind: str = "toolCallRun") -> dict[str, Any]:
        """The call that has come so far."""
        found: dict[str, Any] = await self.sees(
            lambda: next((one for one in self.calls.values() if one["type"] == kind), None)
        )
        return found

    async def approve(self) -> None:
        call = await self.call()
        self.notify("chat/toolCallApprove", {"chatId": self.chat, "toolCallId": call["id"]})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._say(messages=[{"jsonrpc": "2.0", "method": method, "params": params}])

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        id = self._send_request(method, params)
        answer: dict[str, Any] = await self.sees(lambda: self.answers.get(id))
        return answer.get("result") or answer["error"]

    def _send_request(self, method: str, params: dict[str, Any]) -> int:
        self._asked += 1
        self._say(messages=[{"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params}])
        return self._asked

    def _say(self, **words: Any) -> None:
        self.say(self._model, channel=self._channel, **words)

    def say(self, id: str, **content: Any) -> None:
        """As the widget of this id."""
        data = {"method": "custom", "content": content}
        self.send(self.client.session.msg("comm_msg", {"comm_id": id, "data": data}))

    def send(self, message: dict[str, Any]) -> None:
        self.client.shell_channel.send(message)
