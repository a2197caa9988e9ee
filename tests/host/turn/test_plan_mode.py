"""Plan, then do: what plan mode shows, what "go" makes of it, and that the user still steers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.task_plan import CARRY_OUT
from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    ProgressContent,
    Role,
    TaskDetails,
    ToolCallRunContent,
)
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import answer, desk, outcomes, said
from tests.support.notebook_page import Room, called, code, room
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

Rule = dict[str, Any]

EDIT = {"cell": "a", "source": "x = 2"}
CHANGE = {"do": "edit", **EDIT}
PLANNED: list[Rule] = [
    {"message": "^Plan", "reply": [{"tool": "preview_notebook_change", "arguments": {"changes": [CHANGE]}}]},
    {"result": "Shown to the user", "reply": [{"text": "1. Set x to 2."}]},
]


def tasks(op: str, **more: Any) -> list[Rule]:
    return [{"tool": "task", "arguments": {"op": op, **more}}]


def in_turn(*replies: list[Rule]) -> list[Rule]:
    """Each answers the results of the one before."""
    first, *rest = replies
    later = [{"result": "", "times": 1, "reply": reply} for reply in rest]
    return [{"message": "accepted the plan", "reply": first}, *later]


DOING = in_turn(
    tasks("plan", tasks=["Set x to 2", "Look at y"]),
    tasks("start", ids=["1"]),
    [{"tool": "notebook_edit_cell", "arguments": EDIT}],
    tasks("complete", ids=["1"]),
    tasks("complete", ids=["2"]),
    [{"text": "Done."}],
)
ASKED: list[Rule] = [{"message": "", "reply": [{"text": "Yes?"}]}]


def write(there: Room, *rules: list[Rule]) -> None:
    every = [rule for some in rules for rule in some]
    (there.table.folder / "script.json").write_text(json.dumps({"rules": every}))


def yes(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def ticks(received: list[ChatContentReceivedParams]) -> list[str]:
    """The list after each of its changes: a letter for each task, pending, in-progress or done."""
    lists = [content.details for content in called(received) if isinstance(content.details, TaskDetails)]
    return ["".join(task.status[0] for task in one.tasks) for one in lists]


async def planned(there: Room) -> list[ChatContentReceivedParams]:
    return await answer(there.client, "Plan it", yes, agent="plan")


async def test_go_switches_the_chat_to_an_agent_that_acts_and_has_the_plan_carried_out(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1"), code("b", "y = x")) as there:
        write(there, PLANNED, DOING)
        plan = await planned(there)
        shown = next(one.details for one in called(plan))
        assert isinstance(shown, FileChangeDetails)
        assert "-x = 1\n+x = 2\n" in shown.diff
        assert there.page.cells()[0] == ("a", "x = 1")
        assert plan[-1].content == ProgressContent(state="finished", plan=True)

        done = await answer(there.client, "Go!", yes)
        assert there.page.cells()[0] == ("a", "x = 2")
        assert ticks(done) == ["pp", "ip", "dp", "dd"]
        assert (said(done), done[-1].content) == ("Done.", ProgressContent(state="finished"))
        assert (await there.table.host.chats.load("chat")).choice.agent == "code"


@pytest.mark.parametrize("words", ["/go", "carry it out", "/go but leave y alone"])
async def test_a_plan_is_carried_out_by_a_command_or_by_plain_words(tmp_path: Path, words: str) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, DOING)
        await planned(there)
        # The panel names the agent that its picker shows.
        await answer(there.client, words, yes, agent="plan")
        assert there.page.cells() == [("a", "x = 2")]
        asked = (await there.table.host.chats.load("chat")).state.history
        assert any(f"{words}\n\n{CARRY_OUT}" in message.text for message in asked)


async def test_a_list_of_tasks_is_asked_for_from_three_steps_on(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, DOING)
        await planned(there)
        await answer(there.client, "go", yes)
        history = (await there.table.host.chats.load("chat")).state.history
        asked = next(message.text for message in history if "carry it out" in message.text)
        assert "Put three steps or more into the list of `task`" in asked


async def test_whoever_shows_the_chat_is_told_that_its_agent_is_another(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, DOING)
        await planned(there)
        async with connect_and_initialize(there.table) as other:
            await other.ask("chat/open", {"chatId": "chat"})
            await answer(there.client, "go", yes)
            await other.ask("chat/list", {})
            chosen = {"selectAgent": "code", "selectBehavior": "agent"}
            assert other.params("config/updated")[-1] == {"chat": chosen, "chatId": "chat"}


async def test_where_the_default_agent_is_ones_own_it_carries_the_plan_out(tmp_path: Path) -> None:
    own: dict[str, Any] = {"defaultAgent": "mine", "agent": {"mine": {"description": "Mine"}}}
    async with room(tmp_path, code("a", "x = 1"), **own) as there:
        write(there, PLANNED, DOING)
        await planned(there)
        await answer(there.client, "go", yes)
        assert (await there.table.host.chats.load("chat")).choice.agent == "mine"


async def test_without_a_plan_go_is_a_word_like_any_other_and_the_command_says_how(tmp_path: Path) -> None:
    async with desk(tmp_path, ASKED) as table:
        client = await table.client()
        assert said(await answer(client, "go", agent="plan")) == "Yes?"
        assert said(await answer(client, "hello", agent="code")) == "Yes?"
        assert said(await answer(client, "go")) == "Yes?"
        assert "no plan to carry out" in said(await answer(client, "/go"), Role.SYSTEM)


async def test_words_in_the_middle_of_a_plan_come_before_its_next_step(tmp_path: Path) -> None:
    steered: list[Rule] = [{"message": "only look", "reply": [{"tool": "notebook_read", "arguments": {}}]}]
    changing: list[list[Rule]] = [[{"tool": "notebook_edit_cell", "arguments": EDIT}], [{"text": "Changed."}]]
    stopped = [{"result": "cell 1", "tool": "notebook_read", "reply": [{"text": "I only looked."}]}]
    async with room(tmp_path, code("a", "x = 1")) as there:
        there.page.hold = asyncio.Event()
        running = in_turn([{"tool": "notebook_run_cells", "arguments": {"cells": ["1"]}}], *changing)
        write(there, PLANNED, steered, stopped, running)
        await planned(there)
        doing = asyncio.ensure_future(answer(there.client, "go", yes))
        await there.page.running.wait()
        there.table.host.turns.steer("chat", "Do not change it, only look")
        there.page.hold.set()
        received = await doing
        assert [one.name for one in called(received)][-1] == "notebook_read"
        assert there.page.cells() == [("a", "x = 1")]
        assert (said(received), outcomes(received)) == ("I only looked.", ["completed"])


async def test_a_plan_that_could_not_be_carried_out_can_be_once_more(tmp_path: Path) -> None:
    failing = [{"message": "accepted the plan", "times": 1, "reply": [{"error": "No."}]}]
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, failing, DOING)
        await planned(there)
        failed = await answer(there.client, "go", yes)
        assert (outcomes(failed), failed[-1].content) == (["failed"], ProgressContent(state="finished", plan=True))
        # The agent acts already by now.
        await answer(there.client, "go", yes)
        assert there.page.cells() == [("a", "x = 2")]


async def test_a_plan_waits_for_go_also_after_the_server_was_started_anew(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED)
        await planned(there)
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, DOING)
        await answer(there.client, "go", yes)
        assert there.page.cells() == [("a", "x = 2")]


async def test_only_a_client_with_the_envelope_is_told_that_an_answer_is_a_plan(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED)
        await planned(there)
        end = (await there.table.host.chats.read_events("chat"))[-1]
    for envelope in (True, False):
        content = make_content(end, "chat", envelope=envelope).content
        assert isinstance(content, ProgressContent)
        assert content.plan is (True if envelope else None)


async def test_a_summary_keeps_the_list_of_tasks_word_for_word(tmp_path: Path) -> None:
    begun = in_turn(
        tasks("plan", tasks=["Set x to 2", "Look at y"]), tasks("complete", ids=["1"]), [{"text": "So far."}]
    )
    summary = [{"message": "about to exceed", "reply": [{"text": "## Goal\nx"}]}]
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, summary, begun)
        await planned(there)
        await answer(there.client, "go", yes)
        await answer(there.client, "/compact")
        (kept,) = (await there.table.host.chats.load("chat")).state.history
        assert kept.text.index("## Goal\nx") < kept.text.index("[x] 1. Set x to 2\n[ ] 2. Look at y")
    async with room(tmp_path, code("a", "x = 1")) as there:
        assert "[ ] 2. Look at y" in (await there.table.host.chats.load("chat")).state.history[0].text
