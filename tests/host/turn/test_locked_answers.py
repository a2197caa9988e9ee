"""Locked answers, through the engine of a desk: recorded, replayed, asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ToolResultPart, ToolUsePart
from jupyter_eca.fronts.eca.projection import make_content
from jupyter_eca.protocol.changes import ChangeExtent
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import UsageContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import outcomes, said, tool_states
from tests.support.locked_cells import ALLOWED, RULES, SILENT, cells, replayed, shown

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio


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
        usages = [event for event in await at.host.chats.read_events("chat") if isinstance(event.content, UsageContent)]
    for envelope, told in ((True, [None, True]), (False, [None, None])):
        contents = [make_content(event, "chat", envelope=envelope).content for event in usages]
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
        told = (await at.host.turns.draft("chat")).messages
    async with cells(tmp_path, SILENT) as at:
        await at.ask("make", chat="another")
        again = (await at.host.turns.draft("another")).messages
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
            part.id
            for m in (await at.host.turns.draft("chat")).messages
            for part in m.parts
            if isinstance(part, ToolUsePart)
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
            f"demo.eca.lock has no answer to this question (changed since it was locked: {why}), and no model is asked "
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
        place = AnswerLock(on=True, notebook=str(tmp_path / "demo.ipynb"))
        async for one in at.client.ask("chat", "wait", lock=place):
            if said([one]) and not said(received):
                await at.client.stop("chat")
            received.append(one)
        assert outcomes(received) == ["stopped"]
        assert not at.lockfile.exists()


async def test_the_lock_file_of_a_turn_is_no_change_of_the_turn(tmp_path: Path) -> None:
    async with cells(tmp_path) as at:
        await at.ask("count")
        assert at.lockfile.exists()
        assert await at.host.changes.list("chat", extent=ChangeExtent.EACH) == ()
        assert "There are no changes" in said(await at.ask("/diff"), "system")


async def test_a_rejected_call_is_rejected_again_with_the_words_of_then(tmp_path: Path) -> None:
    ask_first: dict[str, Any] = {"toolCall": {"approval": {"allow": {"write_file": {}}}}}
    async with cells(tmp_path, unattended=False, **ask_first) as at:
        first = await at.ask("make", lambda _: CallDecision(approved=False, reason="Not on a Sunday."))
        told = (await at.host.turns.draft("chat")).messages
    async with cells(tmp_path, SILENT) as at:
        again = await at.ask("make", chat="another")
        assert tool_states(first).count("toolCallRejected") == tool_states(again).count("toolCallRejected") == 1
        heard = (await at.host.turns.draft("another")).messages
        assert [message.text for message in heard] == [message.text for message in told]
        assert "Not on a Sunday." in str(heard)
        assert at.notebook.ran == []
