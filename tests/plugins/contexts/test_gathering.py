"""All contexts together: none is dropped without a word, and none takes the prompt with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.resolve import find_mentioned_contexts, list_named, list_offers
from jupyter_eca.protocol.context import CellContext
from jupyter_eca.protocol.mcp import ServerResource, ToolServerUpdatedParams
from tests.plugins.contexts.near import given, near, sent

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jupyter_eca.workspace.uri_templates import PartialUri, ResourceTemplate

pytestmark = pytest.mark.asyncio


class Shelf:
    """A server with one resource."""

    def list_servers(self) -> tuple[ToolServerUpdatedParams, ...]:
        return ()

    def list_resources(self) -> Mapping[str, tuple[ServerResource, ...]]:
        return {"shelf": (ServerResource(uri="shelf://book", name="book"),)}

    def list_templates(self) -> tuple[ResourceTemplate, ...]:
        return ()

    async def complete(self, template: ResourceTemplate, typed: PartialUri) -> tuple[str, ...]:
        raise AssertionError(f"nothing to complete of {template} with {typed}")

    async def read_changed_resources(self, chat: str) -> list[tuple[str, str, str, tuple[ImagePart, ...]]]:  # noqa: ARG002
        return []

    async def read_resource(self, server: str, uri: str, chat: str = "") -> tuple[str, tuple[ImagePart, ...]]:  # noqa: ARG002
        if (server, uri) != ("shelf", "shelf://book"):
            raise ToolError("No such book.")
        return "Once upon a time", (ImagePart("image/png", "aGk="),)

    async def get_prompt(self, server: str, name: str, arguments: Mapping[str, str], chat: str = "") -> str:
        raise ToolError(f"No prompt {name} with {arguments} on {server} for {chat}.")


async def test_a_cursor_in_no_file_is_nothing_to_tell(tmp_path: Path) -> None:
    assert await given(tmp_path, {"type": "cursor", "path": None, "position": None}) == []
    assert len(await given(tmp_path, {"type": "weather"})) == 1


async def test_each_context_is_given_once_and_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a")
    file, words = {"type": "file", "path": "a.py"}, {"type": "text", "label": "selection", "content": "words"}
    found = await given(tmp_path, words, file, words, file)
    assert [(one.label, one.text) for one in found] == [("selection", "words"), ("a.py", "a")]


async def test_one_that_cannot_be_read_leaves_the_others(tmp_path: Path) -> None:
    found = await given(tmp_path, {"type": "file", "path": "gone"}, {"type": "text", "content": "words"})
    assert [one.text for one in found] == ["(not readable: gone does not exist.)", "words"]


async def test_the_model_is_told_of_what_nobody_knows(tmp_path: Path) -> None:
    found = await given(tmp_path, {"type": "hologram", "depth": 3}, {"type": "file", "file": "a.py"})
    assert [(one.label, one.text) for one in found] == [
        ("hologram", '{\n "depth": 3\n}'),
        ("file", '{\n "file": "a.py"\n}'),
    ]


async def test_a_resource_is_read_from_its_server(tmp_path: Path) -> None:
    book = {"type": "mcpResource", "server": "shelf", "uri": "shelf://book"}
    (found,) = await given(tmp_path, book, mcp=Shelf())
    assert (found.label, found.text, len(found.images)) == ("shelf:shelf://book", "Once upon a time", 1)
    (none,) = await given(tmp_path, book)
    assert none.text == "(not readable: There are no MCP servers here.)"


async def test_what_fits_best_is_offered_first_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book/bookshelf.py").touch()
    (tmp_path / "notebook.py").touch()
    async with near(tmp_path, Shelf()) as around:
        found = [context.as_json_object() for context in await list_offers(around, "book")]
    assert [one.get("path") or one.get("uri") for one in found] == [
        str(tmp_path / "book"),
        "shelf://book",
        str(tmp_path / "book/bookshelf.py"),
        str(tmp_path / "notebook.py"),
    ]


async def test_what_was_added_is_not_offered_again(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    async with near(tmp_path) as around:
        before = await list_offers(around, "")
        assert {"file", "repoMap"} <= {context.type for context in before}
        added = sent({"type": "file", "path": str(tmp_path / "a.py")}, {"type": "repoMap"})
        rest = [context for context in before if context.type not in {"file", "repoMap"}]
        assert await list_offers(around, "", added) == rest


async def test_an_address_is_offered_as_a_page(tmp_path: Path) -> None:
    async with near(tmp_path) as around:
        assert [one.as_json_object() for one in await list_offers(around, "https://example.com")] == [
            {"type": "web", "url": "https://example.com"}
        ]


async def test_a_message_names_files_folders_and_pages(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/only one.py").touch()
    (tmp_path / "src/main.py").touch()
    async with near(tmp_path) as around:
        message = 'Compare @src/main.py:L2-3, #src and @"only one.py" with @https://example.com.'
        assert [one.as_json_object() for one in await find_mentioned_contexts(around, message)] == [
            {"type": "file", "path": "src/main.py", "linesRange": {"start": 2, "end": 3}},
            {"type": "directory", "path": "src"},
            {"type": "file", "path": str(tmp_path / "src/only one.py")},
            {"type": "web", "url": "https://example.com"},
        ]


async def test_a_mention_of_a_context_that_was_sent_means_that_one(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "data.csv").touch()
    (tmp_path / "data.csv").touch()
    contexts = sent(
        {"type": "file", "path": str(tmp_path / "two/data.csv")},
        {"type": "cell", "cell": "c9", "label": "cell:3"},
        {"type": "variable", "name": "df", "label": "var:df"},
    )
    message = "Why is @var:df not @data.csv in @cell:3's output, and @cell:4?"
    async with near(tmp_path) as around:
        found = await find_mentioned_contexts(around, message, contexts)
        assert found == [CellContext(cell="4")]
        assert len(await find_mentioned_contexts(around, message)) == 4


async def test_the_contexts_that_a_message_names_are_found_by_their_words() -> None:
    image = {"type": "image", "mediaType": "image/png", "base64": ""}
    contexts = sent(
        {"type": "file", "path": "/srv/demo/my data.csv"},
        {"type": "file", "path": "/srv/demo/a.py", "linesRange": {"start": 2, "end": 3}},
        {"type": "file", "path": "/srv/demo/b.py"},
        {"type": "web", "url": "https://example.com/a"},
        {"type": "mcpResource", "server": "docs", "uri": "doc://a"},
        {"type": "error", "label": "error"},
        {"type": "selection", "label": "selection"},
        image,
    )
    message = 'In @"my data.csv", @a.py:L2-3 @b.py:L7 @https://example.com/a @docs:doc://a: @error!'
    assert [one.type for one in list_named(contexts, message)] == ["file", "file", "web", "mcpResource", "error"]


async def test_what_names_nothing_stays_text(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "secret.txt").touch()
    message = "@property #1 @../secret.txt @/etc/passwd @~/.ssh @gone.py me@example.com #Heading @a\0b @" + "x" * 9999
    async with near(tmp_path / "work") as around:
        assert await find_mentioned_contexts(around, message) == []
