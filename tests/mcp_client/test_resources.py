"""Resources of a server: their addresses completed while they are typed, and what was given of them kept up to date."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.workspace.uri_templates import PartialUri, ResourceTemplate
from tests.mcp_client.house import house, puppet, sdk
from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat, told

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.host_and_client import Desk
    from tests.support.raw_client import MemoryClient

BOTH = pytest.mark.parametrize("era", ["legacy", "modern"])
NOTE = {"type": "mcpResource", "uri": "note://one", "server": "puppet"}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "^replace", "reply": [{"tool": "puppet__do", "arguments": {"note": "second"}}]},
    {"message": "^restate", "reply": [{"tool": "puppet__do", "arguments": {"note": "first"}}]},
    {"message": "", "reply": [{"text": "{message}"}]},
]


@asynccontextmanager
async def chat(folder: Path, era: str, log: Path | None = None) -> AsyncGenerator[tuple[Desk, MemoryClient]]:
    servers = {"puppet": puppet(era, log)}
    async with seat(folder, RULES, mcpServers=servers, toolCall=ALLOW_ALL) as (table, at):
        await at.tell("initialized", {})
        while not (await told(at, "tool/serverUpdated", name="puppet")).get("resources"):
            pass
        yield table, at


async def offered(at: MemoryClient, query: str) -> list[str]:
    found = (await at.result("chat/queryContext", {"query": query, "contexts": []}))["contexts"]
    return [one["uri"] for one in found if one["type"] == "mcpResource"]


@BOTH
@pytest.mark.asyncio
async def test_an_address_is_completed_part_by_part_by_its_server(tmp_path: Path, era: str) -> None:
    async with chat(tmp_path, era) as (_, at):
        assert "note://{name}/{part}" in await offered(at, "notes")
        assert (await offered(at, "note://al"))[:2] == ["note://alpha/{part}", "note://alps/{part}"]
        assert (await offered(at, "puppet:note://alpha/h"))[:1] == ["note://alpha/head"]
        context = {"type": "mcpResource", "uri": "note://alpha/head", "server": "puppet"}
        assert "this is note://alpha/head" in await prompt(at, "Look", contexts=[context])


@pytest.mark.asyncio
async def test_an_address_that_is_not_filled_in_is_not_read(tmp_path: Path) -> None:
    async with chat(tmp_path, "legacy") as (_, at):
        context = {"type": "mcpResource", "uri": "note://alpha/{part}", "server": "puppet"}
        assert "part of note://alpha/{part} is still to be filled in" in await prompt(at, "Look", contexts=[context])


@pytest.mark.asyncio
async def test_a_server_that_completes_nothing_still_has_its_templates(tmp_path: Path) -> None:
    async with house(tmp_path, {"tour": sdk()}) as at:
        await at.running("tour")
        await at.until(lambda: bool(at.manager.list_templates()))
        (template,) = at.manager.list_templates()
        typed = template.match_prefix("memo://2026/05")
        assert typed is not None
        assert typed.is_complete
        assert await at.manager.complete(template, typed) == ()
        assert await at.manager.read_resource("tour", typed.fill(typed.value)) == ("the memo of 2026-05", ())


@BOTH
@pytest.mark.asyncio
async def test_a_resource_that_changed_is_given_again_and_only_then(tmp_path: Path, era: str) -> None:
    async with chat(tmp_path, era) as (_, at):
        assert "first" in await prompt(at, "Look", contexts=[NOTE])
        assert "note" not in await prompt(at, "And now")
        await prompt(at, "restate")
        assert "note" not in await prompt(at, "And now, though it was told to have changed")
        await prompt(at, "replace")
        said = await prompt(at, "And in the end")
        assert "puppet:note://one (changed since you were given it)" in said
        assert "second" in said
        assert "note" not in await prompt(at, "And after that")


@pytest.mark.asyncio
async def test_what_changed_while_the_server_was_away_is_noticed_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with chat(tmp_path, "legacy", log) as (table, at):
        await prompt(at, "Look", contexts=[NOTE])
        await prompt(at, "replace")
        assert "second" in await prompt(at, "Look again")
        table.host.mcp.stop("puppet")
        await told(at, "tool/serverUpdated", name="puppet", status="stopped")
        table.host.mcp.start("puppet")  # it begins with its first note
        while not (await told(at, "tool/serverUpdated", name="puppet")).get("resources"):
            pass
        assert "first" in await prompt(at, "And now")
        asked = [json.loads(line)["method"] for line in log.read_text().splitlines() if "method" in line]
        assert asked.count("resources/subscribe") == 2


@pytest.mark.asyncio
async def test_another_chat_is_told_nothing_of_it(tmp_path: Path) -> None:
    async with chat(tmp_path, "legacy") as (_, at):
        await prompt(at, "Look", contexts=[NOTE])
        await prompt(at, "replace", chat="d")
        assert "note" not in await prompt(at, "And here", chat="d")
        assert "second" in await prompt(at, "And there")


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("no", PartialUri({})),
        ("x", None),
        ("note://", PartialUri({}, "name", "", "note://", "/{part}")),
        ("note://a%20b", PartialUri({}, "name", "a b", "note://", "/{part}")),
        ("note://a/", PartialUri({"name": "a"}, "part", "", "note://a/", "")),
        ("note://a/b", PartialUri({"name": "a"}, "part", "b", "note://a/", "", is_complete=True)),
    ],
)
def test_what_is_being_typed_of_an_address_is_known(text: str, typed: PartialUri | None) -> None:
    assert ResourceTemplate("s", "note://{name}/{part}", "notes").match_prefix(text) == typed


def test_what_has_other_than_plain_places_is_not_completed() -> None:
    assert ResourceTemplate("s", "note://{?a,b}", "notes").match_prefix("note://") is None
