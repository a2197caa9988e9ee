"""Cells that ask with a lock file, through the engine of a desk: what tests of locked answers share."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import (
    MetadataContent,
    ProgressContent,
    ToolCallPrepareContent,
    ToolCallRunContent,
    UsageContent,
)
from tests.support.host_and_client import Desk, Notebook, answer, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.transport.eca_client import CallDecision, EcaClient

RULES: list[dict[str, Any]] = [
    {
        "message": "^make",
        "reply": [
            {"reasoning": "Both at once."},
            {"text": "I make it. "},
            {"tool": "run_code", "arguments": {"code": "x = 1\ny = 2"}},
            {"tool": "write_file", "arguments": {"path": "made.txt", "content": "once"}},
        ],
    },
    {"message": "^make", "result": "", "reply": [{"text": "Made."}]},
    {"message": "^count", "times": 1, "reply": [{"text": "One."}]},
    {"message": "^count", "times": 1, "reply": [{"text": "Two."}]},
    {"message": "^count", "reply": [{"text": "Three."}]},
    {"message": "^break", "reply": [{"text": "So far."}, {"error": "Gone.", "status": 400}]},
    {"message": "^wait", "reply": [{"text": "word " * 50, "chunk": 1, "delay": 0.1}]},
    {"message": "(?P<all>.*)", "reply": [{"text": "I heard: $all"}]},
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"run_code": {}, "write_file": {}}}}}
DENIED: dict[str, Any] = {
    "toolCall": {
        "approval": {"allow": {"write_file": {}}, "deny": {"run_code": {"argsMatchers": {"code": ["(x|.)*"]}}}}
    }
}
SILENT: list[dict[str, Any]] = [{"message": "", "reply": [{"error": "No model is here.", "status": 401}]}]


@asynccontextmanager
async def cells(
    folder: Path, rules: list[dict[str, Any]] = RULES, *, unattended: bool = True, **more: Any
) -> AsyncGenerator[Cells]:
    async with desk(folder, rules, **(more or ALLOWED)) as table:
        notebook = Notebook()
        yield Cells(table, await table.client(notebook, unattended=unattended), notebook, folder)


class Cells:
    """The cells of one notebook."""

    def __init__(self, table: Desk, client: EcaClient, notebook: Notebook, folder: Path) -> None:
        self.table = table
        self.host = table.host
        self.client = client
        self.notebook = notebook
        self.lockfile = folder / "demo.eca.lock"
        self._place = {"notebook": str(folder / "demo.ipynb"), "folder": str(folder)}

    async def ask(
        self,
        message: str,
        choose: Callable[[ToolCallRunContent], CallDecision | None] = lambda _: None,
        chat: str = "chat",
        model: str = "",
        **lock: Any,
    ) -> list[ChatContentReceivedParams]:
        where = AnswerLock.model_validate({"on": True, **self._place, **lock})
        return await answer(self.client, message, choose, chat, model, lock=where)

    @property
    def turns(self) -> list[dict[str, Any]]:
        return json.loads(self.lockfile.read_text())["turns"]


def replayed(received: list[ChatContentReceivedParams]) -> bool:
    return any(isinstance(one.content, UsageContent) and one.content.replayed for one in received)


def shown(received: list[ChatContentReceivedParams]) -> list[str]:
    """Without what is told apart by ids, how a call's arguments came, what decided that it may run, and what is not the
    answer's. Calls end in any order."""
    left_out = ProgressContent | UsageContent | MetadataContent | ToolCallPrepareContent
    contents = [one.content.as_json_object() for one in received if not isinstance(one.content, left_out)]
    return sorted(
        str({name: one[name] for name in sorted(one.keys() - {"id", "contentId", "cause", "waitsFor"})})
        for one in contents
    )
