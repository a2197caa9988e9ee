"""A project set up as ECA's own documentation says: agents, rules, skills, hooks, commands and custom tools in `.eca`.
One conversation of an editor with a real process sees all of them at work."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.support.editor_process import Editor, editor
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

FILES = {
    "AGENTS.md": "Distances are in metres. See @docs/units.md.",
    "docs/units.md": "Never in feet.",
    "people.csv": "name\nAda\nGrace\n",
    ".eca/rules/style.md": "Use type hints.",
    ".eca/rules/sql.md": "---\npaths: '**/*.sql'\n---\nLower case.",
    ".eca/skills/counting/SKILL.md": "---\nname: counting\ndescription: Counts the lines.\n---\nUse count_lines.",
    ".eca/commands/count.md": "---\ndescription: Counts\n---\nCount the lines of $1 for $ARGS.",
    ".eca/agents/checker.md": "---\nmode: subagent\ndescription: Checks numbers.\nmaxSteps: 3\n---\nYou check.",
}

CONFIG: dict[str, Any] = {
    "customTools": {
        "count_lines": {
            "description": "Counts the lines of a file.",
            "command": "wc -l < {{file}}",
            "schema": {"properties": {"file": {"type": "string", "description": "Which."}}, "required": ["file"]},
        }
    },
    "toolCall": {"approval": {"allow": {"count_lines": {}, "write_file": {}}}},
    "hooks": {
        "stamp": {
            "type": "preRequest",
            "visible": False,
            "actions": [{"type": "shell", "shell": """echo '{"additionalContext": "Asked at noon."}'"""}],
        },
        "guard": {
            "type": "preToolCall",
            "matcher": "eca__write_file",
            "actions": [{"type": "shell", "shell": "echo 'Nothing is written here.' >&2; exit 2"}],
        },
    },
}


def calls(tool: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"tool": tool, "arguments": arguments}]


RULES: list[dict[str, Any]] = [
    {"message": r"Count the lines of people\.csv for people\.csv kindly\.(.|\n)*Asked at noon",
     "reply": calls("skill", name="counting")},
    {"tool": "skill", "result": r"Use count_lines\.", "reply": calls("count_lines", file="people.csv")},
    {"tool": "count_lines", "result": "^3", "reply": calls("spawn_agent", agent="checker", task="Is 3 right?")},
    {"message": "^Is 3 right", "reply": [{"text": "It is right."}]},
    {"tool": "spawn_agent", "result": "It is right",
     "reply": calls("write_file", path="count.txt", content="3")},
    {"tool": "write_file", "result": "Nothing is written here", "reply": [{"text": "Three, and nothing was written."}]},
    {"message": "", "result": "", "reply": [{"text": "Lost at: {result}"}]},
    {"message": "", "reply": [{"text": "Lost: {message}"}]},
]  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    config = settings(tmp_path, RULES, **CONFIG)
    for name, text in {**FILES, ".eca/config.json": json.dumps(config)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


async def test_a_project_of_ecas_documentation_is_at_work_in_one_conversation(project: Path) -> None:
    async with editor(project) as at:
        await at.initialize(project)
        offered = (await at.request(10, "chat/queryCommands", {"query": ""}))["commands"]
        assert {"count", "counting"} <= {one["name"] for one in offered}
        words = await asked(at, "/prompt-show hello")
        for told in ("Distances are in metres.", "Never in feet.", "Use type hints.", "counting: Counts the lines"):
            assert told in words
        assert "Lower case." not in words
        assert "sql.md" in words
        assert "checker" in words
        await at.request(11, "chat/prompt", {"chatId": "c", "message": "/count people.csv kindly"})
        rejected = await at.content("toolCallRejected")
        assert (rejected["name"], rejected["reason"]) == ("write_file", "hookRejected")
        await at.content("progress", state="finished")
        assert at.said().endswith("Three, and nothing was written.")
        inside = [one["content"].get("text") for one in contents(at) if one.get("parentChatId") == "c"]
        assert "It is right." in inside
        assert not (project / "count.txt").exists()


async def asked(at: Editor, message: str) -> str:
    await at.request(12, "chat/prompt", {"chatId": "shown", "message": message})
    await at.content("progress", state="finished")
    return "".join(one["content"].get("text", "") for one in contents(at) if one["role"] == "system")


def contents(at: Editor) -> list[dict[str, Any]]:
    return [one.params for one in at.heard if isinstance(one, Notification) and one.method == "chat/contentReceived"]
