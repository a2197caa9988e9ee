"""The sessions that an outside agent has kept: they are listed, and a chat goes on with one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.host.outside.talking import talking
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_all_pages_are_listed_before_the_first_prompt(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        shown = said(await answer(talk.client, "/sessions", agent="fake"), "system").splitlines()
        assert shown[:2] == ["1. *Clean the data* (2026-01-31 12:00)", "2. *s-2*"]
        assert [frame["params"].get("cursor") for frame in talk.list_frames("client", "session/list")] == [
            None,
            "page 2",
        ]
        assert talk.list_frames("client", "session/new") == []


async def test_the_chat_goes_on_with_the_session_that_was_chosen(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say one")
        await answer(talk.client, "/sessions 1", agent="fake")
        assert said(await talk.ask("say two")) == "two"
        (resumed,) = talk.list_frames("client", "session/resume")
        assert resumed["params"]["sessionId"] == "s-1"
        prompts = [frame["params"]["prompt"] for frame in talk.list_frames("client", "session/prompt")]
        assert prompts[-1] == [{"type": "text", "text": "DO: say two"}]


async def test_a_new_chat_goes_on_with_an_earlier_session_from_its_first_prompt(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await answer(talk.client, "/sessions s-2", agent="fake")
        assert said(await talk.ask("say Hello")) == "Hello"
        assert [frame["params"]["sessionId"] for frame in talk.list_frames("client", "session/resume")] == ["s-2"]


@pytest.mark.parametrize(("message", "words"), [("/sessions 3", "'3'"), ("/sessions nothing", "'nothing'")])
async def test_a_session_that_is_not_listed_is_not_chosen(tmp_path: Path, message: str, words: str) -> None:
    async with talking(tmp_path) as talk:
        assert words in said(await answer(talk.client, message, agent="fake"), "system")
        await talk.ask("say Hello")
        assert talk.list_frames("client", "session/resume") == []


async def test_an_agent_that_keeps_no_sessions_and_one_of_ours_say_so(tmp_path: Path) -> None:
    async with talking(tmp_path, "no resume") as talk:
        theirs = said(await answer(talk.client, "/sessions", agent="fake"), "system")
        assert "earlier sessions" in theirs
        ours = said(await answer(talk.client, "/sessions", chat="other"), "system")
        assert "/resume" in ours


async def test_an_agent_that_fails_is_named(tmp_path: Path) -> None:
    async with talking(tmp_path, "dies") as talk:
        assert "no such model" in said(await answer(talk.client, "/sessions", agent="fake"), "system")
