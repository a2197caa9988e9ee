"""The rules about what runs unasked, as a settings page and an approval card have them: read, written, taken back."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import read_config
from jupyter_eca.config.jsonc import parse
from jupyter_eca.config.trust import TrustedFolders
from jupyter_eca.errors import RemoteError
from jupyter_eca.host.host import Host
from jupyter_eca.protocol import approval
from jupyter_eca.protocol.base import Done, Empty
from jupyter_eca.protocol.content import ToolCallRunContent
from jupyter_eca.protocol.tool import ToolSwitchParams
from jupyter_eca.transport.eca_client import CallDecision
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.host_and_client import Desk, answer, desk, desk_of, said, settings
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient
    from tests.support.raw_client import RawClient

pytestmark = pytest.mark.asyncio


def shell(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "shell_command", "arguments": {"command": command, **more}}


WRITE = {"tool": "write_file", "arguments": {"path": "new.txt", "content": "x"}}
RULES: list[dict[str, Any]] = [
    {"message": "write", "result": "", "times": 1, "reply": [WRITE]},
    {"result": "", "reply": [{"text": "{result}"}]},
    {"message": "write", "reply": [WRITE]},
    {"message": "look there", "reply": [shell("echo a.b", working_directory="sub")]},
    {"message": "look", "reply": [shell("echo a.b")]},
    {"message": "other", "reply": [shell("echo a-b")]},
    {"message": "hello", "reply": [{"text": "Hello."}]},
]


# A command whose quotes, blanks and redirections matter.
LINE = 'echo "a  \\"b\\""  > made.txt 2>&1; echo it\\\'s \\\n  \'done\''

# Every file of the workspace's own folder, and none below.
TOP_FOLDER = {"path": ("[^/]*",)}


@asynccontextmanager
async def filed(folder: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> AsyncGenerator[Desk]:
    """A host whose configuration is in files: the user's own, and `.eca/config.json` with `more` in the workspace."""
    root = folder / "root"
    (root / "sub").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "home"))
    monkeypatch.setenv("HOME", str(folder))
    (root / ".eca").mkdir()
    (root / ".eca" / "config.json").write_text(f"// ours\n{json.dumps(settings(folder, RULES, **more))}\n")
    trusted = TrustedFolders(folder / "trust.json", [root])
    reading = partial(read_config, (root,), trust=trusted)
    host = Host(reading(), Workspace(Files((root,))), folder / "chats.db", reading, trusted)
    async with desk_of(host, root) as table:
        yield table


def mine(folder: Path) -> Path:
    return folder / "home" / "eca" / "config.json"


def rules_in(file: Path, decision: str = "allow") -> Any:
    return parse(file.read_text())["toolCall"]["approval"][decision]


async def listed(client: EcaClient) -> tuple[approval.ApprovalRule, ...]:
    return (await client.request("approvals/list", Empty(), approval.ApprovalsListResult)).rules


async def proposed(client: EcaClient, call: ToolCallRunContent) -> approval.ApprovalsProposeResult:
    params = approval.ApprovalsProposeParams(chat_id="chat", tool_call_id=call.id)
    return await client.request("approvals/propose", params, approval.ApprovalsProposeResult)


async def add(client: EcaClient, rule: approval.RuleText, scope: str = "workspace") -> str:
    params = approval.ApprovalsAddParams.model_validate({**rule.model_dump(), "scope": scope})
    return (await client.request("approvals/add", params, approval.ApprovalsAddResult)).file


async def asks(client: EcaClient, message: str, scope: str | None = None) -> list[approval.ApprovalsProposeResult]:
    """What is proposed for each call of a turn that asks. It is let run by the rule it proposes, written for `scope`,
    or else by hand."""
    found: list[approval.ApprovalsProposeResult] = []
    async for item in client.ask("chat", message):
        call = item.content
        if isinstance(call, ToolCallRunContent) and call.manual_approval:
            found.append(await proposed(client, call))
            if scope is not None and (rule := found[-1].rule) is not None:
                await add(client, rule, scope)
            else:
                await client.decide("chat", call.id, CallDecision(approved=True))
    return found


async def test_always_writes_a_rule_that_is_shown_before_and_nothing_of_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by the turn that is under way, which calls the tool twice, nor by the next one."""
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        (shown,) = await asks(client, "write", "workspace")
        assert shown.rule == approval.RuleText(decision="allow", rule="eca__write_file", args_matchers=TOP_FOLDER)
        assert [place.file for place in shown.places] == [".eca/config.json", "~/home/eca/config.json"]
        assert await asks(client, "write") == []
        file = table.folder / ".eca" / "config.json"
        assert rules_in(file) == {"eca__write_file": {"argsMatchers": {"path": ["[^/]*"]}}}
        assert file.read_text().startswith("// ours\n")
        assert not mine(tmp_path).exists()


@pytest.mark.parametrize("can", [{"chat": True}, {"chat": True, "envelope": True}])
async def test_the_question_about_a_command_has_it_as_it_runs(tmp_path: Path, can: dict[str, Any]) -> None:
    script = [{"message": "run", "reply": [shell(LINE)]}, {"result": "", "reply": [{"text": "Done."}]}]
    async with desk(tmp_path, script) as table, connect_and_initialize(table, **can) as client:
        await client.send("chat/prompt", {"chatId": "chat", "message": "run"})
        asked = await client.content("toolCallRun", manualApproval=True)
        assert asked["arguments"] == {"command": LINE}
        if "envelope" in can:
            assert asked["details"]["line"] == LINE
        await client.tell("chat/toolCallApprove", {"chatId": "chat", "toolCallId": asked["id"]})
        assert (await client.content("toolCalled"))["arguments"] == {"command": LINE}
        assert (tmp_path / "made.txt").read_text() == 'a  "b"\n'


async def test_an_editor_is_shown_that_a_call_changes_what_may_run_without_asking(tmp_path: Path) -> None:
    write = {"tool": "write_file", "arguments": {"path": ".eca/config.json", "content": "{}"}}
    script = [{"message": "write", "reply": [write]}, {"result": "", "reply": [{"text": "Done."}]}]
    async with desk(tmp_path, script) as table, connect_and_initialize(table, chat=True) as client:
        await client.send("chat/prompt", {"chatId": "chat", "message": "write"})
        asked = await client.content("toolCallRun", manualApproval=True)
        assert asked["summary"] == (
            "This changes what may run without asking (`.eca/config.json`): Writing .eca/config.json"
        )
        await client.tell("chat/toolCallReject", {"chatId": "chat", "toolCallId": asked["id"]})
        await client.finished()


async def test_always_of_a_command_is_that_line_in_that_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        await asks(client, "look", "global")
        assert await asks(client, "look") == []
        (elsewhere,) = await asks(client, "look there")
        assert elsewhere.rule is not None, "by another name of the tool: the first rule has no place for another folder"
        (other,) = await asks(client, "other", "workspace")
        assert [(place.scope, place.file) for place in other.places] == [("global", "~/home/eca/config.json")]
        exact = {"command": [r"echo\ a\.b", r"echo\ a\-b"], "working_directory": [""]}
        assert rules_in(mine(tmp_path)) == {"eca__shell_command": {"argsMatchers": exact}}
        assert await asks(client, "other") == []


async def test_what_always_wrote_is_taken_back_and_what_was_there_before_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        (first,) = await asks(client, "look", "workspace")
        (second,) = await asks(client, "other", "workspace")
        assert first.rule is not None
        assert second.rule is not None
        await client.request("approvals/remove", first.rule, Done)
        assert await asks(client, "other") == []
        assert [one.rule for one in await asks(client, "look")] == [first.rule]
        await client.request("approvals/remove", second.rule, Done)
        assert rules_in(table.folder / ".eca" / "config.json") == {}
        with pytest.raises(RemoteError, match="No file that can be changed from here"):
            await client.request("approvals/remove", second.rule, Done)


EDITED = r"""// ours
{
  "toolCall": {"approval": {
    // what nobody may do
    "deny": {"grep": {"argsMatchers": {"pattern": ["a", "b"]}}},
    "allow": {
      "eca": {} // all of it
    }
  }}
}
"""


async def replace(client: RawClient, old: dict[str, Any], new: dict[str, Any]) -> Any:
    return await client.ask("approvals/replace", {**new, "old": old})


async def test_a_rule_is_changed_in_its_file_in_one_write_and_holds_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine(tmp_path).parent.mkdir(parents=True)
    mine(tmp_path).write_text(EDITED)
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        first, second = ({"decision": "deny", "rule": "grep", "argsMatchers": {"pattern": [text]}} for text in "ab")
        other: dict[str, Any] = {"decision": "ask", "rule": "tree", "argsMatchers": {}}
        assert (await replace(client, first, {**first, "argsMatchers": {"pattern": ["c"]}})).result == {
            "file": "~/home/eca/config.json"
        }
        assert rules_in(mine(tmp_path), "deny") == {"grep": {"argsMatchers": {"pattern": ["b", "c"]}}}
        assert (await replace(client, second, other)).result == {"file": "~/home/eca/config.json"}
        assert rules_in(mine(tmp_path), "deny") == {"grep": {"argsMatchers": {"pattern": ["c"]}}}
        assert rules_in(mine(tmp_path), "ask") == {"tree": {}}
        assert "tree" in table.host.config.tool_call.approval.ask
        assert all(text in mine(tmp_path).read_text() for text in ("// ours", "// what nobody may do", "// all of it"))
        assert "toolCall" not in parse((table.folder / ".eca" / "config.json").read_text())


async def test_a_rule_that_changed_meanwhile_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine(tmp_path).parent.mkdir(parents=True)
    mine(tmp_path).write_text(EDITED)
    async with filed(tmp_path, monkeypatch) as table, connect_and_initialize(table, chat=True) as client:
        grep = {"decision": "deny", "rule": "grep", "argsMatchers": {"pattern": ["z"]}}
        assert "any more" in (await replace(client, grep, {**grep, "decision": "ask"})).message
        allow: dict[str, Any] = {"decision": "allow", "rule": "eca", "argsMatchers": {}}
        bad = {**allow, "argsMatchers": {"path": ["("]}}
        assert "not a regular expression" in (await replace(client, allow, bad)).message
        # The rule there cannot be merged with this one.
        assert (
            "has another rule" in (await replace(client, allow, {**allow, "decision": "deny", "rule": "grep"})).message
        )
        assert mine(tmp_path).read_text() == EDITED


async def test_a_rule_is_not_proposed_where_another_one_would_ask_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask: dict[str, Any] = {"toolCall": {"approval": {"ask": {"eca": {}}}}}
    async with filed(tmp_path, monkeypatch, **ask) as table:
        client = await table.client()
        (shown, _) = await asks(client, "write")
        assert (shown.rule, shown.why) == (
            None,
            "The call would still need approval, because the rule `eca` comes first.",
        )
        params = approval.ApprovalsProposeParams(chat_id="chat", tool_call_id="unknown")
        with pytest.raises(RemoteError, match="does not wait for anybody"):
            await client.request("approvals/propose", params, approval.ApprovalsProposeResult)


async def test_the_rules_that_hold_are_listed_with_where_they_are_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own: dict[str, Any] = {"toolCall": {"approval": {"deny": {"move_file": {}}, "allow": {"grep": {}}}}}
    mine(tmp_path).parent.mkdir(parents=True)
    mine(tmp_path).write_text(json.dumps({"toolCall": {"approval": {"ask": {"move_file": {}}}}}))
    # What is not JSON is no reason to fail: Markdown can be an agent.
    (mine(tmp_path).parent / "agents").mkdir()
    (mine(tmp_path).parent / "agents" / "reviewer.md").write_text("---\nmode: primary\n---\nReview.\n")
    agent: dict[str, Any] = {"agent": {"build": {"toolCall": {"approval": {"deny": {"run_code": {}}}}}}}
    async with filed(tmp_path, monkeypatch, **own, **agent) as table:
        client = await table.client()
        found = [
            (one.decision, one.rule, one.agent, one.files, one.built_in, one.own)
            for one in await listed(client)
            if one.rule in {"move_file", "grep", "read_file", "run_code"}
        ]
        here, there = (".eca/config.json",), ("~/home/eca/config.json",)
        assert found == [
            ("deny", "move_file", None, here, False, True),
            ("ask", "move_file", None, there, False, True),
            ("allow", "read_file", None, (), True, False),
            ("allow", "grep", None, here, False, True),
            ("deny", "run_code", "code", here, False, False),
        ]
        rule = approval.RuleText(decision="allow", rule="tree")
        assert await add(client, rule, "global") == there[0]


async def test_no_pattern_is_written_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with filed(tmp_path, monkeypatch) as table:
        client = await table.client()
        with pytest.raises(RemoteError, match="not a regular expression"):
            await add(client, approval.RuleText(decision="deny", rule="grep", args_matchers={"pattern": ("(",)}))
        assert "toolCall" not in parse((table.folder / ".eca" / "config.json").read_text())


async def test_code_of_a_cell_writes_no_rule_and_switches_no_tool(tmp_path: Path) -> None:
    rule = approval.RuleText(decision="allow", rule="eca")
    async with desk(tmp_path, RULES) as table:
        for stranger in (await table.client(sees_all_chats=False), await table.client(unattended=True)):
            with pytest.raises(RemoteError, match="only a client of the user's"):
                await add(stranger, rule)
            with pytest.raises(RemoteError, match="only a client of the user's"):
                await stranger.request("approvals/remove", rule, Done)
            replacing = approval.ApprovalsReplaceParams(**rule.model_dump(), old=rule)
            with pytest.raises(RemoteError, match="only a client of the user's"):
                await stranger.request("approvals/replace", replacing, approval.ApprovalsAddResult)
            with pytest.raises(RemoteError, match="only a client of the user's"):
                await stranger.request("tool/switch", ToolSwitchParams(server="ECA", tool="grep", on=True), Done)
    assert not (tmp_path / ".eca").exists()


async def test_a_tool_is_switched_off_and_on_again_in_the_file_that_has_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with filed(tmp_path, monkeypatch, disabledTools=["grep"]) as table:
        client = await table.client()

        async def switch(tool: str, *, on: bool) -> Any:
            await client.request("tool/switch", ToolSwitchParams(server="ECA", tool=tool, on=on), Done)
            return parse((table.folder / ".eca" / "config.json").read_text())["disabledTools"]

        async def has() -> set[str]:
            await answer(client, "hello")
            return {tool.name for tool in (await table.host.chats.load("chat")).state.setup.tools}

        assert await switch("write_file", on=False) == ["grep", "eca__write_file"]
        assert {"write_file", "grep"} & await has() == set()
        assert await switch("grep", on=True) == ["eca__write_file"]
        assert await switch("write_file", on=True) == []
        assert await has() > {"write_file", "grep"}
        with pytest.raises(RemoteError, match="by an approval rule, or with its whole server"):
            await switch("grep", on=True)
        assert said(await answer(client, "hello")) == "Hello."
