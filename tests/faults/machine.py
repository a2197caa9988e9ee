"""A user's machine with one workspace, one store and real processes of ours, to which faults happen.

`Machine` knows what a client was shown, and checks after a fault that nothing of it is lost, that no tool ran twice,
that no chat is stuck, and that no process and no file is left behind.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import sys
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from jupyter_eca.engine.model.texts import CRASHED_TURN
from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol.jsonrpc import ErrorResponse, FrameReader, Notification, Request, Result, encode_frame
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.editor_process import environment
from tests.support.partition import Partition
from tests.support.processes import find_processes, have_ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.protocol.jsonrpc import Message

# A fresh process imports pydantic, on a busy machine.
PATIENCE = 120.0

HERE = Path(__file__).parent
TERMINAL = ("toolCalled", "toolCallRejected")

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It is done, and this is said in some pieces.", "chunk": 6, "delay": 0.002}]},
    {"message": r"talk (?P<id>[\w-]+)", "reply": [
        {"reasoning": "I think about $id.", "chunk": 6, "delay": 0.002},
        {"text": "This is a long answer. " * 12, "chunk": 5, "delay": 0.002}]},
    {"message": r"mark (?P<id>[\w-]+)", "reply": [
        {"text": "I mark it. ", "chunk": 4, "delay": 0.002},
        {"tool": "shell_command", "arguments": {"command": "echo $id >> marks; seq 60000"}}]},
    {"message": r"serve (?P<id>[\w-]+)", "reply": [
        {"text": "The server marks it. "}, {"tool": "marker__mark", "arguments": {"id": "$id"}}]},
    {"message": r"both (?P<id>[\w-]+)", "reply": [
        {"tool": "shell_command", "arguments": {"command": "echo $id-a >> marks"}},
        {"tool": "marker__mark", "arguments": {"id": "$id-b"}}]},
    {"message": r"asks (?P<id>[\w-]+)", "reply": [
        {"tool": "write_file", "arguments": {"path": "$id.txt", "content": "$id"}}]},
    {"message": r"hang (?P<id>[\w-]+)", "reply": [
        {"tool": "shell_command", "arguments": {"command": "echo $id >> marks; sleep 1000 & sleep 1000"}}]},
    {"message": "", "reply": [{"text": "Hello again."}]},
]  # fmt: skip


# How each answer ends that was not interrupted.
ENDS = ("some pieces.", "long answer. ", "Hello again.")


class Died(Exception):
    """The server has ended, and with it its stdout."""


class Refused(Exception):
    """No turn begins. The message says why."""


class Client:
    """An editor at one server process. It keeps all that it was shown."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.count = 0
        self.contents: list[tuple[str, str, dict[str, Any]]] = []
        """The chat, the role and the content of all that was shown."""
        self.messages: list[str] = []
        """The messages for the user that something is wrong."""
        self.on_message: Callable[[Message], None] = lambda _: None
        self._reader = FrameReader()
        self._inbox: list[Message] = []
        self._ids = 0

    async def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        with suppress(ConnectionError):
            self.process.stdin.write(encode_frame(message))
            await self.process.stdin.drain()

    async def _read(self) -> list[Message]:
        """Wait for bytes, and return the messages that they complete. Raises: Died."""
        assert self.process.stdout is not None
        data = await self.process.stdout.read(65536)
        if not data:
            raise Died
        messages: list[Message] = []
        for item in self._reader.feed(data):
            assert not isinstance(item, Exception), f"not a frame on stdout: {item}"
            messages.append(item)
        return messages

    async def receive(self) -> Message:
        while not self._inbox:
            self._inbox += await self._read()
        message = self._inbox.pop(0)
        self.count += 1
        if isinstance(message, Notification) and message.method == "chat/contentReceived":
            params = message.params
            self.contents.append((params["chatId"], params["role"], params["content"]))
        elif isinstance(message, Notification) and message.method == "chat/cleared":
            # What follows is shown in place of what was there.
            self.contents = [content for content in self.contents if content[0] != message.params["chatId"]]
        elif isinstance(message, Notification) and message.method == "$/showMessage" and is_trouble(message.params):
            self.messages.append(message.params["message"])
        self.on_message(message)
        return message

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        async with asyncio.timeout(PATIENCE):
            while not wanted(message := await self.receive()):
                pass
        return message

    async def request(self, method: str, params: Any) -> Message:
        self._ids += 1
        id = f"{self._ids} {method}"
        await self.send(Request(id, method, params))
        return await self.until(lambda m: not isinstance(m, Notification | Request) and m.id == id)

    async def result(self, method: str, params: Any) -> Any:
        reply = await self.request(method, params)
        assert isinstance(reply, Result), reply
        return reply.result

    async def ask(self, chat: str, message: str, *, stops: bool = False) -> None:
        """Ask, approve what is asked about, and wait for the end of the turn. With `stops`, stop it when a tool runs.
        Raises: Refused when no turn begins."""
        self._ids += 1
        id = f"{self._ids} ask"
        await self.send(Request(id, "chat/prompt", {"chatId": chat, "message": message}))

        async with asyncio.timeout(PATIENCE):
            while not is_end(item := await self.receive(), chat):
                if isinstance(item, ErrorResponse) and item.id == id:
                    raise Refused(item.message)
                if (content := get_content(item, chat)).get("type") == "toolCallRun" and content["manualApproval"]:
                    await self.send(Notification("chat/toolCallApprove", {"chatId": chat, "toolCallId": content["id"]}))
                if stops and content.get("type") == "toolCallRunning":
                    await self.send(Notification("chat/promptStop", {"chatId": chat}))

    def texts(self, chat: str, role: str) -> str:
        return "".join(
            c.get("text", "") for at, who, c in self.contents if (at, who) == (chat, role) and c["type"] == "text"
        )

    def count_crashes(self, chat: str) -> int:
        """How often a sentence says that the server ended during an answer."""
        return self.texts(chat, "system").count(CRASHED_TURN)

    def ended_calls(self, chat: str) -> dict[str, list[dict[str, Any]]]:
        ended: dict[str, list[dict[str, Any]]] = {}
        for at, _, content in self.contents:
            if at == chat and content["type"] in TERMINAL:
                ended.setdefault(content["id"], []).append(content)
        return ended

    async def end(self) -> None:
        """End the process as an editor does."""
        with suppress(Died):
            await self.result("shutdown", None)
            await self.send(Notification("exit", None))
        await asyncio.wait_for(self.process.communicate(), PATIENCE)


def is_trouble(params: dict[str, Any]) -> bool:
    """Whether a message for the user says that something is wrong."""
    return params["type"] != "info"


def runs(params: dict[str, Any]) -> bool:
    """Whether the MCP server is told to run."""
    return (params.get("name"), params.get("status")) == ("marker", "running")


def get_content(message: Message, chat: str) -> dict[str, Any]:
    """The content that a message shows in a chat; empty for any other message."""
    if isinstance(message, Notification) and message.method == "chat/contentReceived":
        params: dict[str, Any] = message.params
        return params["content"] if params["chatId"] == chat else {}
    return {}


def is_content(message: Message, chat: str, kind: str) -> bool:
    return get_content(message, chat).get("type") == kind


def is_end(message: Message, chat: str) -> bool:
    """Whether a message says that the turn of a chat has ended."""
    content = get_content(message, chat)
    return (content.get("type"), content.get("state")) == ("progress", "finished")


class Machine:
    def __init__(
        self,
        folder: Path,
        *,
        server: bool,
        stays: bool = False,
        by_network: bool = False,
        rules: list[dict[str, Any]] = RULES,
    ) -> None:
        """With `server` it has an MCP server, which with `stays` ignores the end of its stdin. With `by_network` the
        model is that of a server on this machine, which is asked by the SDK of its vendor; otherwise it is the scripted
        one of the product."""
        self.folder = folder
        self.workspace, self.temporary = folder / "ws", folder / "tmp"
        self.store = self.workspace / "data" / "eca"
        self.database = self.store / "chats.db"
        self.marks = self.workspace / "marks"
        (self.workspace / ".eca").mkdir(parents=True)
        self.temporary.mkdir()
        script = folder / "script.json"
        script.write_text(json.dumps({"rules": rules}))
        self.vendor: LoopbackAnthropic | None = None
        self.partition: Partition | None = None
        """What is between the server and the vendor of the model."""
        model: dict[str, Any] = {
            "providers": {"scripted": {"models": {"test": {"script": str(script)}}}},
            "defaultModel": "scripted/test",
        }
        if by_network:
            self.vendor = LoopbackAnthropic(Script.model_validate({"rules": rules}))
            self.vendor.__enter__()
            self.partition = Partition(self.vendor.url)
            model = {"defaultModel": "anthropic/claude-sonnet-5-5"}
        self.has_server = server
        command = ["-S", "-E", str(HERE / "marking_server.py"), str(self.marks), *(["stays"] if stays else [])]
        allow: dict[str, Any] = {"shell_command": {}, "marker": {}}
        self.settings: dict[str, Any] = {
            **model,
            "notebook": {"place": False},
            "toolCall": {"approval": {"allow": allow}, "outputTruncation": {"sizeKb": 2}},
            "mcpServers": {"marker": {"command": sys.executable, "args": command}} if server else {},
        }
        """The settings of the project."""
        self.clients: list[Client] = []

    async def start(self, more: dict[str, str] | None = None) -> Client:
        """Start a server process. Its client has not said anything yet. `more` is added to its environment."""
        if self.partition is not None and not self.partition.url:
            await self.partition.start()
            vendor = {"url": self.partition.url, "key": "sk-not-a-key-of-anybody-1", "streamIdleTimeoutSeconds": 1}
            self.settings["providers"] = {"anthropic": vendor}
        self.write_settings()
        with (self.folder / "stderr").open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "jupyter_eca", "server",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=errors,
                cwd=self.workspace, env=self.find_places() | (more or {}), limit=2**20,
            )  # fmt: skip
        self.clients.append(Client(process))
        return self.clients[-1]

    def write_settings(self) -> None:
        (self.workspace / ".eca" / "config.json").write_text(json.dumps(self.settings))

    async def run(self, *arguments: str) -> asyncio.subprocess.Process:
        """Start another command of ours, whose stdout and stderr are read together."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "jupyter_eca", *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            cwd=self.workspace, env=self.find_places(),
        )  # fmt: skip

    def find_places(self) -> dict[str, str]:
        """The environment of all processes."""
        places = environment(self.workspace) | {"TMPDIR": str(self.temporary)}
        # A process that may write no bytecode compiles all modules again at each start.
        places.pop("PYTHONDONTWRITEBYTECODE", None)
        return places

    async def connect(self, more: dict[str, str] | None = None) -> Client:
        """Start a server process, and wait until it has its tools. See `start`."""
        client = await self.start(more)
        await self.initialize(client)
        return client

    async def initialize(self, client: Client) -> None:
        folders = [{"uri": self.workspace.as_uri(), "name": "ws"}]
        await client.result("initialize", {"processId": os.getpid(), "workspaceFolders": folders})
        await client.send(Notification("initialized", {}))
        if self.has_server:
            await client.until(lambda m: isinstance(m, Notification) and runs(m.params))

    def find_processes(self) -> set[int]:
        """All processes of this machine: they have its data folder in their environment."""
        return find_processes(self.workspace / "data")

    def find_children(self, client: Client) -> list[int]:
        with suppress(psutil.Error):
            return [child.pid for child in psutil.Process(client.process.pid).children(recursive=True)]
        return []

    def find_server(self, client: Client) -> int:
        """The process of the MCP server."""
        for pid in self.find_children(client):
            with suppress(psutil.Error):
                if any("marking_server" in word for word in psutil.Process(pid).cmdline()):
                    return pid
        return 0

    def list_temporary(self) -> set[str]:
        return {path.name for path in self.temporary.iterdir()}

    # -- what must hold after a fault

    async def check_kept(self, before: Client, after: Client, chat: str) -> None:
        """All that was shown in a chat is shown again, it ended, and it goes on. `after` may be the same client."""
        shown = {role: before.texts(chat, role) for role in ("user", "assistant")}
        ended = before.ended_calls(chat)
        after.contents = [content for content in after.contents if content[0] != chat]
        if not any(shown.values()):
            return
        assert (await after.result("chat/open", {"chatId": chat}))["found"], "the chat is gone"
        for role, text in shown.items():
            again = after.texts(chat, role)
            assert again.startswith(text), f"lost of the {role}: shown {text[-200:]!r}, kept {again[-200:]!r}"
        replayed = after.ended_calls(chat)
        for id, (content, *_) in ended.items():
            assert [c["type"] for c in replayed.get(id, [])] == [content["type"]], f"the end of the call {id} is lost"
            assert replayed[id][0].get("outputs") == content.get("outputs")
        calls = {c["id"] for at, _, c in after.contents if at == chat and c["type"].startswith("toolCall")}
        assert calls == replayed.keys(), "a call has no end"
        assert all(len(ends) == 1 for ends in replayed.values()), "a call has two ends"
        states = [c["state"] for at, _, c in after.contents if at == chat and c["type"] == "progress"]
        assert states[-1:] == ["finished"], "the chat is stuck"
        assert after.count_crashes(chat) <= 1, "two sentences say that the server ended"
        said = after.texts(chat, "assistant")
        assert after.count_crashes(chat) or not said or said.endswith(ENDS), f"cut without a word: {said[-100:]!r}"
        await after.ask(chat, "hi")
        assert after.texts(chat, "assistant") == said + "Hello again."

    def check_marks(self, client: Client, chat: str) -> None:
        """No tool ran twice, and each that says so has run."""
        marks = Counter(self.marks.read_text().split() if self.marks.exists() else [])
        assert [mark for mark, count in marks.items() if count > 1] == [], "a tool ran twice"
        for end, *_ in client.ended_calls(chat).values():
            if end["type"] == "toolCalled" and not end["error"] and end["name"] == "mark":
                assert marks[end["arguments"]["id"]] == 1

    def check_database(self) -> None:
        with closing(sqlite3.connect(self.database)) as db:
            assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)

    def check_nothing_left(self) -> None:
        """When all processes have ended: no process, and no file that only a running one needs."""
        processes = self.find_processes()
        assert have_ended(*processes), f"left running: {sorted(processes)}"
        assert self.list_temporary() == set(), "temporary files are left"
        left = [
            str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file() and is_left(path)
        ]
        assert left == [], "files are left"

    def check_requests(self) -> None:
        """Each request to the model was valid: the results of its calls follow the calls, each once."""
        for asked in self.vendor.requests if self.vendor else ():
            waiting: list[str] = []
            messages: list[dict[str, Any]] = asked.body.get("messages", [])
            for message in messages:
                content: Any = message["content"]
                blocks: list[dict[str, Any]] = content if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType]  # JSON
                results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
                assert sorted(results) == sorted(waiting), "a call has no result in a request, or two"
                waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
            assert not waiting

    async def close(self) -> None:
        """End whatever still runs."""
        for client in self.clients:
            if client.process.returncode is None:
                with suppress(ProcessLookupError):
                    client.process.kill()
            await client.process.wait()
        for pid in self.find_processes():
            with suppress(psutil.Error):
                psutil.Process(pid).kill()
        if self.partition is not None and self.partition.url:
            await self.partition.close()
        if self.vendor is not None:
            self.vendor.stop()


def is_left(path: Path) -> bool:
    """Whether a file is one that our programs make for a moment, or while they run."""
    return path.name.startswith(".eca-") or path.suffix in {".new", ".process"}
