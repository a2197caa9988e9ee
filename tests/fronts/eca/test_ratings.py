"""The ratings of answers, as two clients see them: one that is given the envelope and one that is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.eca.pair import both_show, refused, two

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.eca.editor_client import Book

pytestmark = pytest.mark.asyncio


def rated(client: Book) -> list[tuple[str, str | None]]:
    """The ratings that a client was told of, each with the id of the message before the answer."""
    return [(told["contentId"], told.get("rating")) for told in client.contents("rating")]


async def test_an_answer_is_rated_and_the_last_rating_counts(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, _plain, envelope):
        id = await envelope.prompt("one")
        assert await envelope.ask("chat/rateAnswer", contentId=id, rating="good") == {}
        await envelope.ask("chat/rateAnswer", contentId=id, rating="bad")
        assert rated(envelope) == [(id, "good"), (id, "bad")]
        await envelope.ask("chat/rateAnswer", contentId=id)
        assert rated(envelope)[-1] == (id, None)
        told = rated(envelope)
        await envelope.ask("chat/open")
        assert rated(envelope) == told


async def test_another_editor_is_not_told_of_a_rating(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await envelope.prompt("one")
        await envelope.ask("chat/rateAnswer", contentId=id, rating="good")
        await envelope.prompt("two")
        await both_show(plain, envelope, "> one", "You said one", "> two", "You said two")
        await plain.ask("chat/open")
        history = await plain.ask("chat/history")
        assert rated(plain) == []
        assert "rating" not in {told["content"]["type"] for told in history["contents"]}


async def test_no_model_reads_a_rating(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, _plain, envelope):

        async def read_request() -> Any:
            return (await envelope.ask("chat/estimate", message="next", request=True))["request"]

        id = await envelope.prompt("one")
        before = await read_request()
        await envelope.ask("chat/rateAnswer", contentId=id, rating="bad")
        assert await read_request() == before


async def test_an_answer_is_rated_while_the_next_one_runs(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await envelope.prompt("one")
        await envelope.ask("chat/prompt", message="wait")
        await envelope.until(lambda: envelope.page()[-1].startswith("one two"))
        await envelope.ask("chat/rateAnswer", contentId=id, rating="good")
        assert rated(envelope) == [(id, "good")]
        await envelope.tell("chat/promptStop")
        await envelope.until(lambda: len(envelope.ends()) == 2)
        await plain.until(lambda: plain.page() == envelope.page())


async def test_a_message_that_is_taken_back_takes_its_rating_along(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, _plain, envelope):
        first = await envelope.prompt("one")
        second = await envelope.prompt("two")
        for id in (first, second):
            await envelope.ask("chat/rateAnswer", contentId=id, rating="good")
        await envelope.ask("chat/rollback", contentId=second)
        await envelope.until(lambda: rated(envelope) == [(first, "good")])


async def test_an_answer_that_is_not_in_the_chat_is_not_rated(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, _plain, envelope):
        await envelope.prompt("one")
        assert "no message 'c9'" in str(await refused(envelope, "chat/rateAnswer", contentId="c9", rating="bad"))
        assert rated(envelope) == []


async def test_an_export_has_the_last_rating_below_each_answer(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, _plain, envelope):
        ids = [await envelope.prompt(text) for text in ("one", "two", "three")]
        for id, rating in zip(ids, ({"rating": "bad"}, {"rating": "good"}, {}), strict=True):
            await envelope.ask("chat/rateAnswer", contentId=id, rating="good")
            await envelope.ask("chat/rateAnswer", contentId=id, **rating)
        await envelope.prompt("/export kept.md")
        await envelope.prompt("/export kept.ipynb")
    wanted = (
        "You said one\n\n*Rating of this answer: bad*\n\n## You\n\ntwo\n\n## Assistant\n\n"
        "You said two\n\n*Rating of this answer: good*\n\n## You\n\nthree\n\n## Assistant\n\nYou said three\n\n## You"
    )
    assert wanted in (tmp_path / "kept.md").read_text()
    cells = json.loads((tmp_path / "kept.ipynb").read_text())["cells"]
    assert wanted in "".join("".join(cell["source"]) for cell in cells)
