"""Tools of the configuration, in a chat."""

from __future__ import annotations

import asyncio
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, read_config
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.protocol.content import ShellCommandDetails, ToolCalledContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import PATIENCE, Desk, answer, desk, outcomes, tool_states
from tests.support.processes import have_ended
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

TEXT: dict[str, Any] = {
    "properties": {"text": {"type": "string", "description": "What is shown"}},
    "required": ["text"],
}


def tool(command: str, schema: dict[str, Any] = TEXT, **more: Any) -> dict[str, Any]:
    return {"customTools": {"show": {"description": "Shows a text", "command": command, "schema": schema, **more}}}


def calls(**arguments: Any) -> list[dict[str, Any]]:
    return [
        {"message": "go", "reply": [{"tool": "show", "arguments": arguments}]},
        {"result": "", "reply": [{"text": "done"}]},
    ]


ALLOWED: dict[str, Any] = {"approval": {"allow": {"eca__show": {}}}}


def called(received: list[ChatContentReceivedParams]) -> tuple[str, bool]:
    (one,) = [item.content for item in received if isinstance(item.content, ToolCalledContent)]
    return "\n".join(output.text for output in one.outputs or ()), one.error


async def told(table: Desk) -> tuple[str, bool]:
    return called(await answer(await table.client(), "go"))


async def test_a_custom_tool_is_told_to_the_model_with_its_schema(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(), **tool("echo {{text}}")) as table:
        request = await table.host.turns.draft("chat")
    (spec,) = [one for one in request.tools if one.name == "show"]
    assert (spec.description, spec.parameters) == ("Shows a text", {"type": "object", **TEXT})


async def test_a_custom_tool_asks_first_and_shows_the_line_that_it_would_run(tmp_path: Path) -> None:
    asked: list[ToolCallRunContent] = []

    def reject(call: ToolCallRunContent) -> CallDecision:
        asked.append(call)
        return CallDecision(approved=False)

    async with desk(tmp_path, calls(text="a b; touch pwned"), **tool("echo {{text}}")) as table:
        received = await answer(await table.client(), "go", reject)
    assert "toolCallRejected" in tool_states(received)
    details = asked[0].details
    assert isinstance(details, ShellCommandDetails)
    assert [one.command for one in details.commands] == ["echo 'a b; touch pwned'"]


async def test_a_custom_tool_runs_in_the_workspace_with_its_arguments_as_words(tmp_path: Path) -> None:
    shown = tool('printf "%s|" {{text}} "$ECA_AGENT" "$ECA_CHAT_ID" "${PWD##*/}"')
    async with desk(tmp_path, calls(text="$(touch pwned) 'x'"), toolCall=ALLOWED, **shown) as table:
        assert await told(table) == (f"$(touch pwned) 'x'|1|chat|{tmp_path.name}|", False)
    assert not (tmp_path / "pwned").exists()


async def test_the_example_of_ecas_documentation_does_what_is_written_there(tmp_path: Path) -> None:
    (tmp_path / "a.clj").write_text("")
    names = ["directory", "pattern"]
    schema = {"properties": {name: {"type": "string"} for name in names}, "required": names}
    found = tool("find {{directory}} -name {{pattern}}", schema)
    async with desk(tmp_path, calls(directory=".", pattern="*.clj"), toolCall=ALLOWED, **found) as table:
        assert await told(table) == ("./a.clj", False)


async def test_what_a_command_prints_as_it_fails_is_an_error_with_its_code(tmp_path: Path) -> None:
    failing = tool("echo out; echo {{text}} >&2; exit 3")
    async with desk(tmp_path, calls(text="oh"), toolCall=ALLOWED, **failing) as table:
        assert await told(table) == ("out\noh\n[exit code 3]", True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "text: it is required"),
        ({"text": 3}, "text: it must be of type string"),
        ({"text": "a", "more": "b"}, "more: there is no such argument"),
        ({"text": "a\0b"}, "may not hold a NUL"),
        ({"text": "x" * 70_000}, "too long for a command line"),
        ({"text": "a", "size": True}, "size: it must be of type ['integer', 'null']"),
        ({"text": "a", "kind": "z"}, "kind: it must be one of ['x', 'y']"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model_and_nothing_runs(
    tmp_path: Path, arguments: dict[str, Any], why: str
) -> None:
    properties = {**TEXT["properties"], "size": {"type": ["integer", "null"]}, "kind": {"enum": ["x", "y"]}}
    schema = {"properties": properties, "required": ["text"]}
    async with desk(tmp_path, calls(**arguments), toolCall=ALLOWED, **tool("touch ran {{text}}", schema)) as table:
        text, error = await told(table)
    assert error
    assert why in text
    assert not (tmp_path / "ran").exists()


async def test_an_optional_argument_that_is_not_given_leaves_no_word(tmp_path: Path) -> None:
    schema: dict[str, Any] = {"properties": {"flag": {}, "text": {}}, "required": ["text"]}
    counting = tool('set -- {{flag}} {{text}}; echo "$#"', schema)
    async with desk(tmp_path, calls(text="a"), toolCall=ALLOWED, **counting) as table:
        assert await told(table) == ("1", False)


async def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tmp_path: Path) -> None:
    slow = tool("echo {{text}}; sleep 60 & sleep 60", timeoutSeconds=0.3)
    async with desk(tmp_path, calls(text="a"), toolCall=ALLOWED, **slow) as table:
        text, error = await told(table)
    assert error
    assert text.startswith("a\n[ended after 0.3 s, with all that it had started")


async def test_a_stop_ends_the_command_and_all_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "told")
    waiting = tool("sleep 60 & echo $! > told; echo {{text}}; wait")
    async with desk(tmp_path, calls(text="a"), toolCall=ALLOWED, **waiting) as table:
        client = await table.client()
        turn = asyncio.ensure_future(answer(client, "go"))
        pid = int(await asyncio.wait_for(asyncio.to_thread((tmp_path / "told").read_text), PATIENCE))
        await client.stop("chat")
        assert outcomes(await turn) == ["stopped"]
    assert have_ended(pid)


async def test_a_flood_is_cut(tmp_path: Path) -> None:
    async with desk(tmp_path, calls(text="a"), toolCall=ALLOWED, **tool("yes {{text}} | head -c 5000000")) as table:
        text, _ = await told(table)
    assert len(text) < 60_000


async def test_a_custom_tool_does_not_take_the_place_of_a_native_one(tmp_path: Path) -> None:
    own: dict[str, Any] = {"customTools": {"read_file": {"description": "x", "command": "echo no"}}}
    async with (
        desk(tmp_path, [{"message": "", "reply": [{"text": "hi"}]}], **own) as table,
        connect_and_initialize(table) as client,
    ):
        for _ in range(2):
            await answer(await table.client(), "hello")
        await client.ask("chat/list", {})
        said = [one["message"] for one in client.params("$/showMessage")]
        tools = (await table.host.turns.draft("chat")).tools
    assert said == ["The custom tool 'read_file' was left out: there is one of that name."]
    assert [one.description for one in tools if one.name == "read_file"] != ["x"]


BAD: dict[str, tuple[Any, str]] = {
    "no-command": ({"description": "x"}, "command: Field required"),
    "required": ({"description": "x", "command": "x", "schema": {"required": ["a"]}}, "'a' is required and not among"),
    "type": (
        {"description": "x", "command": "x", "schema": {"properties": {"a": {"type": "text"}}}},
        "the type of 'a'",
    ),
    "list": ({"description": "x", "command": "x", "schema": ["a"]}, "schema: "),
    "back": (
        {"description": "x", "command": "`{{a}}`", "schema": {"properties": {"a": {}}}},
        "(line 1 of the command)",
    ),
    "a name": ({"description": "x", "command": "x"}, "a name may have 64"),
    "text": ("echo", "valid dictionary"),
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_tool_is_told_by_file_and_name_and_costs_itself_alone(tmp_path: Path, name: str) -> None:
    one, why = BAD[name]
    good = {"description": "Good", "command": "true"}
    file = tmp_path / ".eca" / "config.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"customTools": {name: one, "good": good}}))
    trust = TrustedFolders(tmp_path / "trust.json", [tmp_path])
    config: Config = read_config((tmp_path,), home=tmp_path / "home", trust=trust)
    assert list(config.custom_tools) == ["good"]
    assert len(config.warnings) == 1
    assert config.warnings[0].startswith(f"{file}: the custom tool {name!r} was left out: ")
    assert why in config.warnings[0]
