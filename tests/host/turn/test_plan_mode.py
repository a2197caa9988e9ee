"""Plan, then do: what plan mode shows, what "go" makes of it, and that the user still steers."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import list_offered
from jupyter_eca.engine.model.task_plan import CARRY_OUT
from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    ProgressContent,
    RejectReason,
    Role,
    TaskDetails,
    ToolCallRejectedContent,
    ToolCallRunContent,
    ToolCallRunningContent,
)
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.hooks.written import hook, says
from tests.support.host_and_client import answer, desk, outcomes, said
from tests.support.notebook_page import PATH, Room, called, code, room
from tests.support.raw_client import connect_and_initialize, content_params, has

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


async def test_a_follow_up_of_a_hook_does_not_carry_the_plan_out_again(tmp_path: Path) -> None:
    once = f"grep -q Done. || exit 0; test -f asked && exit 0; touch asked; {says(followUp='Check it.')}"
    async with room(tmp_path, code("a", "x = 1"), hooks={"check": hook("postRequest", once)}) as there:
        write(there, PLANNED, DOING)
        await planned(there)
        async with connect_and_initialize(there.table) as other:
            await answer(there.client, "go", yes)
            await other.until(lambda one: has(content_params(one).get("content", {}), {"text": "Check it."}))
            await other.finished()
        asked = (await there.table.host.chats.load("chat")).state.history
        assert [CARRY_OUT in message.text for message in asked if "Check it." in message.text] == [False]


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


def what_the_model_is_told_first(there: Room) -> tuple[str, list[tuple[str, str, Any]]]:
    """The system prompt and the tools of the last turn, which a vendor's cache keeps."""
    live = there.table.host.chats.get_live("chat")
    assert live is not None
    setup = live.state.setup
    return setup.system, [(tool.name, tool.description, tool.parameters) for tool in list_offered(setup.tools)]


def refused(received: list[ChatContentReceivedParams]) -> dict[str, ToolCallRejectedContent]:
    contents = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
    return {content.name: content for content in contents}


PROPOSED: list[Rule] = [
    {"message": "^Plan", "reply": [{"tool": "notebook_change", "arguments": {"changes": [CHANGE]}}]},
    {"result": 'with preview "(?P<id>\\w+)"', "reply": [{"text": "1. Set x to 2 ($id)."}]},
]


@pytest.mark.parametrize("first", ["plan", "code"])
async def test_plan_mode_and_go_begin_the_request_with_the_same_words(tmp_path: Path, first: str) -> None:
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, PLANNED, ASKED)
        agents = [first, "plan", "code"]
        told: list[Any] = []
        for agent in agents:
            await answer(there.client, "Plan it" if agent == "plan" else "Hello", yes, agent=agent)
            told.append(what_the_model_is_told_first(there))
        await answer(there.client, "/go", yes, agent="plan")
        told.append(what_the_model_is_told_first(there))
        assert all(one == told[0] for one in told)
        history = (await there.table.host.chats.load("chat")).state.history
        modes = ["Plan mode" in message.text for message in history if message.role == "user" and message.text]
        assert modes[: len(agents)] == [agent == "plan" for agent in agents]


async def test_a_call_that_would_change_cells_is_shown_as_a_proposal_and_go_makes_exactly_that(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1"), toolCall={"approval": {"byDefault": "allow"}}) as there:
        write(there, PROPOSED)
        plan = await planned(there)
        proposal = refused(plan)["notebook_change"]
        assert proposal.reason is RejectReason.PLAN
        assert isinstance(proposal.details, FileChangeDetails)
        assert "-x = 1\n+x = 2\n" in proposal.details.diff
        assert there.page.cells() == [("a", "x = 1")]
        announced = next(one.content for one in plan if isinstance(one.content, ToolCallRunContent))
        assert (announced.cause, announced.manual_approval) == (None, False), "no rule has allowed it"
        preview = said(plan).rpartition("(")[2].rstrip(").")
        making = in_turn([{"tool": "notebook_change", "arguments": {"preview": preview}}], [{"text": "Done."}])
        write(there, PROPOSED, making)
        done = await answer(there.client, "go", yes)
        assert (there.page.cells(), said(done)) == ([("a", "x = 2")], "Done.")


def read_texts(folder: Path) -> dict[str, str]:
    """The text files and notebooks of a folder."""
    return {path.name: path.read_text() for path in folder.iterdir() if path.suffix in {".txt", ".ipynb"}}


async def test_nothing_that_changes_something_runs_in_plan_mode_whatever_the_rules_and_trust_allow(
    tmp_path: Path,
) -> None:
    (tmp_path / "kept.txt").write_text("kept\n")
    arguments: dict[str, Rule] = {
        "write_file": {"path": "new.txt", "content": "new\n"},
        "move_file": {"source": "kept.txt", "destination": "lost.txt"},
        "shell_command": {"command": "rm kept.txt"},
        "notebook_change": {"changes": [CHANGE]},
        "notebook_run_cells": {"cells": ["a"]},
        "notebook_create": {"path": "new.ipynb", "cells": [{"source": "1"}]},
        "spawn_agent": {"agent": "nobody", "task": "x", "activity": "x"},
    }
    allowed = {"approval": {"byDefault": "allow"}}
    async with room(tmp_path, code("a", "x = 1"), toolCall=allowed, chat={"defaultTrust": True}) as there:
        write(there, ASKED)
        await answer(there.client, "Hello", yes, agent="plan")
        live = await there.table.host.chats.load("chat")
        changing = [tool.name for tool in live.state.setup.tools if not tool.read_only_hint]
        assert {*arguments} <= {*changing}
        calls: list[Rule] = [{"tool": name, "arguments": arguments.get(name, {})} for name in changing]
        look: Rule = {"tool": "read_file", "arguments": {"path": "kept.txt"}}
        seen = [{"result": "kept", "tool": "read_file", "reply": [{"text": "Still there."}]}]
        write(there, [{"message": "^Plan", "reply": [*calls, look]}], seen)
        received = await planned(there)
        running = {one.content.name for one in received if isinstance(one.content, ToolCallRunningContent)}
        assert running == {"read_file"}
        assert {*arguments} <= {*refused(received)}
        assert {one.reason for one in refused(received).values()} == {RejectReason.PLAN}
        # The others have found by themselves that they cannot succeed with these arguments.
        failed = {content.name for content in called(received) if content.error}
        assert failed | {*refused(received)} == {*changing}
        assert (said(received), there.page.cells()) == ("Still there.", [("a", "x = 1")])
    assert read_texts(tmp_path) == {"kept.txt": "kept\n"}


async def test_a_call_that_a_rule_forbids_is_no_proposal(tmp_path: Path) -> None:
    denied = {"approval": {"deny": {"notebook_change": {"argsMatchers": {"path": [".*"]}}}}}
    async with room(tmp_path, code("a", "x = 1"), toolCall=denied) as there:
        change: Rule = {"tool": "notebook_change", "arguments": {"changes": [CHANGE], "path": PATH}}
        write(there, [{"message": "^Plan", "reply": [change]}], [{"result": "", "reply": [{"text": "No."}]}])
        assert refused(await planned(there))["notebook_change"].reason is RejectReason.CONFIG


async def test_a_prompt_of_ones_own_for_the_planner_is_all_that_it_is_told(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1"), agent={"plan": {"systemPrompt": "Only plan."}}) as there:
        write(there, ASKED)
        await answer(there.client, "Plan it", yes, agent="plan")
        assert what_the_model_is_told_first(there)[0].startswith("Only plan.")
        history = (await there.table.host.chats.load("chat")).state.history
        assert not any("Plan mode" in message.text for message in history)


async def test_a_rule_for_the_planner_alone_is_told_to_the_planner_alone(tmp_path: Path) -> None:
    rules = tmp_path / ".eca" / "rules"
    rules.mkdir(parents=True)
    (rules / "plans.md").write_text("---\nagent: plan\n---\nPlans have five steps.\n")
    async with room(tmp_path, code("a", "x = 1")) as there:
        write(there, ASKED)
        for agent, is_told in (("code", False), ("plan", True), ("code", False)):
            await answer(there.client, "Hello", yes, agent=agent)
            assert ("Plans have five steps." in what_the_model_is_told_first(there)[0]) is is_told
