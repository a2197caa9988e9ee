"""Turns: asked, streamed, approved, asked back, cancelled, failed; begun here or elsewhere."""

from __future__ import annotations

import asyncio
import base64
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.ahp.place import APPROVE, DENY, LINE, calls_of, place, text_of
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


def write_to(path: str) -> list[dict[str, Any]]:
    """A model that writes one file."""
    write = {"tool": "write_file", "arguments": {"path": path, "content": "{}"}}
    return [{"result": "", "reply": [{"text": "Done."}]}, {"message": "", "reply": [write]}]


async def test_a_call_is_shown_with_every_character(tmp_path: Path) -> None:
    hidden = "echo \u202e\u200b\x1b[8m; rm x"
    call = {"tool": "shell_command", "arguments": {"command": hidden}}
    async with place(tmp_path, [{"message": "", "reply": [call]}]) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "go")
        shown = await client.call(S, "pending-confirmation")
        assert shown["invocationMessage"].endswith("echo \\u202e\\u200b\\u001b[8m; rm x")
        assert "echo \\u202e\\u200b\\u001b[8m; rm x" in shown["toolInput"]
        assert json.loads(shown["toolInput"]) == {"command": hidden}


async def test_a_session_is_made_asked_in_and_answered(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        state = await client.create(S)
        assert (state["lifecycle"], state["turns"], state["summary"]["status"]) == ("ready", [], 1)
        echo = await client.echo(await client.ask(S, "t1", "you"))
        assert "rejectionReason" not in echo
        state = await client.settled(S, 1)
        turn = state["turns"][0]
        assert (turn["id"], turn["state"], turn["userMessage"]) == ("t1", "complete", {"text": "you"})
        assert text_of(turn) == "Hello, you"
        assert turn["usage"]["outputTokens"] > 0
        assert (state["summary"]["title"], state["summary"]["status"]) == ("you", 1)
        at.same(client, S)


async def test_the_echo_comes_before_any_consequence_and_deltas_go_to_parts_that_are_there(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "think")
        await client.settled(S, 1)
        of_turn = [e["action"] for e in client.envelopes if e["action"].get("turnId") == "t1"]
        assert of_turn[0]["type"] == "session/turnStarted"
        ends = ("session/turnComplete", "session/turnCancelled", "session/error")
        assert [a["type"] for a in of_turn if a["type"] in ends] == [of_turn[-1]["type"]] == ["session/turnComplete"]
        parts = {a["part"]["id"]: at for at, a in enumerate(of_turn) if a["type"] == "session/responsePart"}
        deltas = [(at, a["partId"]) for at, a in enumerate(of_turn) if "partId" in a]
        assert all(parts[id] < at for at, id in deltas)
        kinds = [part["kind"] for part in client.states[S]["turns"][0]["responseParts"]]
        assert kinds == ["reasoning", "markdown"]
        assert client.states[S]["turns"][0]["responseParts"][0]["content"] == "Hm. Well."


async def test_the_confirmation_of_a_call_says_that_it_changes_what_may_run_without_asking(tmp_path: Path) -> None:
    async with place(tmp_path, write_to(".eca/config.json")) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "go")
        call = await client.call(S, "pending-confirmation")
        assert call["invocationMessage"] == (
            "This changes what may run without asking (`.eca/config.json`): Writing .eca/config.json"
        )
        await client.decide(S, "t1", call, **DENY)
        await client.settled(S, 1)


async def test_the_confirmation_of_a_command_shows_it_as_it_runs(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "run")
        call = await client.call(S, "pending-confirmation")
        assert json.loads(call["toolInput"]) == {"command": LINE}
        await client.decide(S, "t1", call, **APPROVE)
        await client.settled(S, 1)
        assert (tmp_path / "made.txt").read_text() == 'a  "b"\n'


async def test_a_tool_call_is_approved_and_its_edit_can_be_read_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("a\nb\nz\n")
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "edit")
        call = await client.call(S, "pending-confirmation")
        assert client.states[S]["summary"]["status"] == 24
        assert [option["kind"] for option in call["options"]] == ["approve", "approve", "deny"]
        assert call["invocationMessage"] == "Editing old.txt"
        (edit,) = call["edits"]["items"]
        assert (edit["before"]["uri"], edit["diff"]) == ((tmp_path / "old.txt").as_uri(), {"added": 2, "removed": 1})

        async def read(side: str) -> str:
            return (await client.request("resourceRead", uri=edit[side]["content"]["uri"]))["data"]

        assert (await read("before"), await read("after")) == ("a\nb\nz\n", "a\nB\nc\nz\n")
        await client.decide(S, "t1", call, **APPROVE)
        (done,) = calls_of((await client.settled(S, 1))["turns"][0])
        assert (done["status"], done["success"], done["confirmed"]) == ("completed", True, "user-action")
        assert done["content"][-1]["type"] == "fileEdit"
        assert done["pastTenseMessage"]
        (tmp_path / "old.txt").write_text("later")
        assert (await read("before"), await read("after")) == ("a\nb\nz\n", "a\nB\nc\nz\n")
        await at.wait_until_same(client, S)


async def test_a_denied_call_does_not_run_and_the_model_is_told_why(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "write")
        call = await client.call(S, "pending-confirmation")
        assert "before" not in call["edits"]["items"][0]
        words = {**DENY, "reasonMessage": "Use another name."}
        await client.decide(S, "t1", call, **words)
        state = await client.settled(S, 1)
        (refused,) = calls_of(state["turns"][0])
        assert (refused["status"], refused["reason"]) == ("cancelled", "denied")
        assert "Use another name." in text_of(state["turns"][0])
        assert not (tmp_path / "new.txt").exists()
        at.same(client, S)


async def test_allowing_a_tool_for_the_session_lets_the_next_call_run_unasked(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "twice")
        first = await client.call(S, "pending-confirmation")
        await client.call(S, "pending-confirmation", 1)
        chosen = {**APPROVE, "selectedOptionId": "allow-session"}
        await client.decide(S, "t1", first, **chosen)
        calls = calls_of((await client.settled(S, 1))["turns"][0])
        assert [call["status"] for call in calls] == ["completed", "completed"]
        assert calls[0]["selectedOption"]["id"] == "allow-session"
        await client.ask(S, "t2", "write")
        (call,) = calls_of((await client.settled(S, 2))["turns"][1])
        assert call["confirmed"] == "not-needed"
        at.same(client, S)


async def test_a_call_that_the_rules_forbid_is_shown_as_denied(tmp_path: Path) -> None:
    rules = {"deny": {"write_file": {"argsMatchers": {"path": ["new.*"]}}}}
    async with place(tmp_path, toolCall={"approval": rules}) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "write")
        (call,) = calls_of((await client.settled(S, 1))["turns"][0])
        assert (call["status"], call["reason"]) == ("cancelled", "denied")
        assert "rules" in call["reasonMessage"]


async def test_a_question_is_answered_by_choice_after_a_draft(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, other = await at.connect("one"), await at.connect("two")
        await client.create(S)
        await other.subscribe(S)
        await client.ask(S, "t1", "ask")
        (request,) = await client.until(lambda: client.states[S].get("inputRequests"))
        (question,) = request["questions"]
        assert client.states[S]["summary"]["status"] == 24
        assert (question["kind"], [o["label"] for o in question["options"]]) == ("single-select", ["Red", "Blue"])
        about = {"requestId": request["id"]}
        early = await client.echo(await client.act("session/inputCompleted", S, **about, response="accept"))
        assert "rejectionReason" in early
        chosen = {"state": "draft", "value": {"kind": "selected", "value": "2"}}
        await other.act("session/inputAnswerChanged", S, **about, questionId=question["id"], answer=chosen)
        await client.until(lambda: client.states[S]["inputRequests"][0].get("answers"))
        wrong = {"state": "submitted", "value": {"kind": "number", "value": 2}}
        seq = await client.act("session/inputAnswerChanged", S, **about, questionId=question["id"], answer=wrong)
        assert "rejectionReason" in await client.echo(seq)
        final = {question["id"]: {**chosen, "state": "submitted"}}
        await client.act("session/inputCompleted", S, **about, response="accept", answers=final)
        turn = (await client.settled(S, 1))["turns"][0]
        assert "It said: The user answered: Blue" in text_of(turn)
        assert "inputRequests" not in client.states[S]
        at.same(client, S)


async def test_a_question_in_words_that_is_declined_goes_on_without_an_answer(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "words")
        (request,) = await client.until(lambda: client.states[S].get("inputRequests"))
        assert request["questions"][0]["kind"] == "text"
        await client.act("session/inputCompleted", S, requestId=request["id"], response="decline")
        assert "did not answer" in text_of((await client.settled(S, 1))["turns"][0])
        at.same(client, S)


async def test_cancelling_stops_the_answer_and_keeps_what_was_said(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "slow")
        await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
        await client.act("session/turnCancelled", S, turnId="t1")
        turn = (await client.settled(S, 1))["turns"][0]
        assert turn["state"] == "cancelled"
        assert text_of(turn).startswith("word")
        assert "activity" not in client.states[S]["summary"]
        again = await client.echo(await client.act("session/turnCancelled", S, turnId="t1"))
        assert again["rejectionReason"]
        await client.ask(S, "t2", "you")
        assert text_of((await client.settled(S, 2))["turns"][1]) == "Hello, you"
        at.same(client, S)


async def test_a_turn_that_was_cut_off_and_begun_again_with_the_same_id_is_cancelled_too(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "ask")
        await client.act("session/truncated", S)
        await client.ask(S, "t1", "ask")
        cancel = await client.act("session/turnCancelled", S, turnId="t1")
        assert "rejectionReason" not in await client.echo(cancel)
        await client.ask(S, "t2", "you")
        state = await client.settled(S, 2)
        assert [(turn["id"], turn["state"]) for turn in state["turns"]] == [("t1", "cancelled"), ("t2", "complete")]
        assert text_of(state["turns"][1]) == "Hello, you"


async def test_a_turn_cancelled_as_soon_as_it_was_begun_leaves_the_session_usable(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "slow")
        await client.act("session/turnCancelled", S, turnId="t1")
        await client.ask(S, "t2", "you")
        state = await client.settled(S, 2)
        assert [turn["state"] for turn in state["turns"]] == ["cancelled", "complete"]
        at.same(client, S)


async def test_a_turn_that_fails_ends_with_the_reason(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "fail")
        state = await client.settled(S, 1)
        assert state["turns"][0]["state"] == "error"
        assert state["turns"][0]["error"]["message"] == "The endpoint broke off."
        assert state["summary"]["status"] == 2
        at.same(client, S)


async def test_a_chat_of_an_editor_is_watched_answered_and_continued_and_the_other_way_round(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, editor = await at.connect(), await at.client()
        await answer(editor, "you", chat="chat")
        added = await client.told("notify/sessionAdded")
        assert added["summary"]["resource"] == "eca:/chat"
        state = await client.subscribe("eca:/chat")
        assert text_of(state["turns"][0]) == "Hello, you"
        assert state["summary"]["model"] == {"id": "scripted/test"}
        await client.ask("eca:/chat", "t2", "me")
        await client.settled("eca:/chat", 2)
        assert said(await answer(editor, "them", chat="chat")) == "Hello, them"
        state = await client.settled("eca:/chat", 3)
        assert [turn["userMessage"]["text"] for turn in state["turns"]] == ["you", "me", "them"]
        at.same(client, "eca:/chat")


async def test_a_call_in_an_editors_turn_is_approved_from_here(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client, editor = await at.connect(), await at.client()
        await client.create("eca:/chat")
        asking = at.tasks.create_task(answer(editor, "write", chat="chat"))
        call = await client.call("eca:/chat", "pending-confirmation")
        turn = client.states["eca:/chat"]["activeTurn"]["id"]
        about = {"turnId": turn, "toolCallId": call["toolCallId"]}
        await client.act("session/toolCallConfirmed", "eca:/chat", **about, **APPROVE)
        assert "It said" in said(await asking)
        assert (tmp_path / "new.txt").read_text() == "one\ntwo\n"


async def test_what_is_attached_reaches_the_model_and_is_there_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("1\n2\n3\n")
    rules = [{"message": "", "reply": [{"text": "Read."}]}]
    text = {"type": "embeddedResource", "label": "n", "contentType": "text/plain",
            "data": base64.b64encode(b"a note").decode()}  # fmt: skip
    lines = {"range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 1}}}
    file = {"type": "resource", "label": "d", "uri": (tmp_path / "data.txt").as_uri(), "selection": lines}
    simple = {"type": "simple", "label": "s", "modelRepresentation": "simply"}
    attached = [text, file, simple]
    async with place(tmp_path, rules) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "look", attachments=attached)
        await client.settled(S, 1)
        sent = str((await at.host.turns.draft("s1")).messages)
        assert "a note" in sent
        assert "simply" in sent
        assert "2" in sent.partition("data.txt")[2]
    async with place(tmp_path, rules) as at:
        state = await (await at.connect()).subscribe(S)
        assert state["turns"][0]["userMessage"]["attachments"] == attached


async def test_a_part_is_created_empty_and_all_of_its_text_follows_in_deltas(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "think")
        await client.settled(S, 1)
        done = [envelope["action"] for envelope in client.envelopes]
        parts = [action["part"] for action in done if action["type"] == "session/responsePart"]
        assert [(part["kind"], part["content"]) for part in parts] == [("reasoning", ""), ("markdown", "")]
        for part, words in zip(parts, ("Hm. Well.", "So it is."), strict=True):
            assert "".join(action["content"] for action in done if action.get("partId") == part["id"]) == words
        await at.wait_until_same(client, S)


@pytest.mark.parametrize("approved_first", [True, False])
async def test_the_second_of_two_decisions_is_refused_and_what_happened_is_shown(
    tmp_path: Path, approved_first: bool
) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "write")
        call = await client.call(S, "pending-confirmation")
        await at.host.store.settle()
        # Another program writes, so that no client hears yet of the first decision.
        with closing(sqlite3.connect(tmp_path / ".data" / "chats.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            if approved_first:
                at.host.turns.approve("s1", call["toolCallId"], remember=False)
            else:
                at.host.turns.reject("s1", call["toolCallId"], "")
            late = await client.decide(S, "t1", call, **(DENY if approved_first else APPROVE))
            assert "decided" in (await client.echo(late))["rejectionReason"]
            other.execute("ROLLBACK")
        (done,) = calls_of((await client.settled(S, 1))["turns"][0])
        assert done["status"] == ("completed" if approved_first else "cancelled")
        assert (tmp_path / "new.txt").exists() is approved_first
        await at.wait_until_same(client, S)


async def test_stop_does_not_wait_for_a_copy_that_the_same_client_asked_for(tmp_path: Path) -> None:
    (tmp_path / "big").touch()
    free = threading.Event()
    with ThreadPoolExecutor(1) as disk:
        async with place(tmp_path) as at:
            client = await at.connect()
            await client.create(S)
            await client.ask(S, "t1", "slow")
            await client.until(lambda: client.states[S].get("activeTurn", {}).get("responseParts"))
            asyncio.get_running_loop().set_default_executor(disk)
            disk.submit(free.wait)
            big = (tmp_path / "big").as_uri()
            copying = at.tasks.create_task(client.request("resourceCopy", source=big, destination=f"{big}2"))
            reading = at.tasks.create_task(client.request("resourceRead", uri=f"{big}2"))
            try:
                await client.echo(await client.act("session/turnCancelled", S, turnId="t1"))
                assert not copying.done()
            finally:
                free.set()
            assert await copying == {}
            assert (await reading)["data"] == ""
            assert (await client.settled(S, 1))["turns"][0]["state"] == "cancelled"
