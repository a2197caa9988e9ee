"""What an outside agent asks the user besides permissions, and its `/` commands."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.content import TextContent
from jupyter_eca.protocol.question import ChatAskQuestionResult
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from tests.host.outside.talking import talking
from tests.support.host_and_client import Door, outcomes, said

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.transport.eca_client import QuestionHandler
    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def answering(folder: Path, answer: QuestionHandler) -> AsyncGenerator[Talking]:
    """A host with the agent, and a client whose user answers questions."""
    async with talking(folder) as talk:
        ours, theirs = make_link_pair()
        talk.table.tasks.create_task(EcaSession(theirs, Door(talk.host)).run())
        talk.client = EcaClient(ours, "test", answer_questions=answer)
        talk.table.tasks.create_task(talk.client.run())
        await talk.client.initialize(unattended=False)
        yield talk
        await talk.client.close()


async def test_the_answer_of_the_user_to_a_form_reaches_the_agent(tmp_path: Path) -> None:
    asked: list[str] = []

    async def choose(params: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        asked.append(params.question)
        return ChatAskQuestionResult(answer="blue")

    async with answering(tmp_path, choose) as talk:
        assert json.loads(said(await talk.ask("question"))) == {"action": "accept", "content": {"color": "blue"}}
    assert "Which colour?" in asked[0]
    assert asked[0].startswith("fake asks")


async def test_a_question_that_the_user_leaves_is_cancelled(tmp_path: Path) -> None:
    async def leave(_: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        return ChatAskQuestionResult(answer=None, cancelled=True)

    async with answering(tmp_path, leave) as talk:
        assert json.loads(said(await talk.ask("question"))) == {"action": "cancel"}


async def test_a_page_is_named_with_its_host_before_it_is_opened(tmp_path: Path) -> None:
    asked: list[str] = []

    async def open_page(params: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        asked.append(params.question)
        return ChatAskQuestionResult(answer="I have opened it")

    async with answering(tmp_path, open_page) as talk:
        received = await talk.ask("page https://sign-in.example/start", "page file:///etc/passwd")
        assert said(received) == '{"action": "accept"}{"action": "decline"}'
    assert len(asked) == 1
    assert "sign-in.example" in asked[0]


async def test_nobody_is_there_to_answer_so_a_question_is_cancelled(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert json.loads(said(await talk.ask("question"))) == {"action": "cancel"}


async def test_stop_cancels_an_open_question(tmp_path: Path) -> None:
    async def stop(_: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        talk.host.turns.stop("chat")
        return ChatAskQuestionResult(answer=None, cancelled=True)

    async with answering(tmp_path, stop) as talk:
        assert outcomes(await talk.ask("question", "wait")) == ["stopped"]
        assert said(await talk.ask("say Hello")) == "Hello"
        answers: list[Any] = [frame.get("result") for frame in talk.list_frames("client")]
        assert {"action": "cancel"} in answers


async def test_the_commands_of_the_agent_are_listed_in_its_chat_and_sent_word_for_word(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say Hello")
        listed = await talk.client.list_commands("chat", "rev")
        assert ("review", "Reviews the changes") in [(command.name, command.description) for command in listed]
        assert "review" not in [command.name for command in await talk.client.list_commands("other", "rev")]
        received = [item async for item in talk.client.ask("chat", "/review all", agent="fake")]
        texts = [item.content.text for item in received if isinstance(item.content, TextContent)]
        assert "I got: /review all" in texts
