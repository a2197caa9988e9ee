"""The requests that `what-the-model-is-told.md` shows are those that are sent.

The whole request changes with each prompt and tool of ours. With RENEW=1 its test writes it into the page.
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.plugins.providers.scripted import Script
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.context import CursorContext, Position, Range
from jupyter_eca.protocol.notebook import CellState, KernelState, NotebookDocument
from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from jupyter_eca.workspace.kernels.jupyter_server import ServerKernel
from jupyter_eca.workspace.kernels.run_history import KernelHistory, make_digest
from jupyter_eca.workspace.ports import RanInput
from jupyter_eca.workspace.reading.input_text import describe_inputs
from tests.plugins.contexts.open_notebooks import Room, Shelf, code, failed, room, words
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.docs_pages import ROOT, blocks, page
from tests.support.host_and_client import Door, answer, said

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

SHOWN = dict(blocks(page("what-the-model-is-told.md"), "text"))
NOTEBOOK = "sales.ipynb"
TRACEBACK = [
    "KeyError      Traceback (most recent call last)",
    "Cell In[7], line 1\n----> 1 share(df)",
    "Cell In[2], line 2, in share(df)\n      1 def share(df):\n----> 2     return df['price'] / df['price'].sum()",
    "File ~/env/lib/python3.12/site-packages/pandas/core/frame.py:4102, in DataFrame.__getitem__(self, key)\n"
    "-> 4102     indexer = self.columns.get_loc(key)",
    "KeyError: 'price'",
]
RULES = [
    f"rules['customer-{number}'] = Rule(minimum={number}, maximum={number + 9}, region='north-west', currency='EUR')"
    for number in range(3000)
]
CELLS = (
    words("h1", "# Load"),
    code("c2", "import pandas as pd\ndf = pd.read_csv('sales.csv')", count=1),
    words("h3", "# Shares"),
    code("c4", "def share(df):\n    return df['price'] / df['price'].sum()", count=2),
    code("c5", "share(df)", failed("KeyError", "'price'", *TRACEBACK), count=7),
    code("c6", "%%eca\nWhy does the cell above fail?").model_copy(update={"state": CellState.RUNNING}),
    code("c7", "\n".join(RULES)),
)


class SalesKernel:
    """The kernel of the notebook, in which the cells ran that have an execution count."""

    id = "k"
    notebook = NOTEBOOK
    description = ServerKernel.description

    async def find(self, path: str | None) -> SalesKernel:
        assert path == NOTEBOOK
        return self

    async def state(self) -> KernelState:
        return KernelState(status="idle", language="python", python=sys.executable)

    async def history(self) -> KernelHistory:
        ran = {cell.execution_count: make_digest(cell.source) for cell in CELLS if cell.execution_count is not None}
        return KernelHistory(125.0, ran)


@asynccontextmanager
async def sales(folder: Path, status: str = "idle", **config: Any) -> AsyncGenerator[Room]:
    """A page with the notebook open, and its kernel."""
    document = NotebookDocument(
        path=NOTEBOOK, cells=CELLS, language="python", kernel_id="k", kernel_status=status, active_cell_id="c5"
    )
    async with room(folder, Shelf({NOTEBOOK: document}), notebook={"place": True}, **config) as there:
        host, kernels = there.table.host, SalesKernel()
        host.current.workspace = replace(host.workspace, kernel=kernels, kernels=kernels)  # type: ignore[arg-type]  # as much as is used
        yield there


async def ask(there: Room, message: str, cell: str, line: int = 0) -> str:
    """Return the message of the request, when it is asked in the panel."""
    return said(await answer(there.strict, message, contexts=(place_in(cell, line),))) + "\n"


def place_in(cell: str, line: int = 0) -> CursorContext:
    """Return what the panel sends of the place of its user."""
    spot = Position(line=line, character=0)
    return CursorContext(path=NOTEBOOK, position=Range(start=spot, end=spot), cell=cell)


async def test_the_page_shows_what_a_panel_sends(tmp_path: Path) -> None:
    async with sales(tmp_path) as there:
        assert await ask(there, "Why does this fail?", "c5") == SHOWN["first"]
        assert await ask(there, "What should it return?", "c5") == SHOWN["again"]
        assert await ask(there, "What are these?", "c7", 1500) == SHOWN["long"]


async def test_the_page_shows_what_is_sent_of_a_file_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/shares.py").write_text("def share(df):\n    return df['price'] / df['price'].sum()")
    async with sales(tmp_path, toolCall={"approval": {"allow": {"read_file": {}}}}) as there:
        question = "What does `share` in lib/shares.py return?"
        assert said(await answer(there.strict, question)) + "\n" == SHOWN["named"]


async def test_the_page_shows_what_a_cell_sends(tmp_path: Path) -> None:
    async with sales(tmp_path, "busy") as there:
        lock = AnswerLock(notebook=NOTEBOOK, folder=str(tmp_path), cell="c6")
        sent = said(await answer(there.cell, "Why does the cell above fail?", lock=lock))
        assert f"{sent}\n" == SHOWN["cell"]


async def test_the_page_shows_what_is_sent_of_a_notebook_that_must_not_be_read(tmp_path: Path) -> None:
    async with sales(tmp_path, toolCall={"approval": {"deny": {"notebook_read": {}}}}) as there:
        assert await ask(there, "Why does this fail?", "c5") == SHOWN["denied"]


class Kernel:
    """What ran in a kernel."""

    is_unattended = True

    def last_error(self) -> list[str]:
        return TRACEBACK

    def find_source(self, count: int) -> str:
        return self.list_inputs()[count - 1].source

    def list_inputs(self) -> tuple[RanInput, ...]:
        return (
            RanInput(1, "import pandas as pd\ndf = pd.read_csv('sales.csv')"),
            RanInput(2, "def share(df):\n    return df['price'] / df['price'].sum()"),
            RanInput(7, "share(df)", "KeyError: 'price'"),
        )


async def test_the_page_shows_what_is_sent_of_a_kernel_without_a_server() -> None:
    _, text = describe_inputs(Kernel(), ())
    assert text.replace(f"process {os.getpid()}", "process 4711") + "\n" == SHOWN["kernel"]


MODEL = "claude-sonnet-5-5"
REPLY = "`df` has no column `price`: `df.columns` shows which it has."

# The tool that the page shows with its schema.
WHOLE = "run_code"

# What differs between machines and days, and what the page has in its place.
FOLDER = "/data/ada/sales"
FIXED = {
    "Date": "2026-03-02",
    "Operating system": "Linux 6.12.0",
    "Python of the shell": "/usr/bin/python3 (python3.12)",
    "Language of the kernel": "python 3.12.4",
    "Python of the kernel": "/data/ada/env/bin/python",
    "Packages, among others": "numpy 2.3.1, pandas 2.3.0, matplotlib 3.10.3",
}


async def test_the_page_shows_a_whole_request(tmp_path: Path) -> None:
    script = Script.model_validate({"rules": [{"message": "", "reply": [{"text": REPLY}]}]})
    with LoopbackAnthropic(script) as vendor:
        provider = {"url": vendor.url, "key": "sk-ant-loopback", "models": {MODEL: None}}
        async with sales(tmp_path, providers={"anthropic": provider}, defaultModel=f"anthropic/{MODEL}") as there:
            # A prompt waits a second for what is known of the interpreter, which on a busy machine may be too short.
            await there.table.host.services.interpreters.ask_facts(sys.executable)
            panel = await join_panel(there)
            for question in ("Why does this fail?", "What should it return?"):
                await answer(panel, question, contexts=(place_in("c5"),))
            await panel.close()
    body = [request.body for request in vendor.requests if request.path == "/v1/messages"][-1]
    system, request = draw_system(body, tmp_path), draw_request(body)
    if "RENEW" in os.environ:
        write_block("text", "system", system)
        write_block("json", "request", request)
    now = page("what-the-model-is-told.md")
    assert dict(blocks(now, "text"))["system"] == system, "write it with RENEW=1"
    assert dict(blocks(now, "json"))["request"] == request, "write it with RENEW=1"


async def join_panel(there: Room) -> EcaClient:
    """Return a client that answers questions of the model, as the panel does."""

    async def cancel(question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG001
        return ChatAskQuestionResult(answer=None, cancelled=True)

    ours, theirs = make_link_pair()
    tasks = there.table.tasks
    tasks.create_task(EcaSession(theirs, Door(there.table.host)).run())
    client = EcaClient(ours, "panel", answer_questions=cancel)
    tasks.create_task(client.run())
    await client.initialize(unattended=False)
    return client


def draw_system(body: dict[str, Any], folder: Path) -> str:
    """Return the system prompt of a request, with what the page has in place of the machine's own."""
    (block,) = body["system"]
    text = block["text"].replace(str(folder.resolve()), FOLDER)
    for label, value in FIXED.items():
        text, count = re.subn(rf"^{label}: .*$", f"{label}: {value}", text, flags=re.MULTILINE)
        assert count == 1, label
    return f"{text}\n"


def draw_request(body: dict[str, Any]) -> str:
    """Return a request as JSON, in the order in which the vendor reads it. In place of the system prompt, and of the
    description and the schema of all tools but one, it has "…"."""
    short = [tool if tool["name"] == WHOLE else shorten_tool(tool) for tool in body["tools"]]
    tools = ",\n".join(
        textwrap.indent(json.dumps(tool, indent=2 if tool["name"] == WHOLE else None, ensure_ascii=False), "    ")
        for tool in short
    )
    system = [{**block, "text": "…"} for block in body["system"]]
    rest = {key: value for key, value in body.items() if key not in {"tools", "system", "messages"}}
    parts = [
        *(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in rest.items()),
        f'"tools": [\n{tools}\n  ]',
        *(f'"{key}": {draw_value(value)}' for key, value in (("system", system), ("messages", body["messages"]))),
    ]
    return "{\n  " + ",\n  ".join(parts) + "\n}\n"


def draw_value(value: Any) -> str:
    return textwrap.indent(json.dumps(value, indent=2, ensure_ascii=False), "  ").lstrip()


def shorten_tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: "…" if key in {"description", "input_schema"} else value for key, value in tool.items()}


def write_block(language: str, title: str, text: str) -> None:
    """Write a block of the page anew."""
    file = ROOT / "notebooks" / "docs" / "what-the-model-is-told.md"
    fence = re.compile(rf'^```{language} title="{title}"\n.*?^```$', re.MULTILINE | re.DOTALL)
    written, count = fence.subn(lambda _: f'```{language} title="{title}"\n{text}```', file.read_text("utf-8"))
    assert count == 1
    file.write_text(written, "utf-8")
