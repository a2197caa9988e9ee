"""Who comes in where no Jupyter stands before the chat front."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx2
import pytest
from starlette.responses import PlainTextResponse

from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.http.gate import Gate
from jupyter_eca.fronts.http.server import listen, serve
from tests.fronts.rest.served import START, environment, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a long secret"  # noqa: S105  # of this test alone


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    variables = {"JUPYTER_ECA_REST_TOKEN": TOKEN}
    with (
        running(tmp_path_factory.mktemp("rest"), "--cors-origin", "http://a.example", variables=variables) as at,
        httpx2.Client(base_url=at.url, trust_env=False) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
        ({"Authorization": f"token {TOKEN}"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "localhost:1"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://a.example"}, 200),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "rebound.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "127.0.0.1.example"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Host": "["}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "http://localhost:3000"}, 403),
        ({"Authorization": f"Bearer {TOKEN}", "Origin": "null"}, 403),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({}, 401),
    ],
)
def test_host_origin_and_token_are_checked(door: httpx2.Client, headers: dict[str, str], status: int) -> None:
    answer = door.get("/status", headers=headers)
    assert answer.status_code == status
    assert (status == 200) != ("detail" in answer.json())


def test_only_what_holds_no_data_is_told_to_anybody(door: httpx2.Client) -> None:
    assert door.get("/health").json()["status"] == "ok"
    assert door.get("/docs").headers["content-type"].startswith("text/html")
    assert door.get("/servers").status_code == door.post("/disconnect").status_code == 401


def test_a_page_that_has_no_token_may_read_that_it_needs_one(door: httpx2.Client) -> None:
    answer = door.get("/status", headers={"Origin": "http://a.example"})
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (401, "http://a.example")


def test_another_user_of_this_machine_needs_the_token_that_is_told_at_the_start(tmp_path: Path) -> None:
    with running(tmp_path) as at, httpx2.Client(base_url=at.url, trust_env=False) as client:
        assert len(at.token) >= 32
        for method, path in (("GET", "/servers"), ("POST", "/chat"), ("POST", "/connect/tour"), ("GET", "/chats")):
            assert client.request(method, path, json={"message": "hi"}).status_code == 401, path
        answer = client.post("/chat", json={"message": "you"}, headers=at.headers)
        assert answer.status_code == 200
        assert answer.json()["response"] == "Hello, you"


@pytest.mark.cold_start
def test_a_token_of_the_environment_is_taken_and_not_told(tmp_path: Path) -> None:
    with running(tmp_path, variables={"JUPYTER_ECA_REST_TOKEN": TOKEN}) as at:
        assert at.token == "the one that you set"  # noqa: S105  # what is said in its place
        assert at.errors.read_text() == ""


def test_a_token_in_the_command_is_warned_of(tmp_path: Path) -> None:
    """Every user of the machine can list the commands that run."""
    with running(tmp_path, "--token", TOKEN) as at, httpx2.Client(base_url=at.url, trust_env=False) as client:
        assert client.get("/status", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        warning = at.errors.read_text()
        assert "JUPYTER_ECA_REST_TOKEN" in warning
        assert TOKEN not in warning + at.token


def test_no_token_is_needed_where_its_user_says_so(tmp_path: Path) -> None:
    with running(tmp_path, "--no-token") as at, httpx2.Client(base_url=at.url, trust_env=False) as client:
        assert at.token == ""
        assert client.get("/status").status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "my.example"])  # noqa: S104  # it is refused
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="Give a token"):
        Gate(host)
    assert not Gate(host, token=TOKEN).is_local


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1.2.3", "::1"])
def test_an_address_of_this_machine_alone_is_local(host: str) -> None:
    assert Gate(host).is_local


@pytest.mark.parametrize(
    "origin", ["*", "http://*.example", "localhost:3000", "http://a.example/path", "null", "http://"]
)
def test_an_origin_is_named_whole(origin: str) -> None:
    with pytest.raises(ConfigError, match="not an origin"):
        Gate(origins=(origin,))


def test_what_is_wrong_is_one_line_and_status_1(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        remote = ("--host", "0.0.0.0")  # noqa: S104  # it is refused
        for arguments, told in (
            (remote, "Give a token"),
            ((*remote, "--no-token"), "Give a token"),
            (("--port", port), "cannot be used"),
        ):
            command = [sys.executable, "-m", "jupyter_eca", "rest", *arguments]
            done = subprocess.run(
                command,
                cwd=tmp_path,
                env=environment(tmp_path),
                capture_output=True,
                text=True,
                check=False,
                timeout=START,
            )
            assert (done.returncode, done.stdout) == (1, "")
            assert told in done.stderr
            assert done.stderr.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
def test_a_signal_that_comes_as_soon_as_the_address_is_known_ends_the_server() -> None:
    async def serve_until_the_signal() -> socket.socket:
        listening = await listen(Gate(), 0)
        async with asyncio.timeout(START):
            await serve(PlainTextResponse("served"), Gate(), listening, lambda _: os.kill(os.getpid(), signal.SIGTERM))
        return listening

    assert asyncio.run(serve_until_the_signal()).fileno() == -1
