"""The Agent Host Protocol over a real WebSocket of a real Jupyter server, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from jupyter_eca.protocol.ahp import ROOT
from jupyter_eca.protocol.jsonrpc import encode
from jupyter_eca.transport.websocket import WebSocketLink
from tests.apps.server.cells import PATIENCE, kernel
from tests.apps.server.test_kill import server
from tests.fronts.ahp.place import RULES, Client, calls_of, text_of
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from tornado.websocket import WebSocketClientConnection

    from jupyter_eca.protocol.jsonrpc import Message

    Fetch = Callable[..., Awaitable[Any]]

S = "eca:/story"
T = "term:/1"


class Socket(WebSocketLink):
    """The client's end."""

    def __init__(self, socket: WebSocketClientConnection) -> None:
        super().__init__(self._write, lambda _: socket.close())
        self._socket = socket
        self.reading = asyncio.ensure_future(self._read())

    async def _write(self, text: str) -> None:
        await self._socket.write_message(text)

    async def _read(self) -> None:
        while (text := await self._socket.read_message()) is not None:
            self.receive(text)
        self.end()

    async def send(self, message: Message) -> None:
        await self._write(encode(message))


class Served:
    """A server over a folder, and clients of it."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._note = folder / "runtime" / f"jpserver-{process.pid}.json"
        self._clients: list[Client] = []
        self._tasks: list[asyncio.Future[Any]] = []

    async def open(self, id: str) -> Client:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    port = json.loads(self._note.read_text())["port"]
                    request = HTTPRequest(f"http://127.0.0.1:{port}/eca/ahp", headers={"Authorization": "token secret"})
                    request.url = request.url.replace("http:", "ws:")
                    socket = await websocket_connect(request)
                    break
                except (OSError, ValueError, HTTPClientError):
                    await asyncio.sleep(0.05)
        link: Any = Socket(socket)
        client = Client(id, link, PATIENCE)
        self._clients.append(client)
        self._tasks += [asyncio.ensure_future(client.run()), link.reading]
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        await asyncio.gather(*self._tasks)


@asynccontextmanager
async def served(folder: Path, root: Path, **variables: str) -> AsyncGenerator[Served]:
    with server(folder, root, **variables) as process:
        at = Served(folder, process)
        try:
            yield at
        finally:
            # A socket that a failed test left open would fail the one after it.
            await at.close()


async def again(at: Served, before: Client) -> tuple[Client, str]:
    client = await at.open(before.id)
    client.states, client.seen, client.number = before.states, before.seen, before.number
    about = {"clientId": before.id, "lastSeenServerSeq": before.seen, "subscriptions": [S, ROOT]}
    answer = await client.request("reconnect", **about)
    client.replay(answer)
    return client, answer["type"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / ".eca").mkdir(parents=True)
    approval: dict[str, Any] = {"approval": {"allow": {"ask_user": {}}}}
    (folder / ".eca" / "config.json").write_text(json.dumps(settings(tmp_path, RULES, toolCall=approval)))
    return folder


async def decide(client: Client, turn: str, **fields: Any) -> None:
    call = await client.call(S, "pending-confirmation")
    about = {"turnId": turn, "toolCallId": call["toolCallId"]}
    await client.act("session/toolCallConfirmed", S, **about, **fields)


async def test_the_whole_story(workspace: Path, tmp_path: Path) -> None:
    async with served(tmp_path, workspace) as at:
        client = await at.open("one")
        await client.initialize(ROOT)
        await client.create(S)
        await client.ask(S, "t1", "write")
        await decide(client, "t1", approved=True, confirmed="user-action")
        turn = (await client.settled(S, 1))["turns"][0]
        assert calls_of(turn)[0]["success"]
        assert (workspace / "new.txt").read_text() == "one\ntwo\n"
        (workspace / "new.txt").unlink()
        await client.ask(S, "t2", "write")
        await decide(client, "t2", approved=False, reason="denied")
        assert calls_of((await client.settled(S, 2))["turns"][1])[0]["reason"] == "denied"
        assert not (workspace / "new.txt").exists()
        await client.ask(S, "t3", "ask")
        (request,) = await client.until(lambda: client.states[S].get("inputRequests"))
        answers = {"answer": {"state": "submitted", "value": {"kind": "selected", "value": "1"}}}
        await client.act("session/inputCompleted", S, requestId=request["id"], response="accept", answers=answers)
        assert "answered: Red" in text_of((await client.settled(S, 3))["turns"][2])
        await client.ask(S, "t4", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        message = {"kind": "queued", "id": "q", "userMessage": {"text": "queued"}}
        await client.act("session/pendingMessageSet", S, **message)
        await client.act("session/turnCancelled", S, turnId="t4")
        await client.settled(S, 4)
        await client.ask(S, "t5", "you")
        state = await client.settled(S, 6)
        assert [text_of(one) for one in state["turns"][4:]] == ["Hello, you", "Hello, queued"]
        fork = await client.create("eca:/fork", fork={"session": S, "turnId": "t1"})
        assert [one["id"] for one in fork["turns"]] == ["t1"]
        await client.ask(S, "t7", "slow")
        await client.until(lambda: text_of(client.states[S].get("activeTurn") or {"responseParts": []}))
        await client.close()
        client, how = await again(at, client)
        assert how == "replay"
        before = text_of(client.states[S]["activeTurn"])
        await client.until(lambda: len(text_of(client.states[S]["activeTurn"])) > len(before))
        shown = text_of(client.states[S]["activeTurn"])
        at.process.kill()
        at.process.wait()
    async with served(tmp_path, workspace) as at:
        seen = client.seen
        client, how = await again(at, client)
        assert how == "snapshot"
        last = client.states[S]["turns"][6]
        assert (last["id"], last["state"]) == ("t7", "error")
        assert text_of(last).startswith(shown[: len(shown) // 2])
        await client.ask(S, "t8", "you")
        assert text_of((await client.settled(S, 8))["turns"][7]) == "Hello, you"
        assert client.envelopes[0]["serverSeq"] > seen


@asynccontextmanager
async def terminal(folder: Path, root: Path, shell: str) -> AsyncGenerator[Client]:
    """A client with the terminal `T`; which shell that runs, Jupyter's server has from its environment."""
    async with served(folder, root, SHELL=found(shell)) as at:
        client = await at.open("one")
        await client.initialize(ROOT)
        claim = {"kind": "client", "clientId": "one"}
        await client.request("createTerminal", terminal=T, claim=claim, cols=90, rows=20)
        await client.subscribe(T)
        yield client
        await client.request("disposeTerminal", terminal=T)


def found(program: str) -> str:
    path = shutil.which(program)
    assert path, f"{program} is not on the PATH"
    return path


def shown(client: Client) -> str:
    return "".join(part.get("value", part.get("output")) for part in client.states[T]["content"])


@pytest.mark.parametrize("shell", ["bash", "sh"])
async def test_a_terminal_of_jupyters_own_runs_a_command(workspace: Path, tmp_path: Path, shell: str) -> None:
    async with terminal(tmp_path, workspace, shell) as client:
        await client.act("terminal/input", T, data="stty size; echo $((40 + 2)); pwd; exit 3\r")
        await client.until(lambda: "exitCode" in client.states[T])
        assert client.states[T]["exitCode"] == 3
        assert "20 90\r\n42" in shown(client)
        assert str(workspace) in shown(client)


async def test_bash_tells_of_its_commands(workspace: Path, tmp_path: Path) -> None:
    async with terminal(tmp_path, workspace, "bash") as client:

        def ran() -> list[tuple[str, str, int]]:
            parts = client.states[T]["content"]
            done = (one for one in parts if one["type"] == "command" and one["isComplete"])
            return [(one["commandLine"], one["output"].strip(), one["exitCode"]) for one in done]

        (workspace / "a;b").mkdir()
        for line in ("echo one; echo 'a\\b'", "cd 'a;b'", "false"):
            before = len(ran())
            await client.act("terminal/input", T, data=f"{line}\r")
            await client.until(lambda before=before: len(ran()) > before)
        assert ran() == [("echo one; echo 'a\\b'", "one\r\na\\b", 0), ("cd 'a;b'", "", 0), ("false", "", 1)]
        assert client.states[T]["cwd"] == (workspace / "a;b").as_uri()
        assert client.states[T]["supportsCommandDetection"]
        assert "633" not in shown(client)


@pytest.mark.parametrize("authorization", ["", "token wrong"])
async def test_without_the_token_nobody_comes_in(jp_ws_fetch: Fetch, authorization: str) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("eca", "ahp", headers={"Authorization": authorization})
    assert refused.value.code == 403


async def test_the_token_may_be_in_the_address_and_a_program_needs_no_origin(
    jp_serverapp: Any, jp_ws_fetch: Fetch
) -> None:
    token = jp_serverapp.identity_provider.token
    socket = await jp_ws_fetch("eca", "ahp", headers={"Authorization": ""}, params={"token": token})
    hello = {"protocolVersions": ["0.1.0"], "clientId": "one"}
    await socket.write_message(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
    async with asyncio.timeout(PATIENCE):
        answer = json.loads(str(await socket.read_message()))
    assert answer["result"]["protocolVersion"] == "0.1.0"
    socket.close()


async def test_a_page_of_another_origin_with_the_users_cookie_does_not_come_in(
    jp_fetch: Fetch, jp_ws_fetch: Fetch
) -> None:
    page = await jp_fetch("api", "status")
    cookies = "; ".join(value.split(";")[0] for value in page.headers.get_list("Set-Cookie"))
    headers = {"Origin": "https://evil.example", "Cookie": cookies, "Authorization": ""}
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("eca", "ahp", headers=headers)
    assert refused.value.code == 403


@pytest.mark.parametrize("approve_with_token", [True])
async def test_the_question_of_a_cell_is_watched_and_approved_by_a_client(
    jp_serverapp: Any, jp_ws_fetch: Fetch
) -> None:
    link: Any = Socket(await jp_ws_fetch("eca", "ahp"))
    client = Client("one", link, PATIENCE)
    running = asyncio.ensure_future(client.run())
    await client.initialize(ROOT)
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        asking = asyncio.ensure_future(at.page("%eca make a variable"))
        uri = (await client.told("notify/sessionAdded"))["summary"]["resource"]
        await client.subscribe(uri)
        call = await client.call(uri, "pending-confirmation")
        about = {"turnId": client.states[uri]["activeTurn"]["id"], "toolCallId": call["toolCallId"]}
        await client.act("session/toolCallConfirmed", uri, **about, approved=True, confirmed="user-action")
        assert (await asking).status == "ok"
        assert (await at.run("print(answer)")).stdout == "42\n"
        await client.settled(uri, 1)
        await client.ask(uri, "mine", "you")
        assert text_of((await client.settled(uri, 2))["turns"][1]) == "Hello, you"
    await client.close()
    await asyncio.wait((running, link.reading))
