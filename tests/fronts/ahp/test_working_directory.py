"""The working directory of a session: its tools run there, and nothing else is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import APPROVE, DENY, calls_of, fails, place
from tests.support.host_and_client import answer

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.ahp.place import Client, Json

pytestmark = pytest.mark.asyncio

S = "eca:/s1"

RULES: list[Json] = [
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "where", "reply": [{"tool": "shell_command", "arguments": {"command": "pwd"}}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "one\n"}}]},
    {"message": "climb", "reply": [{"tool": "write_file", "arguments": {"path": "../../out.txt", "content": "x"}}]},
    {"message": "protected", "reply": [{"tool": "write_file", "arguments": {
        "path": "../.eca/config.json", "content": "{}"}}]},
    {"message": "shell", "reply": [{"tool": "shell_command", "arguments": {"command": "echo x > ../AGENTS.md"}}]},
    {"message": "spawn", "reply": [{"tool": "spawn_agent", "arguments": {
        "agent": "general", "task": "where", "activity": "looking"}}]},
]  # fmt: skip
TRUST: Json = {"defaultTrust": True}


async def ask(client: Client, message: str, number: int) -> Json:
    """Ask, wait for the end of the turn, and return its first tool call."""
    await client.ask(S, f"t{number}", message)
    return calls_of((await client.settled(S, number))["turns"][-1])[0]


def text(call: Json) -> str:
    return "".join(part.get("text", "") for part in call.get("content", ())) + call.get("error", {}).get("message", "")


async def test_tools_and_commands_run_in_the_working_directory_of_the_session(tmp_path: Path) -> None:
    folder = tmp_path / "root" / "sub"
    folder.mkdir(parents=True)
    async with place(folder.parent, RULES, chat=TRUST) as at:
        client = await at.connect()
        state = await client.create(S, workingDirectory=folder.as_uri())
        assert state["summary"]["workingDirectory"] == folder.as_uri()
        assert str(folder) in text(await ask(client, "where", 1)).splitlines()
        await ask(client, "write", 2)
        assert (folder / "new.txt").read_text() == "one\n"
        assert not (folder.parent / "new.txt").exists()
        assert f"Working directory: {folder}" in (await at.host.turns.draft("s1")).system
        assert "outside of the workspace" in text(await ask(client, "climb", 3))
        assert not (tmp_path / "out.txt").exists()
        await at.wait_until_same(client, S)


async def test_the_change_that_is_shown_for_approval_is_of_the_file_that_is_written(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    async with place(tmp_path, RULES) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=folder.as_uri())
        await client.ask(S, "t1", "write")
        call = await client.call(S, "pending-confirmation")
        assert [item["after"]["uri"] for item in call["edits"]["items"]] == [(folder / "new.txt").as_uri()]
        await client.decide(S, "t1", call, **APPROVE)
        done = calls_of((await client.settled(S, 1))["turns"][0])[0]
        edit = next(part for part in done["content"] if part["type"] == "fileEdit")
        assert edit["after"]["uri"] == (folder / "new.txt").as_uri()
        after = await client.request("resourceRead", uri=edit["after"]["content"]["uri"])
        assert after["data"] == (folder / "new.txt").read_text() == "one\n"


async def test_a_subagent_works_in_the_working_directory_of_its_session(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    async with place(tmp_path, RULES, chat=TRUST) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=folder.as_uri())
        assert str(folder) in text(await ask(client, "spawn", 1))


async def test_the_working_directory_survives_the_server_and_holds_for_other_clients_and_forks(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    async with place(tmp_path, RULES, chat=TRUST) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=folder.as_uri())
        await ask(client, "where", 1)
    async with place(tmp_path, RULES, chat=TRUST) as at:
        editor = await at.client()
        received = await answer(editor, "where", chat="s1")
        assert any(str(folder) in str(item.content) for item in received)
        client = await at.connect()
        fork = {"session": S, "turnId": "t1"}
        state = await client.create("eca:/s2", fork=fork)
        assert state["summary"]["workingDirectory"] == folder.as_uri()
        other = await fails(client, "createSession", session="eca:/s3", fork=fork, workingDirectory=tmp_path.as_uri())
        assert (other.code, "fork" in str(other)) == (-32602, True)
        await client.ask("eca:/s2", "x", "where")
        turn = (await client.settled("eca:/s2", 2))["turns"][-1]
        assert str(folder) in text(calls_of(turn)[0])


async def test_a_working_directory_that_is_none_is_refused_in_words_and_makes_no_session(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "file").touch()
    (root / "out").symlink_to(tmp_path)
    async with place(root, RULES) as at:
        client = await at.connect()
        for uri, code, words in (
            ("http://x", -32602, "is not a folder of this server"),
            ("file://elsewhere/x", -32602, "is not a folder of this server"),
            ("sub", -32602, "is not a folder of this server"),
            ("file:///etc", -32009, f"Use a path inside of {root}"),
            (f"{root.as_uri()}/../", -32009, "is outside of the workspace"),
            ((root / "out").as_uri(), -32009, "is outside of the workspace"),
            ((root / "file").as_uri(), -32008, "is not a folder"),
            ((root / "none").as_uri(), -32008, "is not a folder"),
        ):
            refused = await fails(client, "createSession", session=S, workingDirectory=uri)
            assert (refused.code, words in str(refused)) == (code, True), str(refused)
        assert (await client.request("listSessions"))["items"] == []


async def test_a_turn_is_refused_in_words_when_its_working_directory_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    async with place(tmp_path, RULES, chat=TRUST) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=folder.as_uri())
        folder.rmdir()
        await client.ask(S, "t1", "write")
        turn = (await client.settled(S, 1))["turns"][0]
        assert turn["state"] == "error"
        assert str(folder) in turn["error"]["message"]
        folder.symlink_to(tmp_path.parent)
        await client.ask(S, "t2", "write")
        assert (await client.settled(S, 2))["turns"][1]["state"] == "error"
        assert not (tmp_path.parent / "new.txt").exists()


async def test_a_completed_file_is_named_as_it_is_seen_from_the_working_directory(tmp_path: Path) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "unusual.txt").touch()
    async with place(tmp_path, RULES) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=folder.as_uri())
        text = "@unusu"
        found = await client.request("completions", kind="userMessage", session=S, text=text, offset=len(text))
        assert [item["insertText"] for item in found["items"]][:1] == ["@unusual.txt "]
        assert found["items"][0]["attachment"]["uri"] == (folder / "unusual.txt").as_uri()


@pytest.mark.parametrize("message", ["protected", "shell"])
async def test_what_may_run_is_protected_from_inside_of_a_working_directory_too(tmp_path: Path, message: str) -> None:
    folder = tmp_path / "sub"
    folder.mkdir()
    async with place(tmp_path, RULES, chat=TRUST) as at:
        client = await at.connect()
        await client.create(S, workingDirectory=folder.as_uri())
        await client.ask(S, "t1", message)
        call = await client.call(S, "pending-confirmation")
        await client.decide(S, "t1", call, **DENY)
        await client.settled(S, 1)
        assert not (tmp_path / ".eca").exists()
        assert not (tmp_path / "AGENTS.md").exists()
