"""A chat frontend on another origin, in a real browser: it connects and chats through CORS, with credentials."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.rest.served import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

TOKEN = "a long secret"  # noqa: S105  # of this test alone

# As frontends of the contract do it: no buffer between reads, lines that begin with `data: `.
CHAT = """async ({url, token, message}) => {
    const headers = {'Content-Type': 'application/json', Authorization: 'Bearer ' + token};
    const ask = (path, body) => fetch(url + path, {method: 'POST', credentials: 'include', headers, body});
    const connected = await (await ask('/connect/tour')).json();
    const answer = await ask('/chat/stream', JSON.stringify({message, conversation_id: 'mine'}));
    const reader = answer.body.getReader(), decoder = new TextDecoder();
    const events = [];
    for (let read; !(read = await reader.read()).done; ) {
        for (const line of decoder.decode(read.value).split('\\n')) {
            if (line.startsWith('data: ')) {
                const data = line.slice(6);
                events.push(data === '[DONE]' ? data : JSON.parse(data));
            }
        }
    }
    return {tools: connected.tools.map((tool) => tool.name), events, chat: answer.headers.get('x-chat-id')};
}"""
STATUS = """async ({url, token}) => {
    const headers = {Authorization: 'Bearer ' + token};
    try {
        return (await fetch(url + '/status', {credentials: 'include', headers})).status;
    } catch (error) {
        return error.name;
    }
}"""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def frontends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Two origins, each with a page."""
    folder = tmp_path_factory.mktemp("frontend")
    (folder / "index.html").write_text("<!DOCTYPE html><title>Chat</title>")
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [f"http://localhost:{server.server_port}" for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory, frontends: list[str]) -> Iterator[Running]:
    options, variables = ("--approve", "allow", "--cors-origin", frontends[0]), {"JUPYTER_ECA_REST_TOKEN": TOKEN}
    with running(tmp_path_factory.mktemp("rest"), *options, variables=variables) as at:
        yield at


def test_a_page_on_another_origin_chats_with_credentials(page: Page, process: Running, frontends: list[str]) -> None:
    page.goto(frontends[0])
    heard = page.evaluate(CHAT, {"url": process.url, "token": TOKEN, "message": "add"})
    assert "add" in heard["tools"]
    assert len(heard["chat"]) == 32
    start, end, *texts, done = heard["events"]
    assert (start["type"], start["args"], start["id"]) == ("tool_start", {"a": 2, "b": 3}, end["id"])
    assert "".join(text["content"] for text in texts) == "It said: 5"
    assert done == "[DONE]"


def test_a_page_of_an_origin_that_was_not_named_reads_nothing(
    page: Page, process: Running, frontends: list[str]
) -> None:
    asked = {"url": process.url, "token": TOKEN}
    page.goto(frontends[0])
    assert page.evaluate(STATUS, asked) == 200
    page.goto(frontends[1])
    assert page.evaluate(STATUS, asked) == "TypeError"


def test_the_page_of_the_document_opens_without_an_error(page: Page, process: Running) -> None:
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.goto(f"{process.url}/docs")
    assert page.get_by_role("heading", name="POST /chat/stream").is_visible()
    assert [text for text in wrong if "favicon" not in text] == []
