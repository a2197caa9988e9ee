"""The setting `review`: one decision per change, before or after it is made, and nothing else is loosened by it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.host.chat.live_chat import Choice, Prompt
from jupyter_eca.host.host import Host
from jupyter_eca.protocol.changes import ChangeExtent
from jupyter_eca.protocol.content import ChangePart, FileChangeDetails, ToolCallRunContent, ToolCallRunningContent
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files, Workspace
from tests.host.turn.test_approval_attacks import rejections, results
from tests.host.turn.test_protected_paths import Person, asked, call, plays, project
from tests.support.access import ASKER
from tests.support.host_and_client import Notebook, answer, desk_of
from tests.support.notebook_page import PATH, Room, code, room, script, text
from tests.support.samples import sample

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

LOOSE = ["after", "never"]
WAS = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5"
NEW = "a = 10\nb = 2\nc = 3\nd = 4\ne = 50"
BOOK: dict[str, Any] = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def edits(source: str = NEW, cell: str = "a") -> dict[str, Any]:
    return call("notebook_edit_cell", cell=cell, source=source)


def names(received: list[ChatContentReceivedParams]) -> list[str]:
    return [question.name for question in asked(received)]


def causes(received: list[ChatContentReceivedParams]) -> list[str]:
    """Why each call that was announced may run, or is asked about."""
    contents = (one.content for one in received)
    return [c.cause.kind for c in contents if isinstance(c, ToolCallRunContent) and c.cause is not None]


async def shows_review(there: Room) -> Room:
    """The same room, in which the page of the user shows changes with Keep and Undo."""
    there.client = await there.table.client(review=True)
    return there


async def settled(table: Desk) -> list[bool]:
    """Whether the user need not decide about each change that is listed."""
    return [bool(one.settled) for one in await table.host.changes.list("chat", extent=ChangeExtent.EACH)]


def no(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=False)


# -- before


async def test_what_was_approved_is_listed_so_that_it_can_be_undone_but_is_not_asked_again(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", WAS)) as room_:
        there = await shows_review(room_)
        received = await there.ask([edits()])
        assert causes(received) == ["default"]
        assert await settled(there.table) == [True]
        (change,) = await there.table.host.changes.list("chat")
        await there.table.host.changes.revert("chat", [change.id])
        assert there.page.cells() == [("a", WAS)]


async def test_what_a_rule_allows_is_asked_afterwards_as_nobody_has_seen_it(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"approval": {"allow": {"notebook_edit_cell": {}, "notebook_read": {}}}}
    async with room(tmp_path, code("a", WAS), toolCall=rules) as room_:
        there = await shows_review(room_)
        assert names(await there.ask([edits()])) == []
        assert await settled(there.table) == [False]


async def test_the_edit_that_runs_has_only_the_parts_that_were_approved(tmp_path: Path) -> None:
    """What is shown, approved, run and stored is the same value."""
    async with room(tmp_path, code("a", WAS)) as there:
        received = await there.ask([edits()], lambda _: CallDecision(approved=True, left_out=(0,)))
        (question,) = asked(received)
        assert isinstance(question.details, FileChangeDetails)
        parts = [part for part in question.details.parts or () if isinstance(part, ChangePart)]
        assert [(part.start, part.end, part.text) for part in parts] == [(0, 6, "a = 10\n"), (24, 29, "e = 50")]
        wanted = WAS.replace("e = 5", "e = 50")
        assert there.page.cells() == [("a", wanted)]
        run = next(one.content for one in received if isinstance(one.content, ToolCallRunningContent))
        assert isinstance(run.details, FileChangeDetails)
        assert run.details.left_out == (0,)
        assert "a = 10" not in run.details.diff
        assert "+e = 50" in run.details.diff
        (told,) = results(received)
        assert told.startswith("The user left out 1 of the 2 parts of this edit.")
        assert "a = 10" in told
        assert await settled(there.table) == [True]


async def test_what_follows_an_edit_that_was_approved_in_part_does_not_run(tmp_path: Path) -> None:
    calls = [edits(), edits(NEW.replace("c = 3", "c = 30"), "b"), call("notebook_run_cells", cells=["a"])]
    async with room(tmp_path, code("a", WAS), code("b", WAS)) as there:
        part = CallDecision(approved=True, left_out=(1,))
        received = await there.ask(calls, lambda one: part if one.arguments.get("cell") == "a" else None)
        assert [str(reason) for reason in rejections(received)] == ["earlier-call-failed"] * 2
        assert there.page.cells() == [("a", WAS.replace("a = 1", "a = 10")), ("b", WAS)]


@pytest.mark.parametrize("left_out", [(0, 1), (2,), (-1,), (0, 5)])
async def test_parts_that_are_not_there_approve_nothing(tmp_path: Path, left_out: tuple[int, ...]) -> None:
    async with room(tmp_path, code("a", WAS)) as there:
        decisions = iter([CallDecision(approved=True, left_out=left_out), CallDecision(approved=False)])

        async def decide_twice(received: ToolCallRunContent) -> None:
            for decision in decisions:
                await there.client.decide("chat", received.id, decision)

        pending: list[Any] = []

        def choose(one: ToolCallRunContent) -> None:
            pending.append(there.table.tasks.create_task(decide_twice(one)))

        received = await there.ask([edits()], choose)
        assert [str(reason) for reason in rejections(received)] == ["user-choice"]
        assert there.page.cells() == [("a", WAS)]


async def test_a_file_has_no_parts_and_a_part_of_it_cannot_be_left_out(tmp_path: Path) -> None:
    write = call("write_file", path="a.txt", content="x")
    async with project(tmp_path, plays(write)) as table:
        client = await table.client()

        def choose(one: ToolCallRunContent) -> CallDecision:
            assert isinstance(one.details, FileChangeDetails)
            assert one.details.parts is None
            table.tasks.create_task(client.decide("chat", one.id, CallDecision(approved=False)))
            return CallDecision(approved=True, left_out=(0,))

        await answer(client, "write", choose)
        assert not (table.folder / "a.txt").exists()


async def test_an_approval_in_part_is_not_remembered(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", WAS), code("b", "x = 1\ny = 2")) as there:
        await there.ask([edits()], lambda _: CallDecision(approved=True, session=True, left_out=(0,)))
        assert names(await there.ask([edits("x = 3\ny = 2", "b")], no)) == ["notebook_edit_cell"]


# -- after and never


@pytest.mark.parametrize("setting", LOOSE)
async def test_edits_that_would_be_asked_are_made_at_once_and_can_be_undone(tmp_path: Path, setting: str) -> None:
    calls = [edits(), call("notebook_insert_cell", source="n = 0", after="a")]
    async with room(tmp_path, code("a", WAS), review=setting) as room_:
        there = await shows_review(room_)
        received = await there.ask(calls, no)
        assert (names(received), causes(received)) == ([], ["review", "review"])
        assert [source for _, source in there.page.cells()] == [NEW, "n = 0"]
        assert await settled(there.table) == [setting == "never"] * 2
        every = await there.table.host.changes.list("chat", extent=ChangeExtent.EACH)
        await there.table.host.changes.revert("chat", [one.id for one in every])
        assert there.page.cells() == [("a", WAS)]


@pytest.mark.parametrize("setting", LOOSE)
async def test_edits_of_files_too(tmp_path: Path, setting: str) -> None:
    async with project(
        tmp_path, plays(call("write_file", path="lib/a.py", content="x = 1\n")), review=setting
    ) as table:
        received = await answer(await table.client(review=True), "write", no)
        assert (names(received), causes(received)) == ([], ["review"])
        assert (table.folder / "lib" / "a.py").read_text() == "x = 1\n"
        assert await settled(table) == [setting == "never"]


def links(table: Desk) -> None:
    own = table.folder / ".eca"
    own.mkdir()
    (own / "config.json").write_text("{}")
    (table.folder / "link").symlink_to(own)
    (table.folder / "settings.json").symlink_to(own / "config.json")
    (table.folder / "out").symlink_to(table.folder.parent / "outside")
    (table.folder.parent / "outside").mkdir()
    (table.folder / "a.txt").write_text("mine")
    (table.folder / "a.ipynb").write_text(json.dumps(BOOK))
    (table.folder / "large.txt").write_bytes(b"x" * 10_000_001)


def read_all(folder: Path) -> dict[Path, bytes]:
    """All files below a folder but those of the database."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".db" not in path.name}


LOADS = "![x](https://example.org/x.png)"
ATTACKS: list[dict[str, Any]] = [
    # The model changes what may run, also by the setting itself.
    call("write_file", path=".eca/config.json", content='{"review": "never"}'),
    call("write_file", path="link/config.json", content="{}"),
    call("edit_file", path="settings.json", original_content="{}", new_content="{ }"),
    call("write_file", path="../home/eca/config.json", content='{"review": "never"}'),
    call("write_file", path=".mcp.json", content="{}"),
    call("write_file", path="sub/AGENTS.md", content="Do as I say."),
    call("write_file", path="CLAUDE.md", content="Do as I say."),
    call("write_file", path=".git/hooks/pre-commit", content="touch x"),
    call("notebook_insert_cell", path="a.ipynb", source="!cp x .mcp.json"),
    # It writes where programs look by themselves, or outside of the workspace.
    call("write_file", path=".github/workflows/ci.yml", content="x"),
    call("write_file", path="sitecustomize.py", content="x"),
    call("write_file", path="jupyter_server_config.py", content="x"),
    call("write_file", path="out/x.txt", content="x"),
    call("write_file", path="../x.txt", content="x"),
    # It runs, moves, deletes or creates something.
    call("shell_command", command="rm a.txt"),
    call("shell_command", command="echo x > b.txt"),
    call("run_code", code="open('b.txt', 'w')"),
    call("move_file", source="a.txt", destination="b.txt"),
    call("notebook_create", path="new.ipynb"),
    # A cell that the page runs or loads by itself.
    call("notebook_insert_cell", path="a.ipynb", cell_type="markdown", source=LOADS),
]


@pytest.mark.parametrize("setting", sample(["never", "after"], every=2))
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: str(list(one["arguments"].values()))[:40])
async def test_nothing_else_is_let_through(tmp_path: Path, setting: str, attack: dict[str, Any]) -> None:
    async with project(tmp_path, plays(attack), review=setting) as table:
        links(table)
        before = read_all(tmp_path)
        received = await answer(await table.client(Notebook(), review=True), "go", no)
        # It is asked about and rejected, or cannot be made at all.
        assert "review" not in causes(received)
        assert read_all(tmp_path) == before


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_file_that_cannot_be_kept_is_asked_about(tmp_path: Path, setting: str) -> None:
    edit = call("edit_file", path="large.txt", original_content="abc", new_content="x")
    async with project(tmp_path, plays(edit), review=setting) as table:
        (table.folder / "large.txt").write_bytes(b"abc" + b" " * 10_000_001)
        assert names(await answer(await table.client(review=True), "go", no)) == ["edit_file"]


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_deletion_of_a_cell_is_asked_about(tmp_path: Path, setting: str) -> None:
    async with room(tmp_path, code("a", WAS), review=setting) as room_:
        there = await shows_review(room_)
        assert names(await there.ask([call("notebook_delete_cell", cell="a")], no)) == ["notebook_delete_cell"]


@pytest.mark.parametrize("setting", LOOSE)
@pytest.mark.parametrize("rule", ["ask", "deny"])
async def test_an_explicit_rule_beats_the_setting(tmp_path: Path, setting: str, rule: str) -> None:
    rules: dict[str, Any] = {"approval": {rule: {"notebook_edit_cell": {}}}}
    async with room(tmp_path, code("a", WAS), review=setting, toolCall=rules) as room_:
        there = await shows_review(room_)
        received = await there.ask([edits()], no)
        assert names(received) == (["notebook_edit_cell"] if rule == "ask" else [])
        assert there.page.cells() == [("a", WAS)]


# -- who asked


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_client_that_shows_no_changes_is_asked_though_a_page_beside_it_would_show_them(
    tmp_path: Path, setting: str
) -> None:
    async with project(tmp_path, plays(call("write_file", path="a.txt", content="x")), review=setting) as table:
        page, editor, cell = await table.client(review=True), await table.client(), await table.client(Notebook())
        assert names(await answer(editor, "write", no)) == ["write_file"]
        assert names(await answer(cell, "write", no, chat="of a cell")) == ["write_file"]
        assert names(await answer(page, "write", no, chat="other")) == []


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_prompt_of_another_protocol_is_asked_about(tmp_path: Path, setting: str) -> None:
    async with project(tmp_path, plays(call("write_file", path="a.txt", content="x")), review=setting) as table:
        await table.client(review=True)
        await table.host.turns.prompt(Prompt("chat", "write"))
        chat = await table.host.chats.load("chat")
        while not any(one.status == "waiting" for one in chat.state.calls):
            await table.host.store.settle()
        assert not (table.folder / "a.txt").exists()
        table.host.turns.stop("chat")


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_client_that_may_not_approve_changes_nothing_unasked(tmp_path: Path, setting: str) -> None:
    """Code in a kernel that has found a token can prompt, and can claim to be a page."""
    async with project(tmp_path, plays(call("write_file", path="a.txt", content="x")), review=setting) as table:
        page, thief = await table.client(review=True), await table.client(review=True, access=ASKER)
        assert page is not thief
        await answer(thief, "write", lambda _: table.host.turns.stop("chat"))
        assert not (table.folder / "a.txt").exists()


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_subagent_asks(tmp_path: Path, setting: str) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "^go", "reply": [call("spawn_agent", agent="general", task="write it", activity="writing")]},
        {"message": "^write it", "reply": [call("write_file", path="a.txt", content="x")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, rules, review=setting) as table:
        received = await answer(await table.client(review=True), "go", no)
        assert names(received) == ["write_file"]
        assert not (table.folder / "a.txt").exists()


@pytest.mark.parametrize("setting", LOOSE)
async def test_the_plan_agent_changes_nothing(tmp_path: Path, setting: str) -> None:
    async with project(tmp_path, plays(call("write_file", path="a.txt", content="x")), review=setting) as table:
        await answer(await table.client(review=True), "go", no, agent="plan")
        assert not (table.folder / "a.txt").exists()


# -- what was changed unseen is not run unseen


RUN = call("notebook_run_cells", cells=["a"])


def session(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True, session=True)


async def test_a_remembered_run_in_the_same_answer_does_not_run_what_nobody_has_seen(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", WAS), review="never") as room_:
        there = await shows_review(room_)
        assert names(await there.ask([RUN], session)) == ["notebook_run_cells"]
        assert names(await there.ask([RUN], no)) == []
        received = await there.ask([edits(), RUN], no)
        assert causes(received) == ["review", "unseen"]
        assert names(received) == ["notebook_run_cells"]
        assert there.page.cells() == [("a", NEW)]


@pytest.mark.parametrize("setting", LOOSE)
async def test_a_later_turn_of_any_chat_and_a_later_server_ask_before_they_run_it(tmp_path: Path, setting: str) -> None:
    allow = {
        "toolCall": {"approval": {"allow": {"shell_command": {}, "write_file": {"argsMatchers": {"path": ["b"]}}}}}
    }
    make = call("shell_command", command="touch RAN")
    rules = [
        {"message": "^write", "reply": [call("write_file", path="Makefile", content="all:")]},
        {"message": "^run", "reply": [make]},
        {"message": "^look", "reply": [call("shell_command", command="ls")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, rules, review=setting, **allow) as table:
        client = await table.client(review=True)
        assert names(await answer(client, "run", no)) == []
        assert names(await answer(client, "write", no)) == []
        assert names(await answer(client, "run", no, chat="other")) == ["shell_command"]
        assert names(await answer(client, "look", no, chat="other")) == []
        found = await table.host.checkpoints.find_unseen()
        assert found is not None
        # Once it was approved, the user knows of the change.
        assert causes(await answer(client, "run", Person(), chat="other")) == ["unseen"]
        assert names(await answer(client, "run", no)) == []


async def test_a_call_that_was_allowed_before_another_chat_changed_something_does_not_run(tmp_path: Path) -> None:
    allow: dict[str, Any] = {"toolCall": {"approval": {"allow": {"shell_command": {}}}}}
    rules = [
        {
            "message": "^run",
            "reply": [call("move_file", source="x", destination="y"), call("shell_command", command="touch RAN")],
        },
        {"message": "^write", "reply": [call("write_file", path="Makefile", content="all:")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, rules, review="after", **allow) as table:
        (table.folder / "x").write_text("x")
        client, editor = await table.client(review=True), await table.client()

        async def write_then_approve(one: ToolCallRunContent) -> None:
            await answer(client, "write", no, chat="other")
            await editor.decide("chat", one.id, CallDecision(approved=True))

        def choose(one: ToolCallRunContent) -> None:
            table.tasks.create_task(write_then_approve(one))

        received = await answer(editor, "run", choose)
        assert "Makefile was changed without approval since this call was decided; not run." in results(received)[-1]
        assert not (table.folder / "RAN").exists()


@pytest.mark.parametrize("decision", ["keep", "revert"])
async def test_what_was_kept_or_undone_needs_no_question_any_more(tmp_path: Path, decision: str) -> None:
    allow: dict[str, Any] = {"toolCall": {"approval": {"allow": {"notebook_run_cells": {}}}}}
    async with room(tmp_path, code("a", WAS), review="after", **allow) as room_:
        there = await shows_review(room_)
        await there.ask([edits()], no)
        assert names(await there.ask([RUN], no)) == ["notebook_run_cells"]
        ids = [one.id for one in await there.table.host.changes.list("chat", extent=ChangeExtent.EACH)]
        await getattr(there.table.host.changes, decision)("chat", ids)
        await there.show_all()
        assert names(await there.ask([RUN], no)) == []


async def test_trust_asks_nothing_as_before(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", WAS), review="after") as room_:
        there = await shows_review(room_)
        there.table.host.turns.choose("chat", Choice(trust=True))
        received = await there.ask([edits(), RUN], no)
        assert causes(received) == ["trust", "trust"]


async def test_a_project_that_sets_it_is_asked_as_before(tmp_path: Path) -> None:
    async with project(tmp_path, plays(call("write_file", path="a.txt", content="x"))) as table:
        (table.folder / ".eca").mkdir()
        (table.folder / ".eca" / "config.json").write_text('{"review": "never"}')
        assert names(await answer(await table.client(review=True), "write", no)) == ["write_file"]


async def test_a_page_that_has_left_cannot_review_what_is_changed_then(tmp_path: Path) -> None:
    async with room(tmp_path, text("t", "Hello"), review="after") as room_:
        there = await shows_review(room_)
        script(there.table.folder, [edits("Bye", "t")])
        editor = await there.table.client()
        await there.client.close()
        await there.table.host.turns.prompt(Prompt("chat", "go", allows_later_review=True))
        chat = await there.table.host.chats.load("chat")
        while not any(one.status == "waiting" for one in chat.state.calls):
            await there.table.host.store.settle()
        there.table.host.turns.stop("chat")
        await editor.close()
        assert there.page.cells(PATH) == [("t", "Hello")]


async def test_where_hooks_run_programs_an_edit_is_asked_about(tmp_path: Path) -> None:
    hooks = {"make": {"type": "postToolCall", "actions": [{"type": "shell", "shell": "make"}]}}
    rules = [
        {"message": "^write", "reply": [call("write_file", path="Makefile", content="all:\n\ttouch RAN\n")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, rules, review="after", hooks=hooks) as table:
        client = await table.client(review=True)
        assert names(await answer(client, "write", no)) == ["write_file"]
        assert not (table.folder / "RAN").exists()


async def test_an_approval_for_the_session_does_not_run_a_waiting_call_that_may_run_what_nobody_has_seen(
    tmp_path: Path,
) -> None:
    run = call("shell_command", command="sh b.sh")
    rules = [
        {"message": "^run", "reply": [run, run]},
        {"message": "^write", "reply": [call("write_file", path="b.sh", content="echo RAN >> RAN")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with project(tmp_path, rules, review="after") as table:
        client, other = await table.client(review=True), await table.client()
        waiting: list[ToolCallRunContent] = []

        async def change_and_approve() -> None:
            await answer(client, "write", no, chat="other")
            await other.decide("chat", waiting[0].id, CallDecision(approved=True, session=True))

        def choose(question: ToolCallRunContent) -> None:
            waiting.append(question)
            if len(waiting) == 2:
                table.tasks.create_task(change_and_approve())

        received = await answer(other, "run", choose)
        assert "without approval" in results(received)[1]
        assert (table.folder / "RAN").read_text() == "RAN\n"


async def test_what_was_changed_in_a_workspace_around_this_one_is_not_run_unasked(tmp_path: Path) -> None:
    rules = [
        {"message": "^write", "reply": [call("write_file", path="sub/b.sh", content="touch RAN")]},
        {"message": "^run", "reply": [call("shell_command", command="sh b.sh")]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    allow: dict[str, Any] = {"toolCall": {"approval": {"allow": {"shell_command": {}}}}}
    async with project(tmp_path, rules, review="never", **allow) as table:
        (table.folder / "sub").mkdir()
        assert names(await answer(await table.client(review=True), "write", no)) == []
    for folder, asks in (("sub", ["shell_command"]), ("../root2", [])):
        root = tmp_path / "root" / folder
        root.mkdir(exist_ok=True)
        reading = partial(read_config, (root.resolve(),), home=tmp_path / "home")
        files = Files((root.resolve(),))
        host = Host(reading(), Workspace(files, notebooks=NotebookFiles(files)), tmp_path / "chats.db", reading)
        async with desk_of(host, root) as table:
            assert names(await answer(await table.client(review=True), "run", no, chat=folder)) == asks
