"""Owns the parsers of the messages that a widget exchanges with its pages and with the engine. Code in the kernel and
code in a page can send any message on the comm of a widget, and a saved notebook can bring any state of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.panel.bridge import PanelBridge
from jupyter_eca.apps.kernel.panel.record import Record
from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import Notification, Request, from_json, parse_json
from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult, RunStatus
from jupyter_eca.protocol.tool import ToolCallResult
from jupyter_eca.transport.comm import CommLink
from jupyter_eca.transport.memory import make_link_pair
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from jupyter_eca.protocol.jsonrpc import Message
    from jupyter_eca.protocol.tool import LentTool

CHANNEL: Final = "page"
# After what is damaged, a request is sent that must be answered.
LAST: Final[dict[str, Any]] = {"jsonrpc": "2.0", "id": "last", "method": "chat/list", "params": {}}


def as_json(data: bytes) -> Any:
    """Return the value that the bytes are, or the bytes as a text: a comm carries nothing but JSON."""
    try:
        return parse_json(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "replace")


class _Kernel:
    async def execute(self, code: str) -> KernelExecuteResult:
        return KernelExecuteResult(status=RunStatus.OK, text=code)

    async def variables(self, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return KernelVariablesResult(variables=())


class _Lender:
    version = 0

    def list_tools(self) -> tuple[LentTool, ...]:
        return ()

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolCallResult:  # noqa: ARG002
        return ToolCallResult(text=name)


class _Panel:
    """The bridge between a page and the engine, and the record of what passes."""

    def __init__(self) -> None:
        self.is_answered = asyncio.Event()
        self.page = CommLink(self._write, lambda: None)
        self.engine, engine = make_link_pair()
        self.record = Record()
        self.running = asyncio.ensure_future(PanelBridge(self.page, engine, _Kernel(), _Lender(), self.record).run())

    def _write(self, data: dict[str, Any]) -> None:
        if any(message.get("method") == "last" for message in data["messages"]):
            self.is_answered.set()

    async def end(self) -> None:
        """End the panel as a page does that is closed. Raises: whatever has broken the bridge."""
        self.page.end()
        await asyncio.wait_for(self.running, PATIENCE)
        self.record.as_markdown(folded=False)
        self.record.as_text()

    async def wait_for(self, done: Coroutine[Any, Any, Any]) -> None:
        """Wait for something that must happen, unless the bridge breaks before."""
        waiting = asyncio.ensure_future(done)
        await asyncio.wait((waiting, self.running), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if self.running.done():
            await self.running
        assert waiting.done(), "the panel hangs"


async def read_page_messages(data: bytes) -> None:
    """A page sends something to the engine."""
    value, panel = as_json(data), _Panel()
    panel.page.receive(value)
    panel.page.receive({"messages": [value, LAST]})

    async def receive_last() -> None:
        async for message in panel.engine:
            if isinstance(message, Request) and message.id == "last":
                return

    await panel.wait_for(receive_last())
    await panel.end()


async def read_engine_messages(data: bytes) -> None:
    """The engine sends something to a page, which the record keeps for readers of the saved notebook."""
    panel = _Panel()
    prompt = {"jsonrpc": "2.0", "id": 1, "method": "chat/prompt", "params": {"chatId": "c", "message": "Hi"}}
    panel.page.receive({"messages": [prompt]})
    message: Message | None = None
    try:
        message = from_json(as_json(data))
    except FrameError:
        pass
    else:
        await panel.engine.send(message)
    await panel.engine.send(Notification("last", {}))
    await panel.wait_for(panel.is_answered.wait())
    await panel.end()


def call(method: str, params: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params, **more}


def content(role: str, content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return call("chat/contentReceived", {"chatId": "c", "role": role, "content": content, "seq": 1, **more})


CALL: Final[dict[str, Any]] = {"id": "1", "name": "write_file", "server": "ECA", "origin": "native"}
ANSWER: Final[dict[str, Any]] = {"jsonrpc": "2.0", "id": "eca-1", "result": {"answer": "Red", "cancelled": False}}
CARD_SAMPLES: Final = (
    {"channel": CHANNEL, "open": True},
    {"channel": "other", "open": True},
    {"channel": CHANNEL, "messages": [ANSWER]},
    {"channel": CHANNEL, "messages": [call("chat/toolCallApprove", {"chatId": "c", "toolCallId": "1"})]},
    {"record": "hidden"},
    [ANSWER, call("initialize", {"capabilities": {}}, id=1), call("$/cancelRequest", {"id": 1})],
    ANSWER,
)
PAGE_SAMPLES: Final[tuple[dict[str, Any], ...]] = (
    call("initialize", {"capabilities": {"codeAssistant": {"chat": True}}}, id=1),
    call("chat/prompt", {"chatId": "c", "message": "Hi"}, id=2),
    call("chat/open", {"chatId": "c"}, id=3),
    call("$/cancelRequest", {"id": 2}),
    {"jsonrpc": "2.0", "id": "eca-kernel-1", "result": {}},
    {"jsonrpc": "2.0", "id": 7, "error": {"code": -32601, "message": "no"}},
)
ENGINE_SAMPLES: Final = (
    content("user", {"type": "text", "text": "Hi"}),
    content("assistant", {"type": "text", "text": "# Hello\n\n<b>x</b> [a](b) $x$"}),
    content("assistant", {"type": "reasonText", "id": "r", "text": "Hm."}),
    content("assistant", {"type": "toolCallRun", **CALL, "arguments": {"path": "a"}, "manualApproval": True}),
    content(
        "assistant",
        {"type": "toolCalled", **CALL, "arguments": {}, "error": False, "outputs": [{"type": "text", "text": "ok"}]},
    ),
    content("system", {"type": "progress", "state": "finished"}, outcome="completed"),
    content("assistant", {"type": "text", "text": "x"}, parentChatId="p"),
    call("chat/cleared", {"chatId": "c", "messages": True}),
    call("kernel/execute", {"code": "1"}, id=4),
    call("kernel/variables", {"names": ["x"]}, id=5),
    call("tool/call", {"name": "f", "arguments": {"a": 1}}, id=6),
    call("$/cancelRequest", {"id": 4}),
    {"jsonrpc": "2.0", "id": 1, "result": {"chatId": "c"}},
)
