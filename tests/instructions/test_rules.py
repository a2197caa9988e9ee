"""Rules: which are told, which are fetched, and what is not done before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import ToolCalledContent
from tests.instructions.told import put, told
from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

SCOPED = "---\npaths: '**.py'\nenforce: [read, modify]\n---\nType everything."


async def test_rules_hold_for_the_agents_and_models_that_they_name(project: Path, home: Path) -> None:
    put(project / ".eca" / "rules", deep__a="For all.", b="---\nagent: plan\n---\nFor plan.")
    put(home / "rules", c="---\nagent: [agent, plan]\nmodel: ['^scripted/', nothing]\n---\nFor this one.")
    put(home / "rules", d="---\nmodel: gpt-[45]\n---\nFor others.")
    words, warned = await told(project)
    assert words.index("For this one.") < words.index("For all.")
    assert "For plan." not in words
    assert "For others." not in words
    assert "For plan." in (await told(project, defaultAgent="plan"))[0]
    assert warned == []


async def test_rules_are_where_the_configuration_says(project: Path, tmp_path: Path) -> None:
    put(project, house="House rule.")
    put(tmp_path / "shared", a="Shared rule.", deep__b="Deep rule.")
    words, warned = await told(
        project, rules=[{"path": "house.md"}, {"path": str(tmp_path / "shared")}, {"path": "no"}]
    )
    assert [part in words for part in ("House rule.", "Shared rule.", "Deep rule.")] == [True] * 3
    assert warned == ["There are no rules at no (`rules` of the configuration)."]


async def test_a_link_in_a_project_leads_to_no_rule_outside_of_it(project: Path) -> None:
    put(project.parent, outside="Outside.")
    for folder in (project / ".eca" / "rules", project / "house"):
        folder.mkdir(parents=True)
        (folder / "a.md").symlink_to(project.parent / "outside.md")
    (project / "b.md").symlink_to(project.parent / "outside.md")
    words, _ = await told(project, rules=[{"path": "house"}, {"path": "b.md"}, {"path": str(project / "house")}])
    assert "Outside." not in words


async def test_a_rule_that_is_not_right_is_told_and_the_others_hold(project: Path) -> None:
    rules = project / ".eca" / "rules"
    put(rules, a="---\npaths: **.py\n---\nA", b="---\nmodel: '['\n---\nB", c="---\nenforce: never\npaths: a\n---\nC")
    put(rules, d="---\npaths: '{a'\n---\nD", e="---\nagent: {}\n---\nE", f="Right.")
    words, warned = await told(project)
    assert "Right." in words
    assert [one.partition(" was left out: ")[2][:40] for one in warned] == [
        "its front matter is not YAML (line 2).",
        "not a regular expression: '[': untermina",
        "`enforce` is modify or read, not never.",
        "'{a' is not a pattern for paths.",
        "`agent` must be a text or a list of text",
    ]
    assert str(rules / "a.md") in warned[0]


async def test_conditions_in_a_rule_are_filled_in_and_an_empty_rule_is_none(project: Path) -> None:
    rules = project / ".eca" / "rules"
    put(
        rules,
        a="{% if toolEnabled_eca__shell_command %}\nTest it.\n{% else %}\nAsk.\n{% endif %}\nIn {{ workspaceRoots }}.",
    )
    put(rules, b="{% if isSubagent %}Short.{% endif %}", c="{% if %}broken")
    words, warned = await told(project)
    assert f'<rule name="a.md">\nTest it.\nIn {project}.\n</rule>' in words
    assert "b.md" not in words
    assert "{% if %}broken" in words
    assert warned == [f"The rule {rules / 'c.md'} is taken as it is: {{% if  %}} is not understood."]


# for some files only ------------------------------------------------------------------------------------------------


def results(received: list[ChatContentReceivedParams]) -> list[tuple[str, bool, str]]:
    contents = [item.content for item in received]
    return [(one.name, one.error, one.outputs[0].text) for one in contents if isinstance(one, ToolCalledContent)]


def script(project: Path) -> list[dict[str, Any]]:
    rule = str(project / ".eca" / "rules" / "types.md")
    reading = {"tool": "read_file", "arguments": {"path": "a.py"}}
    fetching = {"tool": "fetch_rule", "arguments": {"id": rule, "path": str(project / "a.py")}}
    other = {"tool": "fetch_rule", "arguments": {"id": rule, "path": str(project / "b.txt")}}
    writing = {"tool": "write_file", "arguments": {"path": "a.py", "content": "y = 2\n"}}
    calls = {"read": reading, "fetch": fetching, "other": other, "write": writing}
    asked: list[dict[str, Any]] = [{"message": f"^{name}", "reply": [call]} for name, call in calls.items()]
    return [{"result": "", "reply": [{"text": "Done."}]}, *asked]


TRUSTED: dict[str, Any] = {"chat": {"defaultTrust": True}}


async def test_a_file_is_not_touched_before_its_rules_are_fetched(project: Path) -> None:
    put(project / ".eca" / "rules", types=SCOPED)
    (project / "a.py").write_text("x = 1\n")
    async with desk(project, script(project), **TRUSTED) as table:
        client = await table.client()
        for message, thing in (("read", "read"), ("write", "changed")):
            ((_, failed, text),) = results(await answer(client, message))
            assert failed
            assert text.startswith(f"a.py is not {thing} before the user's rules for it are fetched.")
            assert f"fetch_rule with id {project / '.eca/rules/types.md'} and path {project / 'a.py'}" in text
        assert results(await answer(client, "other"))[0][2].startswith("The rule is not about")
        ((_, failed, text),) = results(await answer(client, "fetch"))
        assert (failed, text) == (False, "Rule types.md, for **.py:\n\nType everything.")
        assert results(await answer(client, "read")) == [("read_file", False, "x = 1\n")]
        assert "already" in results(await answer(client, "fetch"))[0][2]
        assert not results(await answer(client, "write"))[0][1]
        assert (project / "a.py").read_text() == "y = 2\n"


async def test_what_was_fetched_is_known_after_a_restart(project: Path) -> None:
    put(project / ".eca" / "rules", types=SCOPED)
    (project / "a.py").write_text("x = 1\n")
    async with desk(project, script(project), **TRUSTED) as table:
        await answer(await table.client(), "fetch")
    async with desk(project, script(project), **TRUSTED) as table:
        assert results(await answer(await table.client(), "read")) == [("read_file", False, "x = 1\n")]


async def test_rules_for_paths_are_listed_and_the_tool_is_there_only_with_them(project: Path) -> None:
    async with desk(project, script(project)) as table:
        bare = await table.host.turns.draft("chat")
        put(project / ".eca" / "rules", types=SCOPED, other="---\nagent: plan\npaths: '**'\n---\nO")
        ruled = await table.host.turns.draft("chat")
    assert "fetch_rule" not in {tool.name for tool in bare.tools}
    assert {tool.name for tool in ruled.tools} - {tool.name for tool in bare.tools} == {"fetch_rule"}
    assert "Type everything" not in ruled.system
    assert f"- id {project / '.eca/rules/types.md'}: for **.py in {project}; fetch before: read, modify" in ruled.system
    assert "other.md" not in ruled.system


async def test_where_the_tool_is_forbidden_rules_for_paths_hold_nothing_up(project: Path) -> None:
    put(project / ".eca" / "rules", types=SCOPED)
    (project / "a.py").write_text("x = 1\n")
    async with desk(project, script(project), disabledTools=["fetch_rule"], **TRUSTED) as table:
        assert "types.md" not in (await table.host.turns.draft("chat")).system
        assert results(await answer(await table.client(), "read")) == [("read_file", False, "x = 1\n")]
