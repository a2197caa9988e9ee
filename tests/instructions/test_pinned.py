"""What a model is told at the beginning of a chat, and that it stays what it was."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host import commands
from jupyter_eca.host.commands import CommandAnswer
from jupyter_eca.instructions.prompt_texts import read_prompt
from jupyter_eca.plugins.providers.scripted import Script
from tests.host.faults.vendor import shows, vendor
from tests.instructions.told import HELLO, put
from tests.plugins.contexts.near import sent
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.host import Host

pytestmark = pytest.mark.asyncio


async def run(host: Host, command: str, chat: str = "chat") -> str:
    made = await commands.run(host, chat, command)
    assert isinstance(made, CommandAnswer)
    return made.text


async def system(host: Host, chat: str = "chat") -> str:
    return (await host.turns.draft(chat)).system


def prefix(body: dict[str, Any]) -> str:
    """The parts of a request in the order in which the vendor caches them; where it may end its cache is no part."""

    def plain(part: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in part.items() if name != "cache_control"}

    parts = (body["tools"], body["system"], *body["messages"])
    return "\n".join(json.dumps(json.loads(json.dumps(part), object_hook=plain)) for part in parts)


def cursor(project: Path, line: int) -> Any:
    place = {"line": line, "character": 0}
    (made,) = sent({"type": "cursor", "path": str(project / "a.py"), "position": {"start": place, "end": place}})
    return made


@pytest.mark.usefixtures("sdk")
async def test_a_request_begins_with_the_one_before_it_whatever_is_written_meanwhile(project: Path) -> None:
    rules = project / ".eca" / "rules"
    skills = project / ".eca" / "skills"
    put(project, AGENTS="Use polars.")
    put(skills, plots__SKILL="---\nname: plots\ndescription: Draws.\n---\nDraw.")
    put(rules, a="Be kind.", types="---\npaths: '**.py'\n---\nType everything.")
    (project / "a.py").write_text("".join(f"x{n} = {n}\n" for n in range(20)))
    fetch = {"tool": "fetch_rule", "arguments": {"id": str(rules / "types.md"), "path": str(project / "a.py")}}
    read = {"tool": "read_file", "arguments": {"path": "a.py", "line_offset": "3"}}
    script = Script.model_validate(
        {
            "rules": [
                {"result": "", "reply": [{"text": "Done."}]},
                {"message": "fetch", "reply": [fetch, read]},
                {"message": "", "reply": [{"text": "Hello."}]},
            ]
        }
    )
    bodies: list[dict[str, Any]] = []
    for session in range(2):
        async with vendor(project, script=script, chat={"defaultTrust": True}) as (table, server):
            client = await table.client()
            for turn in range(10 * session, 10 * session + 10):
                await shows(client, "fetch" if turn % 5 == 2 else f"turn {turn}", cursor(project, turn))
                put(project, AGENTS=f"Use pandas, said at {turn}.")
                put(rules, a=f"Be stern at {turn}.", **{f"new{turn}": "A new one."})
                put(skills, **{f"new{turn}__SKILL": f"---\nname: new{turn}\ndescription: d\n---\nNew."})
            bodies += [asked.body for asked in server.requests]
    assert len(bodies) == 24
    for told in ("Use polars.", "Be kind.", "types.md", "- plots: Draws."):
        assert told in str(bodies[0]["system"])
    requests = [prefix(body) for body in bodies]
    assert [n for n, (old, new) in enumerate(pairwise(requests)) if not new.startswith(old)] == []
    assert str(bodies[-1]["messages"]).count("x17 = 17") >= 1


async def test_a_new_chat_another_agent_and_another_model_are_told_what_is_so_now(project: Path) -> None:
    put(project, AGENTS="Old words.")
    async with desk(project, HELLO, agent={"mine": {}}) as table:
        table.host.config.providers["scripted"].models["other"] = table.host.config.providers["scripted"].models["test"]
        client = await table.client()
        await answer(client, "hello")
        put(project, AGENTS="New words.")
        assert "Old words." in await system(table.host)
        assert "New words." in await system(table.host, "another")
        await answer(client, "hello", agent="mine")
        assert "New words." in await system(table.host)
        put(project, AGENTS="Newest words.")
        await answer(client, "hello", model="scripted/other")
        assert "Newest words." in await system(table.host)


async def test_it_is_told_anew_when_the_user_says_so(project: Path) -> None:
    put(project, AGENTS="Old words.", **{".eca__rules__gone": "Gone."})
    async with desk(project, HELLO) as table:
        await answer(await table.client(), "hello")
        assert "nothing has changed" in await run(table.host, "/sync-system-prompt")
        put(project, AGENTS="New words.", **{".eca__rules__new": "New."})
        (project / ".eca/rules/gone.md").unlink()
        assert "began without `new.md`" in await run(table.host, "/rules")
        assert (await run(table.host, "/sync-system-prompt")).splitlines()[2:] == [
            f"- new: Rule {project / '.eca/rules/new.md'}",
            "- changed: AGENTS.md",
            f"- no more: Rule {project / '.eca/rules/gone.md'}",
        ]
        assert "New words." in await system(table.host)
    async with desk(project, HELLO) as table:
        put(project, AGENTS="Newest words.")
        assert "New words." in await system(table.host)


async def test_the_rules_are_shown_with_what_they_are_for(project: Path, home: Path) -> None:
    async with desk(project, HELLO) as table:
        assert (await run(table.host, "/rules")).startswith("There are no rules")
        put(home / "rules", a="All.", b="---\nagent: plan\n---\nPlan.")
        put(project / ".eca" / "rules", c="---\npaths: ['**.py']\nenforce: read\nmodel: ^scripted\n---\nTypes.")
        assert (await run(table.host, "/rules")).splitlines() == [
            "Rules the model reads at the beginning of a chat:",
            "",
            f"- `{home / 'rules/a.md'}`",
            "",
            "Fetched for some files only:",
            "",
            f"- `{project / '.eca/rules/c.md'}` (files `**.py`; before `reading`; models `^scripted`)",
            "",
            "Not for the agent `code` with `scripted/test`:",
            "",
            f"- `{home / 'rules/b.md'}` (agents `plan`)",
        ]
        await answer(await table.client(), "hello")
        put(project / ".eca" / "rules", d="---\npaths: a\n---\nNew.")
        assert "began without `d.md`" in await run(table.host, "/rules")


async def test_it_is_always_told_anew_where_the_user_wants_that(project: Path) -> None:
    put(project, AGENTS="Old words.")
    async with desk(project, HELLO, chat={"autoSyncSystemPrompt": True}) as table:
        await answer(await table.client(), "hello")
        put(project, AGENTS="New words.")
        assert "New words." in await system(table.host)


async def test_a_command_alone_does_not_decide_what_a_chat_begins_with(project: Path) -> None:
    async with desk(project, HELLO) as table:
        await answer(await table.client(), "/context")
        put(project, AGENTS="Written since.")
        await answer(await table.client(), "hello")
        assert "Written since." in await system(table.host)


async def test_a_copy_of_a_chat_begins_as_it_did_and_a_deleted_one_leaves_nothing(project: Path) -> None:
    put(project, AGENTS="Old words.")
    async with desk(project, HELLO) as table:
        await answer(await table.client(), "hello")
        put(project, AGENTS="New words.")
        last = (await table.host.chats.read_events("chat"))[-1].seq
        await table.host.store.do(lambda tables: tables.copy_chat("chat", last, "copy", "Copy", 1))
        assert "Old words." in await system(table.host, "copy")
        await table.host.store.do(lambda tables: tables.delete_chat("chat"))
        assert await table.host.store.do(lambda tables: tables.read_system_prompt("chat")) is None


# the words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["code", "notebook", "plan"])
async def test_our_prompts_are_short_and_say_what_they_must(name: str) -> None:
    text = read_prompt(name)
    assert len(text) < 1600  # 400 tokens
    wanted = {
        "notebook": ("state of the notebook", "small steps", "real output"),
        "code": ("small steps", "real output"),
    }
    for words in (*wanted.get(name, ()), "cannot be undone"):
        assert words in text


async def test_each_agent_has_its_own_words_and_the_users_stand_in_for_them(project: Path) -> None:
    async with desk(project, HELLO) as table:
        assert (await system(table.host)).startswith(read_prompt("code"))
    async with desk(project, HELLO, defaultAgent="plan", prompts={"chat": "General."}) as table:
        assert (await system(table.host)).startswith(read_prompt("code"))
    async with desk(project, HELLO, prompts={"chat": "In {{workspaceRoots}}."}) as table:
        assert (await system(table.host)).startswith(f"In {project}.")
    async with desk(project, HELLO, agent={"code": {"systemPrompt": "Mine."}}, prompts={"chat": "No."}) as table:
        assert (await system(table.host)).startswith("Mine.")


async def test_what_is_shown_of_it_is_word_for_word_what_is_told(project: Path) -> None:
    put(project, AGENTS="Use `polars`.\n\n```python\nimport polars\n```")
    async with desk(project, HELLO) as table:
        assert await system(table.host) in await run(table.host, "/prompt-show")


async def test_context_tells_what_each_source_takes(project: Path) -> None:
    put(project, AGENTS="w" * 4_000, **{".eca__rules__a": "r" * 400})
    async with desk(project, HELLO) as table:
        rows = [row.split(" | ") for row in (await run(table.host, "/context")).splitlines() if row.startswith("|")]
    tokens = {row[1]: int(row[2].replace(",", "")) for row in rows[2:]}
    parts = {row[1]: int(row[2].replace(",", "")) for row in rows[2:] if row[0] == "| ↳"}
    assert sum(parts.values()) == pytest.approx(tokens["System prompt"], abs=0)
    assert parts["AGENTS.md"] == pytest.approx(1_000, abs=30)
    assert parts[f"Rule {project / '.eca/rules/a.md'}"] == pytest.approx(150, abs=30)
    assert {"Prompt of the agent", "Environment"} <= parts.keys()


@pytest.mark.usefixtures("sdk")
async def test_init_has_the_model_write_what_a_project_is_about(project: Path) -> None:
    async with vendor(project, prompts={"init": ""}) as (table, server):
        client = await table.client()
        await answer(client, "/init mind the tests")
        asked = str(server.requests[-1].body["messages"])
        assert f"Write the file AGENTS.md in {project}" in asked
        assert "mind the tests" in asked
    async with vendor(project, prompts={"init": "Look at {{workspaceRoots}}."}) as (table, server):
        await answer(await table.client(), "/init", chat="other")
        assert f"Look at {project}." in str(server.requests[-1].body["messages"])
