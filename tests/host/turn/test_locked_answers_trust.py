"""Locked answers: whose code is run again, and what may stand in a lock file."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import ToolCallRunningContent
from jupyter_eca.protocol.notebook import KernelExecuteResult, RunStatus
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import Notebook, outcomes, said
from tests.support.locked_cells import DENIED, SILENT, cells, replayed, shown

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = pytest.mark.asyncio


# -- whose code runs


def approve(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


async def test_where_somebody_could_be_asked_the_code_of_anothers_lock_file_is_asked_about(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    async with cells(there) as at:
        await at.ask("make")
    (here / "demo.eca.lock").write_text((there / "demo.eca.lock").read_text())
    ask_first: dict[str, Any] = {"toolCall": {"approval": {}}}
    asked: list[str] = []

    def note(call: ToolCallRunContent) -> CallDecision:
        asked.append(call.name)
        return CallDecision(approved=True)

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
        received = await at.ask("make", lambda _: CallDecision(approved=False))
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
        "The code of this locked answer fails here. `--relock` asks again. The last line of its output: NameError: x"
    )


async def test_code_that_says_something_else_now_is_told_and_its_recorded_result_shown(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("make")
    async with cells(tmp_path, SILENT) as at:
        at.client = await at.table.client(Other(RunStatus.OK, "ran something else"), unattended=True)
        received = await at.ask("make")
    assert outcomes(received) == ["completed"]
    assert "has another output here than when this answer was locked" in said(received, "system")
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
        place = AnswerLock(on=True, notebook=str(tmp_path / "demo.ipynb"))
        async for one in at.client.ask("chat", "make", lock=place):
            if isinstance(one.content, ToolCallRunningContent) and one.content.name == "run_code":
                await at.notebook.started.wait()
                at.host.turns.steer("chat", "quickly")
                at.notebook.hold.set()
            received.append(one)
        assert said(received, "system").startswith("Not locked: more text was sent to this turn")
        assert not at.lockfile.exists()
