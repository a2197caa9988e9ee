"""What an outside agent asks the user besides permissions, and its `/` commands."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.host.operations.chat_search import find_chats
from jupyter_eca.protocol.content import ProgressContent, TextContent
from jupyter_eca.protocol.question import ChatAskQuestionResult
from jupyter_eca.transport.eca_client import EcaClient
from jupyter_eca.transport.memory import make_link_pair
from tests.host.outside.talking import talking
from tests.support.host_and_client import Door, answer, outcomes, said

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.transport.eca_client import QuestionHandler
    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def answering(folder: Path, handler: QuestionHandler) -> AsyncGenerator[Talking]:
    """A host with the agent, and a client whose user answers questions."""
    async with talking(folder) as talk:
        ours, theirs = make_link_pair()
        talk.table.tasks.create_task(EcaSession(theirs, Door(talk.host)).run())
        talk.client = EcaClient(ours, "test", answer_questions=handler)
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


async def test_the_progress_says_that_the_agent_is_waited_for_or_asks_something(tmp_path: Path) -> None:
    async def choose(_: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        return ChatAskQuestionResult(answer="blue")

    async with answering(tmp_path, choose) as talk:
        received = await talk.ask("think Well.", "question")
    progress = [item.content.text for item in received if isinstance(item.content, ProgressContent)]
    assert [text for text in progress if "fake" in text] == [
        "Waiting for fake",
        "fake asks you something",
        "Waiting for fake",
    ]
    assert "Waiting for the model" not in progress


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


async def choose_blue(_: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
    return ChatAskQuestionResult(answer="blue")


def read_database(folder: Path) -> list[bytes]:
    return [file.read_bytes() for file in folder.glob("chats.db*")]


async def read_texts(talk: Talking) -> str:
    """What is stored of the chat as text, by the system."""
    events = await talk.host.chats.read_events("chat")
    return "\n".join(
        event.content.text for event in events if isinstance(event.content, TextContent) and event.role == "system"
    )


async def test_a_question_and_its_answer_stay_in_the_chat(tmp_path: Path) -> None:
    async with answering(tmp_path, choose_blue) as talk:
        received = await talk.ask("question")
        assert "fake asked: Which colour? You answered: blue." in said(received, "system")
    async with talking(tmp_path) as talk:
        assert "fake asked: Which colour? You answered: blue." in await read_texts(talk)


async def test_a_question_and_its_answer_are_found_by_a_search_and_exported(tmp_path: Path) -> None:
    async with answering(tmp_path, choose_blue) as talk:
        await talk.ask("question")
        rows = await talk.host.chats.list_rows()
        assert "Which colour" in (await find_chats(talk.host.services.store, rows, "colour blue"))["chat"]
        await answer(talk.client, "/export chat.md", agent="fake")
        assert "You answered: blue." in (tmp_path / "chat.md").read_text()


async def test_what_a_command_of_ours_answers_is_not_found_by_a_search(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await answer(talk.client, "/options", agent="fake")
        rows = await talk.host.chats.list_rows()
        assert await find_chats(talk.host.services.store, rows, "does not run yet") == {}


async def test_a_question_that_the_user_declines_stays_in_the_chat(tmp_path: Path) -> None:
    async def decline(params: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        return ChatAskQuestionResult(answer=params.options[-1].label if params.options else None)

    async with answering(tmp_path, decline) as talk:
        received = await talk.ask("question")
        assert said(received) == '{"action": "decline"}'
        assert "Which colour? You declined to answer." in said(received, "system")


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "password"},
        {"type": "string", "writeOnly": True},
        {"type": "string", "title": "API key"},
    ],
)
async def test_a_secret_answer_reaches_the_agent_and_is_stored_nowhere(tmp_path: Path, field: dict[str, Any]) -> None:
    asked: list[ChatAskQuestionParams] = []

    async def type_it(params: ChatAskQuestionParams, /) -> ChatAskQuestionResult:
        asked.append(params)
        return ChatAskQuestionResult(answer="hush hush 4711" if params.secret else "ada")

    schema = {"type": "object", "properties": {"user": {"type": "string"}, "word": field}, "required": ["user", "word"]}
    async with answering(tmp_path, type_it) as talk:
        talk.checks_frames = False  # the protocol forbids such a field
        received = await talk.ask(f"form {json.dumps(schema)}")
        assert "user: ada" in said(received, "system")
        answers = [frame["result"].get("content") for frame in talk.list_frames("client") if frame.get("result")]
        assert {"user": "ada", "word": "hush hush 4711"} in answers
    assert [params.secret for params in asked] == [None, True]
    assert all(b"hush hush" not in data for data in read_database(tmp_path))


async def test_the_commands_of_the_agent_are_listed_in_its_chat_and_sent_word_for_word(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say Hello")
        listed = await talk.client.list_commands("chat", "rev")
        assert ("review", "Reviews the changes") in [(command.name, command.description) for command in listed]
        assert "review" not in [command.name for command in await talk.client.list_commands("other", "rev")]
        received = [item async for item in talk.client.ask("chat", "/review all", agent="fake")]
        texts = [item.content.text for item in received if isinstance(item.content, TextContent)]
        assert "I got: /review all" in texts
