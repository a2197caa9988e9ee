"""Budgets: what would cost more than the user allows is asked about first, and where nobody is there it is not sent."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.budget import GO_ON, STOP
from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.host.store import Spending
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import ToolCalledContent
from jupyter_eca.protocol.costs import ChatCostsParams, ChatCostsResult
from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from tests.support.host_and_client import Desk, Door, answer, outcomes, said
from tests.support.priced_host import HELLO, priced
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RAISE = "Raise it by"

LOOK: list[dict[str, Any]] = [
    {"message": "look", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
    {"result": "", "reply": [{"text": "I looked."}]},
    *HELLO,
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"directory_tree": {}}}}}


@dataclass
class Person:
    """Somebody who answers what is asked, by the start of an option, in order; the last answer is repeated. Without one
    they think about it for ever."""

    answers: tuple[str, ...] = ()
    asked: list[ChatAskQuestionParams] = field(default_factory=list[ChatAskQuestionParams])
    thinks: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, asked: ChatAskQuestionParams) -> ChatAskQuestionResult:
        self.asked.append(asked)
        self.thinks.set()
        if not self.answers:
            await asyncio.Event().wait()
        wanted = self.answers[min(len(self.asked), len(self.answers)) - 1]
        labels = [option.label for option in asked.options or ()]
        return ChatAskQuestionResult(answer=next(label for label in labels if label.startswith(wanted)))


@asynccontextmanager
async def spender(table: Desk, person: Person | None = None) -> AsyncGenerator[EcaClient]:
    ours, theirs = make_link_pair()
    table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
    client = EcaClient(ours, "test", answer_questions=person)
    table.tasks.create_task(client.run())
    await client.initialize(unattended=False)
    try:
        yield client
    finally:
        await client.close()


async def requests(client: EcaClient) -> int:
    told = await client.request("chat/costs", ChatCostsParams(chat_id="chat"), ChatCostsResult)
    return told.today.requests


async def test_within_a_budget_nobody_is_asked(tmp_path: Path) -> None:
    person = Person((STOP,))
    async with priced(tmp_path, budget={"perChat": 1, "perDay": 1}) as table, spender(table, person) as client:
        assert said(await answer(client, "hello")) == "Hello there"
        assert person.asked == []


@pytest.mark.parametrize(("scope", "words"), [("perChat", "this chat"), ("perDay", "today")])
async def test_where_nobody_can_be_asked_the_turn_ends_with_one_message(tmp_path: Path, scope: str, words: str) -> None:
    async with priced(tmp_path, budget={scope: 0.000001}) as table, spender(table) as client:
        received = await answer(client, "hello")
        text = said(received, "system")
        assert text.startswith(f"The budget for {words} is 0.000001 USD; 0.00 USD were spent, and the next ")
        assert text.endswith(f"It was not sent. Raise `budget.{scope}` of the configuration to go on.")
        assert text.count("budget for") == 1
        assert (said(received), outcomes(received), await requests(client)) == ("", ["failed"], 0)


async def test_going_on_once_sends_one_request(tmp_path: Path) -> None:
    person = Person((GO_ON, STOP))
    async with priced(tmp_path, LOOK, budget={"perChat": 0}, **ALLOWED) as table, spender(table, person) as client:
        received = await answer(client, "look")
        assert [one.content.error for one in received if isinstance(one.content, ToolCalledContent)] == [False]
        assert "It was not sent." in said(received, "system")
        assert (outcomes(received), len(person.asked), await requests(client)) == (["failed"], 2, 1)


async def test_a_budget_that_is_raised_holds_for_this_chat_until_it_is_used_up(tmp_path: Path) -> None:
    person = Person((RAISE, STOP))
    async with priced(tmp_path, LOOK, budget={"perDay": 0}, **ALLOWED) as table, spender(table, person) as client:
        assert said(await answer(client, "look")) == "I looked."
        assert said(await answer(client, "hello")) == "Hello there"
        assert [option.label for option in person.asked[0].options or ()][0::2] == [GO_ON, STOP]
        assert len(person.asked) == 1
        assert "It was not sent." in said(await answer(client, "hello", chat="another"), "system")


async def test_a_stop_is_heard_while_the_question_is_open(tmp_path: Path) -> None:
    person = Person()
    async with priced(tmp_path, budget={"perChat": 0}) as table, spender(table, person) as client:
        turn = asyncio.ensure_future(answer(client, "hello"))
        await asyncio.wait_for(person.thinks.wait(), PATIENCE)
        await client.stop("chat")
        received = await turn
        assert (outcomes(received), said(received), await requests(client)) == (["stopped"], "", 0)


async def test_whoever_leaves_without_an_answer_leaves_no_turn_waiting(tmp_path: Path) -> None:
    person = Person()
    async with priced(tmp_path, budget={"perChat": 0}) as table, spender(table) as other:
        async with spender(table, person) as client:
            turn = asyncio.ensure_future(answer(other, "hello"))
            await asyncio.wait_for(person.thinks.wait(), PATIENCE)
            await client.close()
            received = await turn
        assert (outcomes(received), said(received)) == (["failed"], "")


async def test_a_summary_that_is_not_paid_for_ends_the_turn_with_one_message(tmp_path: Path) -> None:
    person = Person((GO_ON, STOP))
    long = {"message": "long", "reply": [{"text": "a word " * 4_000}]}
    model = {"cost": {"input": 1, "output": 1}, "limit": {"context": 8_000}}
    async with (
        priced(tmp_path, [long, *HELLO], model, budget={"perChat": 0}) as table,
        spender(table, person) as client,
    ):
        await answer(client, "long")
        received = await answer(client, "hello")
        assert (said(received, "system").count("It was not sent."), outcomes(received)) == (1, ["failed"])
        assert len(person.asked) == 2


async def test_a_notebook_has_a_budget_of_its_own(tmp_path: Path) -> None:
    lock = AnswerLock(on=False, notebook="a.ipynb", folder=str(tmp_path))
    async with priced(tmp_path, budget={"perNotebook": 0}) as table, spender(table) as client:
        assert "The budget for this notebook is" in said(await answer(client, "hello", lock=lock), "system")
        assert said(await answer(client, "hello", chat="of no notebook")) == "Hello there"


async def test_what_has_no_price_is_not_counted_and_the_message_says_so(tmp_path: Path) -> None:
    person = Person((STOP,))
    async with priced(tmp_path, budget={"perChat": 0.00001}) as table, spender(table, person) as client:
        table.host.store.record_spending(Spending(0, "chat", "turn", "", "nobody/knows", 5, 0, 5, None))
        await answer(client, "hello")
        assert "(1 more of unknown price)" in person.asked[0].question


async def test_a_model_that_costs_nothing_is_within_any_budget(tmp_path: Path) -> None:
    async with priced(tmp_path, model={}, budget={"perChat": 0, "perDay": 0}) as table, spender(table) as client:
        assert said(await answer(client, "hello")) == "Hello there"
