"""Locked answers, through the engine of a desk: recorded, replayed, asked again."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.client import Decision
from jupyter_eca.engine.spec import ToolResultPart, ToolUsePart
from jupyter_eca.fronts.project import content_of
from jupyter_eca.protocol.chat import ChatLock
from jupyter_eca.protocol.content import (
    MetadataContent,
    ProgressContent,
    ToolCallPrepareContent,
    ToolCallRunContent,
    UsageContent,
)
from jupyter_eca.protocol.notebook import KernelExecuteResult, RunStatus
from tests.desk import Desk, Notebook, answer, desk, outcomes, said, tool_states

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from jupyter_eca.client import Client
    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

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

    def __init__(self, table: Desk, client: Client, notebook: Notebook, folder: Path) -> None:
        self.table = table
        self.host = table.host
        self.client = client
        self.notebook = notebook
        self.lockfile = folder / "demo.eca.lock"
        self._place = {"notebook": str(folder / "demo.ipynb"), "folder": str(folder)}

    async def ask(
        self,
        message: str,
        choose: Callable[[ToolCallRunContent], Decision | None] = lambda _: None,
        chat: str = "chat",
        model: str = "",
        **lock: Any,
    ) -> list[ChatContentReceivedParams]:
        where = ChatLock.model_validate({"on": True, **self._place, **lock})
        return await answer(self.client, message, choose, chat, model, lock=where)

    @property
    def turns(self) -> list[dict[str, Any]]:
        return json.loads(self.lockfile.read_text())["turns"]


def replayed(received: list[ChatContentReceivedParams]) -> bool:
    return any(isinstance(one.content, UsageContent) and one.content.replayed for one in received)


def shown(received: list[ChatContentReceivedParams]) -> list[str]:
    """Without what is told apart by ids, how a call's arguments came, and what is not the answer's. Calls end in any
    order."""
    left_out = ProgressContent | UsageContent | MetadataContent | ToolCallPrepareContent
    contents = [one.content.wire() for one in received if not isinstance(one.content, left_out)]
    return sorted(str({name: one[name] for name in sorted(one.keys() - {"id", "contentId"})}) for one in contents)


async def test_a_locked_answer_is_replayed_without_a_model_content_by_content(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        first = await at.ask("make")
    (tmp_path / "made.txt").unlink()
    async with cells(tmp_path, SILENT) as at:
        again = await at.ask("make", chat="another")
        assert (shown(again), said(again)) == (shown(first), said(first))
        assert (outcomes(again), replayed(first), replayed(again)) == (["completed"], False, True)
        costs = [one.content.last_message_cost for one in again if isinstance(one.content, UsageContent)]
        assert costs == ["0.0000", "0.0000"]


async def test_only_a_client_with_the_envelope_is_told_that_an_answer_is_replayed(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count", cell="a")
        await at.ask("count", cell="a")
        usages = [event for event in await at.host.stored("chat") if isinstance(event.content, UsageContent)]
    for envelope, told in ((True, [None, True]), (False, [None, None])):
        contents = [content_of(event, "chat", envelope=envelope).content for event in usages]
        assert [content.replayed for content in contents if isinstance(content, UsageContent)] == told


async def test_code_is_run_again_and_a_file_is_not_written_again(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
    (tmp_path / "made.txt").unlink()
    async with cells(tmp_path, SILENT) as at:
        await at.ask("make")
        assert at.notebook.ran == ["x = 1\ny = 2"]
    assert not (tmp_path / "made.txt").exists()


async def test_the_question_after_a_replayed_one_knows_it(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
        told = (await at.host.draft("chat")).messages
    async with cells(tmp_path, SILENT) as at:
        await at.ask("make", chat="another")
        again = (await at.host.draft("another")).messages
    assert [message.text for message in again] == [message.text for message in told]
    results = [part.text for message in again for part in message.parts if isinstance(part, ToolResultPart)]
    assert "ran x = 1\ny = 2" in results
    assert len({part.id for message in again for part in message.parts if isinstance(part, ToolUsePart)}) == 2


async def test_the_same_answer_twice_in_one_chat_gives_each_call_an_id_of_its_own(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make", cell="a")
        assert replayed(await at.ask("make", cell="a"))
        assert replayed(await at.ask("make", cell="a"))
        uses = [
            part.id for m in (await at.host.draft("chat")).messages for part in m.parts if isinstance(part, ToolUsePart)
        ]
        assert len(set(uses)) == len(uses) == 6


async def test_a_lock_file_is_read_line_by_line(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make", cell="a")
        (turn,) = at.turns
        call = turn["replies"][0]["parts"][2]
        assert (turn["prompt"], turn["answeredBy"], turn["cell"]) == (["make"], "scripted/test", "a")
        assert call["arguments"] == {"code": {"$lines": ["x = 1\n", "y = 2"]}}
        assert (call["type"], call["output"]) == ("ran", ["ran x = 1\n", "y = 2"])
        assert str(tmp_path) not in at.lockfile.read_text().replace('"path"', "")


async def test_a_question_that_is_not_locked_writes_nothing(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make", on=None)
        await at.ask("make", on=False)
        assert not at.lockfile.exists()


async def test_the_configuration_locks_every_cell_that_does_not_say_otherwise(tmp_path: Path) -> None:
    async with cells(tmp_path, notebook={"lock": True}) as at:
        await at.ask("count", on=False)
        assert not at.lockfile.exists()
        await at.ask("count", on=None)
        assert at.turns[0]["replies"][0]["parts"][0]["text"] == ["Two."]


CHANGES = pytest.mark.parametrize(
    ("message", "model", "why"),
    [("count us", "", "the prompt"), ("count", "scripted/other", "the model (it was not named)")],
)


@CHANGES
async def test_what_has_changed_is_said_in_one_line_and_then_why_no_model_answers(
    tmp_path: Path, message: str, model: str, why: str
) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count", cell="a")
    async with cells(tmp_path, SILENT, unattended=False) as at:
        received = await at.ask(message, cell="a", model=model)
    assert outcomes(received) == ["failed"]
    assert any(f"Asking again: changed since it was locked: {why}." in str(one.content) for one in received)
    assert said(received, "system").startswith(
        f"demo.eca.lock has no answer to this question (changed since it was locked: {why}), and no model gave one: "
    )


@CHANGES
async def test_where_nobody_watches_a_changed_question_goes_to_no_model_unless_told_to(
    tmp_path: Path, message: str, model: str, why: str
) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count", cell="a")
        before = at.lockfile.read_text()
    async with cells(tmp_path) as at:
        received = await at.ask(message, cell="a", model=model)
        assert said(received, "system").startswith(
            f"demo.eca.lock has no answer to this question (changed since it was locked: {why}), and where nobody "
        )
        assert (outcomes(received), at.lockfile.read_text()) == (["failed"], before)
        assert outcomes(await at.ask("count us", renew=True, chat="two")) == ["completed"]


async def test_a_file_that_is_pointed_at_is_part_of_the_question(tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("city,sold\nLyon,120\n")
    async with cells(tmp_path) as at:
        await at.ask("sum @sales.csv", cell="a")
        assert replayed(await at.ask("sum @sales.csv", cell="a"))
        (tmp_path / "sales.csv").write_text("city,sold\nLyon,121\n")
        received = await at.ask("sum @sales.csv", cell="a")
        assert not replayed(received)
        assert any(
            "Asking again: changed since it was locked: what is in sales.csv." in str(r.content) for r in received
        )
        assert replayed(await at.ask("sum @sales.csv", cell="a"))
        assert len(at.turns) == 1


async def test_what_cannot_be_read_here_cannot_have_changed(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("read @http://127.0.0.1:9/page")
    async with cells(tmp_path, SILENT) as at:
        assert replayed(await at.ask("read @http://127.0.0.1:9/page"))


async def test_another_default_model_replays_the_answer(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count")
    async with cells(tmp_path, RULES, defaultModel="scripted/gone", **ALLOWED) as at:
        assert replayed(await at.ask("count"))


async def test_two_cells_that_ask_the_same_have_an_answer_each(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        for chat, occurrence in (("one", 0), ("two", 1)):
            await at.ask("count", chat=chat, occurrence=occurrence)
    async with cells(tmp_path, SILENT) as at:
        told = [said(await at.ask("count", chat=chat, occurrence=n)) for n, chat in enumerate(("three", "four"))]
    assert told == ["One.", "Two."]


async def test_another_answer_before_it_in_the_chat_is_another_question(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count", cell="a")
        await at.ask("and then", cell="b")
        await at.ask("by itself", cell="c", chat="apart")
        assert replayed(await at.ask("and then", cell="b"))
        await at.ask("count", cell="a", renew=True)
        received = await at.ask("and then", cell="b")
        assert any("an answer before it in this chat." in str(one.content) for one in received)
        assert replayed(await at.ask("by itself", cell="c", chat="apart"))


async def test_a_cell_that_is_run_again_stands_where_it_stood(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count", cell="a")
        await at.ask("and then", cell="b")
        assert replayed(await at.ask("count", cell="a"))
        assert replayed(await at.ask("and then", cell="b"))


async def test_a_changed_cell_leaves_no_old_answer_in_the_file(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("first", cell="a")
        await at.ask("second", cell="b")
        await at.ask("first, once more", cell="a")
        assert [turn["prompt"] for turn in at.turns] == [["first, once more"], ["second"]]


async def test_an_answer_that_failed_or_was_stopped_is_not_recorded(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        assert outcomes(await at.ask("break")) == ["failed"]
        received: list[ChatContentReceivedParams] = []
        place = ChatLock(on=True, notebook=str(tmp_path / "demo.ipynb"))
        async for one in at.client.ask("chat", "wait", lock=place):
            if said([one]) and not said(received):
                await at.client.stop("chat")
            received.append(one)
        assert outcomes(received) == ["stopped"]
        assert not at.lockfile.exists()


async def test_a_rejected_call_is_rejected_again_with_the_words_of_then(tmp_path: Path) -> None:
    ask_first: dict[str, Any] = {"toolCall": {"approval": {"allow": {"write_file": {}}}}}
    async with cells(tmp_path, unattended=False, **ask_first) as at:
        first = await at.ask("make", lambda _: Decision(approved=False, reason="Not on a Sunday."))
        told = (await at.host.draft("chat")).messages
    async with cells(tmp_path, SILENT) as at:
        again = await at.ask("make", chat="another")
        assert tool_states(first).count("toolCallRejected") == tool_states(again).count("toolCallRejected") == 1
        heard = (await at.host.draft("another")).messages
        assert [message.text for message in heard] == [message.text for message in told]
        assert "Not on a Sunday." in str(heard)
        assert at.notebook.ran == []


# -- whose code runs


def approve(_: ToolCallRunContent) -> Decision:
    return Decision(approved=True)


async def test_where_somebody_could_be_asked_the_code_of_anothers_lock_file_is_asked_about(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    async with cells(there) as at:
        await at.ask("make")
    (here / "demo.eca.lock").write_text((there / "demo.eca.lock").read_text())
    ask_first: dict[str, Any] = {"toolCall": {"approval": {}}}
    asked: list[str] = []

    def note(call: ToolCallRunContent) -> Decision:
        asked.append(call.name)
        return Decision(approved=True)

    async with cells(here, SILENT, unattended=False, **ask_first) as at:
        assert replayed(await at.ask("make", note, cell="a"))
        assert (asked, at.notebook.ran) == (["run_code"], ["x = 1\ny = 2"])
        assert replayed(await at.ask("make", note, cell="a"))
        assert asked == ["run_code"]  # approved in this answer once, it is this user's


async def test_code_of_a_lock_file_that_is_not_approved_fails_the_cell(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
    for mark in (tmp_path / "locks").iterdir():
        mark.unlink()
    async with cells(tmp_path, SILENT, unattended=False, toolCall={"approval": {}}) as at:
        received = await at.ask("make", lambda _: Decision(approved=False))
        assert (outcomes(received), at.notebook.ran) == (["failed"], [])
        assert "was not run, and what follows may need it" in said(received, "system")


async def test_what_was_recorded_here_is_not_asked_about_again(tmp_path: Path) -> None:
    async with cells(tmp_path, unattended=False, toolCall={"approval": {"allow": {"write_file": {}}}}) as at:
        await at.ask("make", approve, cell="a")
        assert outcomes(await at.ask("make", cell="a")) == ["completed"]


async def test_rules_that_deny_code_deny_it_in_a_lock_file_too(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
    async with cells(tmp_path, SILENT, **DENIED) as at:
        received = await at.ask("make")
        assert (outcomes(received), at.notebook.ran) == (["failed"], [])


class Other(Notebook):
    """A kernel in which the same code ends otherwise."""

    def __init__(self, status: RunStatus, text: str) -> None:
        super().__init__()
        self._result = KernelExecuteResult(status=status, text=text)

    async def execute(self, code: str) -> KernelExecuteResult:
        self.ran.append(code)
        return self._result


async def test_code_that_fails_now_fails_the_cell_with_its_error(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
    async with cells(tmp_path, SILENT) as at:
        at.client = await at.table.client(Other(RunStatus.ERROR, "Traceback\nNameError: x"), unattended=True)
        received = await at.ask("make")
    assert outcomes(received) == ["failed"]
    assert said(received, "system") == (
        "The code of this locked answer fails here. `--relock` asks again. It said: NameError: x"
    )


async def test_code_that_says_something_else_now_is_told_and_its_recorded_result_shown(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
    async with cells(tmp_path, SILENT) as at:
        at.client = await at.table.client(Other(RunStatus.OK, "ran something else"), unattended=True)
        received = await at.ask("make")
    assert outcomes(received) == ["completed"]
    assert "says something else here than when this answer was locked" in said(received, "system")
    assert "ran x = 1" in str(shown(received))


# -- the file


async def test_a_secret_is_never_recorded_and_the_reader_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret-1")
    async with cells(tmp_path) as at:
        received = await at.ask("say sk-very-secret-1")
        assert said(received, "system") == "Not locked: the answer holds a secret (SOME_API_KEY)."
        assert not at.lockfile.exists()


async def test_a_lock_file_outside_of_the_workspace_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    async with cells(folder) as at:
        received = await at.ask("count", file="../stolen.eca.lock")
        assert "outside of the workspace" in said(received, "system")
        assert outcomes(received) == ["failed"]
        assert "must end in .eca.lock" in said(await at.ask("count", file="notes.txt"), "system")
    assert not (tmp_path / "stolen.eca.lock").exists()


@pytest.mark.parametrize("text", ["<<<<<<< HEAD", '{"version": 2}', '{"turns": [{"prompt": "x", "replies": []}]}'])
async def test_a_lock_file_that_is_none_is_named_and_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "demo.eca.lock").write_text(text)
    async with cells(tmp_path) as at:
        received = await at.ask("count")
        assert said(received, "system").startswith("demo.eca.lock is no lock file of ours: ")
        assert (outcomes(received), at.lockfile.read_text()) == (["failed"], text)


async def test_a_notebook_without_a_name_finds_the_lock_file_of_its_folder(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count", cell="a")
        await at.ask("more", file="other.eca.lock", chat="two")
    async with cells(tmp_path, SILENT) as at:
        assert replayed(await at.ask("count", notebook=""))
        assert replayed(await at.ask("more", notebook="", chat="two"))


async def test_words_from_elsewhere_are_not_recorded(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        received: list[ChatContentReceivedParams] = []
        at.notebook.hold = asyncio.Event()
        place = ChatLock(on=True, notebook=str(tmp_path / "demo.ipynb"))
        async for one in at.client.ask("chat", "make", lock=place):
            if at.notebook.started.is_set() and not at.notebook.hold.is_set():
                at.host.steer("chat", "quickly")
                at.notebook.hold.set()
            received.append(one)
        assert said(received, "system").startswith("Not locked: the question was added to from elsewhere")
        assert not at.lockfile.exists()
