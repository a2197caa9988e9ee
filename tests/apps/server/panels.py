"""A page with a panel: it speaks ECA over the messages of a widget, as `labextension/src/widget/channel.ts` does."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any

from tests.apps.server.cells import PATIENCE, Widgets

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.apps.server.cells import PageKernel, Ran

CAN = {"chat": True, "envelope": True, "chatCapabilities": {"askQuestion": True}}


class Panels(Widgets):
    """All panels that cells of one kernel have shown; `records` are the texts behind them, as they are now."""

    def __init__(self, at: PageKernel) -> None:
        super().__init__(at.client)
        self.at = at
        self.subshell = ""
        self.pages: list[PanelPage] = []
        self.records: dict[str, str] = {}
        at.widgets = self

    async def show(self, code: str) -> PanelPage:
        """Runs a cell that shows a panel, and opens a page of it."""
        return await self.open(model_of(await self.at.page(code)))

    async def open(self, model: str) -> PanelPage:
        self.subshell = self.subshell or await self._new_subshell()
        page = PanelPage(self, model)
        self.pages.append(page)
        page.send(open=True)
        opened = await page.until(lambda told: "opened" in told or "closed" in told)
        page.chat = opened.get("chat", "")
        page.why = opened.get("why", "")
        return page

    async def _new_subshell(self) -> str:
        """JupyterLab sends what widgets say by a subshell: on a thread of its own."""
        self.client.control_channel.send(self.client.session.msg("create_subshell_request"))
        return (await self.client.get_control_msg(timeout=PATIENCE))["content"]["subshell_id"]

    def take(self, kind: str, content: dict[str, Any]) -> None:
        super().take(kind, content)
        if kind == "comm_msg" and content["data"].get("method") == "custom":
            for page in self.pages:
                page.take(content["comm_id"], content["data"]["content"])
        elif kind == "update_display_data":
            self.records[content["transient"]["display_id"]] = content["data"].get("text/markdown", "")

    async def hear(self) -> None:
        """The next message of the kernel's, whoever it is for."""
        message = await self.client.get_iopub_msg(timeout=PATIENCE)
        self.take(message["msg_type"], message["content"])

    async def recorded(self, words: str) -> str:
        """The record that holds the words, once it does."""
        async with asyncio.timeout(PATIENCE):
            while not (found := next((text for text in self.records.values() if words in text), "")):
                await self.hear()
        return found


def model_of(ran: Ran) -> str:
    views = [one["application/vnd.jupyter.widget-view+json"] for one in ran.displays if len(one) == 4]
    return views[-1]["model_id"]


class PanelPage:
    def __init__(self, panels: Panels, model: str) -> None:
        self.chat = self.why = ""
        self.model = model
        self.told: list[dict[str, Any]] = []
        self.channel = uuid.uuid4().hex
        self._panels = panels
        self._asked = 0

    def send(self, **words: Any) -> None:
        client = self._panels.at.client
        data = {"method": "custom", "content": {"channel": self.channel, **words}}
        message = client.session.msg("comm_msg", {"comm_id": self.model, "data": data})
        message["header"]["subshell_id"] = self._panels.subshell
        client.shell_channel.send(message)

    def take(self, model: str, content: dict[str, Any]) -> None:
        if model == self.model and content.get("channel") == self.channel:
            self.told += [{"message": one} for one in content.get("messages", [])] or [content]

    async def until(self, meant: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first of what was told that is meant."""
        async with asyncio.timeout(PATIENCE):
            while True:
                for told in self.told:
                    if meant(told):
                        return told
                await self._panels.hear()

    # -- ECA

    async def greet(self) -> None:
        params = {"clientInfo": {"name": "page"}, "capabilities": {"codeAssistant": CAN}}
        await self.request("initialize", params)
        self.notify("initialized", {})

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.send(messages=[{"jsonrpc": "2.0", "method": method, "params": params}])

    async def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        id = self._asked
        self.send(messages=[{"jsonrpc": "2.0", "id": id, "method": method, "params": params}])
        answer = (await self.until(lambda told: answers(told, id)))["message"]
        return answer.get("result") or answer.get("error") or {}

    async def hears(self, method: str, chat: str, **content: Any) -> dict[str, Any]:
        """A notification about a chat, whose content has these values."""

        def meant(told: dict[str, Any]) -> bool:
            params = params_of(told)
            within: dict[str, Any] = params.get("content") or params
            same = all(within.get(name) == value for name, value in content.items())
            return same and told.get("message", {}).get("method") == method and params.get("chatId") == chat

        return params_of(await self.until(meant))

    async def says(self, chat: str, words: str) -> None:
        await self.until(lambda _told: words in self.text(chat))

    def text(self, chat: str) -> str:
        said = [one for one in map(params_of, self.told) if one.get("chatId") == chat]
        return "".join(one["content"].get("text", "") for one in said if one.get("role") == "assistant")


def params_of(told: dict[str, Any]) -> dict[str, Any]:
    return told.get("message", {}).get("params") or {}


def answers(told: dict[str, Any], id: int) -> bool:
    message: dict[str, Any] = told.get("message", {})
    return message.get("id") == id and "method" not in message
