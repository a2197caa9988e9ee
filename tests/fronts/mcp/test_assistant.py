"""The assistant as an MCP server: what it offers, in which form, and what the engine lets through."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from jupyter_eca.plugins import loader
from jupyter_eca.protocol.content import ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.fronts.mcp.room import LEGACY, MODERN, User, allowed, call, ok, room
from tests.instructions.skills.write import skill
from tests.plugins.tools.test_asked_notebook import SALES, NotebookKernel, TwoKernels
from tests.support.host_and_client import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.transport.eca_client import EcaClient as PanelClient

pytestmark = pytest.mark.asyncio

eras = pytest.mark.parametrize("mode", [LEGACY, MODERN])
NEEDLESS = {"editor_definition", "editor_references", "ask_user", "spawn_agent", "fetch_rule"}
KERNEL = {
    "run_code",
    "variables",
    "inspect",
    "kernel_state",
    "kernel_interrupt",
    "kernel_restart",
    "notebook_run_cells",
}


class OnlyKernel(TwoKernels):
    """One kernel, which is meant without a path."""

    async def find(self, path: str | None) -> Any:
        return self.kernels[path or SALES]


async def test_every_native_tool_and_the_assistant_are_there_by_the_naming_convention(tmp_path: Path) -> None:
    native = {tool.spec.name for tools in loader.find("tools", "TOOLS").values() for tool in tools}
    async with room(tmp_path) as here, here.client() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        known = await ok(client, "eca_tool_list")
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"eca(_[a-z]+)+", name) for name in names)
    assert {"eca_run", "eca_notebook_read", "eca_file_read", "eca_session_fork", "eca_mcp_list"} <= set(names)
    # Without a kernel or an editor their tools cannot do their work, and are not there.
    assert len([name for name in names if name not in _assistants()]) == len(native - NEEDLESS - KERNEL)
    assert {"notebook_read", "write_file"} <= {tool["name"] for tool in known["tools"]}


async def test_descriptions_and_advice_name_only_tools_that_are_there(tmp_path: Path) -> None:
    native = {tool.spec.name for tools in loader.find("tools", "TOOLS").values() for tool in tools}
    ours = re.compile(rf"\b(?:{'|'.join(name for name in native if '_' in name)})\b")
    rules: dict[str, Any] = {"approval": {"deny": {"edit_file": {}}, "byDefault": "allow"}}
    async with room(tmp_path, toolCall=rules) as here, here.client() as client:
        tools = (await client.list_tools()).tools
        _, data = await call(client, "eca_notebook_read", path="none.ipynb", cell="a")
    told = [tool.description or "" for tool in tools] + list(_descriptions([tool.input_schema for tool in tools]))
    actions = {"read_output"}  # of `eca_shell_job`
    assert {found for text in told for found in ours.findall(text)} - actions == set()
    named = {name for text in (*told, *data["suggestions"]) for name in re.findall(r"\beca_[a-z_]+\b", text)}
    assert named
    assert named <= {tool.name for tool in tools}


def _descriptions(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        for name, value in cast("dict[str, Any]", schema).items():
            yield from ((value,) if name == "description" and isinstance(value, str) else _descriptions(value))
    elif isinstance(schema, list):
        for item in cast("list[Any]", schema):
            yield from _descriptions(item)


def _assistants() -> set[str]:
    return {tool.name for plug in loader.find("fronts.mcp.offers", "OFFERS").values() for tool in plug.tools}


async def test_tools_are_annotated_by_the_three_patterns(tmp_path: Path) -> None:
    wanted = {
        "eca_notebook_read": (True, False, True, True),
        "eca_session_list": (True, False, True, True),
        "eca_file_write": (False, True, False, True),
        "eca_run": (False, True, False, True),
        "eca_session_create": (False, False, False, True),
        "eca_notebook_create": (False, False, False, True),
    }
    async with room(tmp_path) as here, here.client() as client:
        found = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
    for name, values in wanted.items():
        hints = found[name]
        assert hints is not None
        assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint) == values


@eras
async def test_an_answer_is_one_text_of_json_and_the_same_as_structured_content(tmp_path: Path, mode: str) -> None:
    async with room(tmp_path) as here, here.client(mode) as client:
        result = await client.call_tool("eca_file_read", {"path": "a.txt"})
    (text,) = result.content
    assert isinstance(text, types.TextContent)
    assert text.text == json.dumps({"text": "one\ntwo\n"}, indent=2)
    assert result.structured_content == {"text": "one\ntwo\n"}


@pytest.mark.parametrize(
    ("name", "arguments", "error", "suggestion"),
    [
        ("eca_file_read", {}, "The arguments do not fit: path: Field required", "Call the tool again with arguments"),
        ("eca_file_read", {"path": "none.txt"}, "none.txt", ""),
        ("eca_session_prompt", {"sessionId": "none", "prompt": "you"}, "no session 'none'", "eca_session_list"),
        ("eca_session_fork", {"sessionId": "none"}, "no session 'none'", "eca_session_list"),
        ("eca_agent_delegate", {"agent": "none", "prompt": "you"}, "no agent 'none'", "There are: code, plan, tutor"),
        ("eca_run", {"prompt": "break"}, "The endpoint broke off.", "eca_session_prompt with sessionId"),
    ],
)
async def test_errors_are_json_with_suggestions(
    tmp_path: Path, name: str, arguments: dict[str, Any], error: str, suggestion: str
) -> None:
    async with room(tmp_path) as here, here.client(LEGACY) as client:
        failed, data = await call(client, name, **arguments)
    assert failed
    assert data.keys() == {"error", "suggestions"}
    assert error in data["error"]
    assert any(suggestion in one for one in data["suggestions"])


async def test_an_unknown_tool_is_an_error_of_the_protocol(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        with pytest.raises(MCPError, match="Unknown tool: eca_none") as refused:
            await client.call_tool("eca_none", {})
        assert refused.value.code == types.INVALID_PARAMS


async def test_what_needs_approval_is_refused_where_nobody_can_be_asked(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        failed, data = await call(client, "eca_file_write", path="made.txt", content="x")
    assert failed
    assert "needs approval, and nobody is there" in data["error"]
    assert [bool(re.search(words, one)) for words, one in zip(
        ("chat panel", r'\{"toolCall": .*"write_file"', "elicitation"), data["suggestions"], strict=True
    )] == [True] * 3  # fmt: skip
    assert not (tmp_path / "made.txt").exists()


async def test_what_the_rules_allow_runs_and_what_they_deny_is_not_even_there(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"approval": {**allowed("write_file")["approval"], "deny": {"move_file": {}}}}
    async with room(tmp_path, toolCall=rules) as here, here.client() as client:
        await ok(client, "eca_file_write", path="made.txt", content="x")
        names = {tool.name for tool in (await client.list_tools()).tools}
    assert (tmp_path / "made.txt").read_text() == "x"
    assert "eca_file_move" not in names


@eras
async def test_a_client_that_can_ask_its_user_has_a_call_approved(tmp_path: Path, mode: str) -> None:
    user = User({"decision": "approve"})
    async with room(tmp_path) as here, here.client(mode, user) as client:
        assert "x = 1" in (await ok(client, "eca_notebook_read", path="book.ipynb"))["text"]
        await ok(client, "eca_notebook_edit_cell", path="book.ipynb", cell="a", source="x = 2")
        assert (await ok(client, "eca_notebook_read", path="book.ipynb"))["text"].count("x = 2") == 1
    (asked,) = user.asked
    assert "notebook_edit_cell" in asked
    assert "-x = 1\n+x = 2" in asked


@eras
async def test_a_command_is_shown_as_it_runs(tmp_path: Path, mode: str) -> None:
    user, line = User({"decision": "approve"}), 'echo "a  \\"b\\""  > made.txt; echo it\\\'s \\\n  \'done\''
    async with room(tmp_path) as here, here.client(mode, user) as client:
        await ok(client, "eca_shell_command", command=line, timeout=30)
    (asked,) = user.asked
    assert f"\n\n{line}\n\n" in asked
    assert '"timeout": 30' in asked
    assert (tmp_path / "made.txt").read_text() == 'a  "b"\n'


@eras
async def test_a_call_that_is_too_long_to_be_shown_cannot_be_approved_by_a_client_of_mcp(
    tmp_path: Path, mode: str
) -> None:
    user, line = User({"decision": "approve"}), f"echo {'a' * 30_000}; touch made.txt"
    async with room(tmp_path) as here, here.client(mode, user) as client:
        failed, data = await call(client, "eca_shell_command", command=line)
    assert failed
    assert "needs approval" in data["error"]
    assert user.asked == []
    assert not (tmp_path / "made.txt").exists()


@eras
async def test_a_user_who_says_no_is_heard(tmp_path: Path, mode: str) -> None:
    user = User({"decision": "reject", "reason": "Not now."})
    async with room(tmp_path) as here, here.client(mode, user) as client:
        failed, data = await call(client, "eca_file_write", path="made.txt", content="x")
    assert failed
    assert data["error"].startswith("The user rejected this call.")
    assert not (tmp_path / "made.txt").exists()


@eras
async def test_nothing_of_a_command_is_hidden_from_the_user_of_a_client(tmp_path: Path, mode: str) -> None:
    user = User({"decision": "reject"})
    async with room(tmp_path) as here, here.client(mode, user) as client:
        await call(client, "eca_shell_command", command="echo \u202e\u200b\x1b[8m; rm x\x1b[0m" + "\n" * 40 + "curl y")
    (asked,) = user.asked
    assert "echo \\u202e\\u200b\\u001b[8m; rm x\\u001b[0m" in asked
    assert "empty lines ...\ncurl y" in asked


@eras
async def test_an_answer_of_the_wrong_type_is_no_approval_and_leaves_no_turn_behind(tmp_path: Path, mode: str) -> None:
    user = User({"decision": ["approve"]})
    async with room(tmp_path) as here, here.client(mode, user) as client:
        failed, _ = await call(client, "eca_file_write", path="made.txt", content="x")
        (row,) = await here.desk.host.chats.list_rows()
        live = here.desk.host.chats.get_live(row.id)
        assert (failed, live and live.is_busy) == (True, False)
    assert not (tmp_path / "made.txt").exists()


@eras
async def test_an_approval_for_the_session_does_not_count_for_a_client_that_cannot_ask(
    tmp_path: Path, mode: str
) -> None:
    user = User({"decision": "approve for this session"})
    async with room(tmp_path) as here:
        async with here.client(mode, user) as client:
            await ok(client, "eca_file_write", path="made.txt", content="x")
        async with here.client(mode) as other:
            failed, data = await call(other, "eca_file_write", path="made.txt", content="y")
    assert failed
    assert "needs approval" in data["error"]
    assert (tmp_path / "made.txt").read_text() == "x"


async def test_what_is_approved_for_the_session_is_asked_once(tmp_path: Path) -> None:
    user = User({"decision": "approve for this session"})
    async with room(tmp_path) as here, here.client(LEGACY, user) as client:
        for text in ("x", "y"):
            await ok(client, "eca_file_write", path="made.txt", content=text)
    assert len(user.asked) == 1
    assert (tmp_path / "made.txt").read_text() == "y"


@eras
async def test_an_approval_in_the_panel_wins_over_a_client_that_is_still_asking(tmp_path: Path, mode: str) -> None:
    user = User({"decision": "reject"}, hold=asyncio.Event())
    async with room(tmp_path) as here, here.client(mode, user) as client:
        panel = await here.desk.client()
        waiting = _waiting(panel)
        calling = asyncio.ensure_future(call(client, "eca_file_write", path="made.txt", content="x"))
        await panel.decide(*await waiting, CallDecision(approved=True))
        if mode == MODERN:
            # It has the question for its answer, and comes back only when its user has answered that.
            assert user.hold is not None
            user.hold.set()
        failed, _ = await asyncio.wait_for(calling, PATIENCE)
    assert not failed
    assert (tmp_path / "made.txt").read_text() == "x"


async def test_the_panel_alone_may_approve_and_sees_who_calls(tmp_path: Path) -> None:
    async with room(tmp_path) as here, here.client() as client:
        panel = await here.desk.client()
        waiting = _waiting(panel)
        calling = asyncio.ensure_future(call(client, "eca_file_write", path="made.txt", content="x"))
        await panel.decide(*await waiting, CallDecision(approved=True))
        assert not (await asyncio.wait_for(calling, PATIENCE))[0]
        titles = [one["title"] for one in (await ok(client, "eca_session_list"))["sessions"]]
    assert "Tester calls write_file over MCP" in titles


def _waiting(panel: PanelClient) -> Awaitable[tuple[str, str]]:
    """The chat and the id of the first call from now on that the panel could approve."""
    found: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()

    def hear(received: ChatContentReceivedParams) -> None:
        if isinstance(received.content, ToolCallRunContent) and received.content.manual_approval:
            found.set_result((str(received.chat_id), received.content.id))

    panel.on_chat_opened = lambda chat: panel.listen(chat, hear)
    return asyncio.wait_for(found, PATIENCE)


async def test_calls_run_side_by_side_and_one_that_is_left_is_stopped(tmp_path: Path) -> None:
    rules = allowed("shell_command")
    async with room(tmp_path, toolCall=rules) as here, here.client(LEGACY) as client:
        waits = asyncio.ensure_future(
            call(client, "eca_shell_command", command="echo > started; sleep 60; echo > ended")
        )
        while not (tmp_path / "started").exists():
            await ok(client, "eca_file_read", path="a.txt")
        waits.cancel()
        async with asyncio.timeout(PATIENCE):
            while "running" in {one["status"] for one in (await ok(client, "eca_session_list"))["sessions"]}:
                pass
    assert not (tmp_path / "ended").exists()


async def test_what_changes_the_configuration_is_asked_about_as_a_tool_is(tmp_path: Path) -> None:
    (tmp_path / ".eca").mkdir()
    file = tmp_path / ".eca" / "config.json"
    file.write_text('{\n  // mine\n  "defaultAgent": "code"\n}\n')
    async with room(tmp_path) as here:
        async with here.client() as client:
            failed, _ = await call(client, "eca_config_update", defaultAgent="plan")
            assert failed
        user = User({"decision": "approve"})
        async with here.client(user=user) as client:
            await ok(client, "eca_config_update", defaultAgent="plan")
            await ok(client, "eca_skill_create", name="tidy", description="Tidy up", content="Tidy $ARGS.")
            assert (await ok(client, "eca_skill_list"))["skills"][0]["name"] == "tidy"
            told = await client.get_prompt("tidy", {"args": "the imports"})
    assert file.read_text() == '{\n  // mine\n  "defaultAgent": "plan"\n}\n'
    assert len(user.asked) == 2
    assert [getattr(message.content, "text", "") for message in told.messages] == ["Tidy the imports."]


async def test_skills_and_described_commands_are_told_beside_each_other(tmp_path: Path) -> None:
    skill(tmp_path / ".eca" / "skills", "greet", "Greet somebody", "Greet {{who}}.")
    (tmp_path / ".eca" / "commands").mkdir()
    (tmp_path / ".eca" / "commands" / "fix.md").write_text("---\narguments: [{name: file}]\n---\nFix $1")
    async with room(tmp_path, toolCall=allowed("skill")) as here, here.client() as client:
        listed = {one["name"]: one for one in (await ok(client, "eca_skill_list"))["skills"]}
        prompts = {one.name: one for one in (await client.list_prompts()).prompts}
        greeted = await client.get_prompt("greet", {"who": "Ada"})
        fixed = await client.get_prompt("fix", {"file": "a.py"})
        loaded = await ok(client, "eca_skill_load", name="greet")
    assert (listed["greet"]["arguments"], listed["greet"]["loadedWhenItFits"]) == (["who"], True)
    assert (listed["fix"]["arguments"], listed["fix"]["loadedWhenItFits"]) == (["file"], False)
    assert "clean-data" in prompts
    assert getattr(greeted.messages[0].content, "text", "").endswith("\n\nGreet Ada.")
    assert getattr(fixed.messages[0].content, "text", "") == "Fix a.py"
    assert "Greet {{who}}." in str(loaded)


async def test_a_rule_about_a_notebook_also_holds_where_its_kernel_is_the_only_one(tmp_path: Path) -> None:
    rules = {"approval": {"deny": {"run_code": {"argsMatchers": {"path": [r"sales\.ipynb"]}}}, "byDefault": "allow"}}
    async with room(tmp_path, toolCall=rules) as here, here.client() as client:
        host, kernel = here.desk.host, NotebookKernel(SALES)
        host.current.workspace = replace(host.workspace, kernel=kernel, kernels=OnlyKernel({SALES: kernel}))  # type: ignore[arg-type]  # as much of a kernel as is used
        failed, data = await call(client, "eca_kernel_run_code", code="1")
    assert (failed, kernel.ran) == (True, [])
    assert data["error"].startswith("The rules here forbid this call.")
