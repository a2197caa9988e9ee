"""The connection of a page with its server: a test stands between them and asks the page what the server asks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_eca.protocol import notebook
from jupyter_eca.protocol.base import Empty

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page, WebSocketRoute

    from jupyter_eca.protocol.base import Model

T = TypeVar("T", bound="Model")

# A kernel starts within it on a busy machine. Each wait ends as soon as the answer is there.
SECONDS = 60


class Refused(Exception):
    """The page answered with an error."""


@dataclass
class Wire:
    """To be made before the panel is opened. What the page and the server say to each other goes on.

    `path` is the notebook that is asked about."""

    page: Page
    path: str
    route: WebSocketRoute | None = None
    greeting: dict[str, Any] = field(default_factory=dict[str, Any])
    answers: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    asked: int = 0

    def __post_init__(self) -> None:
        self.page.route_web_socket("**/eca/ws*", self._through)

    def read(self) -> notebook.NotebookDocument:
        return self.ask("notebook/read", notebook.NotebookReadParams(path=self.path), notebook.NotebookDocument)

    def list(self) -> tuple[notebook.NotebookInfo, ...]:
        return self.ask("notebook/list", Empty(), notebook.NotebookListResult).notebooks

    def edit(self, *changes: notebook.CellChange) -> notebook.NotebookDocument:
        params = notebook.NotebookEditParams(chat_id="c", path=self.path, changes=changes)
        return self.ask("notebook/edit", params, notebook.NotebookDocument)

    def run(self, *cells: str) -> notebook.NotebookRunResult:
        return self.answer(self.start_run(*cells), notebook.NotebookRunResult)

    def start_run(self, *cells: str) -> str:
        return self.start("notebook/run", notebook.NotebookRunParams(chat_id="c", path=self.path, cell_ids=cells))

    def ask(self, method: str, params: Model, result: type[T]) -> T:
        return self.answer(self.start(method, params), result)

    def start(self, method: str, params: Model) -> str:
        self.asked += 1
        id = f"test-{self.asked}"
        self._send({"jsonrpc": "2.0", "id": id, "method": method, "params": params.as_json_object()})
        return id

    def take_back(self, id: str) -> None:
        self._send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})

    def answer(self, id: str, result: type[T]) -> T:
        """Raises: Refused, AssertionError."""
        deadline = monotonic() + SECONDS
        while id not in self.answers:
            assert monotonic() < deadline, f"no answer to {id}"
            # Playwright hears of messages while it waits for the page.
            self.page.evaluate("() => new Promise(requestAnimationFrame)")
        answer = self.answers[id]
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        return result.model_validate(answer["result"])

    def _send(self, message: dict[str, Any]) -> None:
        assert self.route is not None
        self.route.send(json.dumps(message))

    def _through(self, route: WebSocketRoute) -> None:
        server = route.connect_to_server()
        self.route = route

        def on_message(text: str | bytes) -> None:
            message = json.loads(text)
            if message.get("method") == "initialize":
                self.greeting = message["params"]
            if str(message.get("id")).startswith("test-"):
                self.answers[message["id"]] = message
            else:
                server.send(text)

        route.on_message(on_message)


def ids(cells: Sequence[notebook.NotebookCell]) -> list[str]:
    return [cell.id for cell in cells]
