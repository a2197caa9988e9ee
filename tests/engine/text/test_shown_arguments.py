"""What of a call is shown: the code, the command, and the arguments that its details do not show."""

from __future__ import annotations

from typing import Any

import pytest

from jupyter_eca.engine.text.code_block import as_code_block
from jupyter_eca.engine.text.shown_arguments import SANDBOX_WORDS, format_command, split_arguments
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    RunCellsDetails,
    SandboxState,
    ShellCommandDetails,
    ShellCommandPart,
    TaskDetails,
    TaskSummary,
    ToolCallDetails,
)

CHANGE = FileChangeDetails(path="a.py", diff="+x", lines_added=1, lines_removed=0)
COMMAND = ShellCommandDetails(commands=())
TASKS = TaskDetails(tasks=(), summary=TaskSummary(done=0, in_progress=0, pending=0, total=0))
CELLS = RunCellsDetails(path="a.ipynb", cells=())


@pytest.mark.parametrize(
    ("details", "arguments", "code", "others"),
    [
        (None, {"path": "a", "command": "b"}, None, {"path": "a", "command": "b"}),
        (None, {"code": "1", "path": "a"}, "1", {"path": "a"}),
        (None, {"code": "", "path": "a"}, "", {"path": "a"}),
        (None, {"code": 1, "path": "a"}, None, {"code": 1, "path": "a"}),
        (CHANGE, {"path": "a", "content": "b", "new_content": "c", "command": "d"}, None, {"command": "d"}),
        (CHANGE, {"original_content": "a", "changes": [], "code": "1"}, "1", {}),
        (COMMAND, {"command": "a", "background": True, "outside": True, "path": "b"}, None, {"path": "b"}),
        (TASKS, {"op": "a", "tasks": [], "ids": [], "active_summary": "b", "path": "c"}, None, {"path": "c"}),
        (CELLS, {"cells": [1], "path": "a"}, None, {"path": "a"}),
    ],
)
def test_an_argument_is_shown_once_as_code_in_the_details_or_among_the_others(
    details: ToolCallDetails | None, arguments: dict[str, Any], code: str | None, others: dict[str, Any]
) -> None:
    assert split_arguments(arguments, details) == (code, others)


def command(**fields: Any) -> ShellCommandDetails:
    values: dict[str, Any] = {"commands": (), **fields}
    return ShellCommandDetails(**values)


@pytest.mark.parametrize(
    ("arguments", "details", "text"),
    [
        ({"command": "ls"}, command(line="ls -l"), "ls -l"),
        ({"command": "ls"}, command(), "ls"),
        (
            {},
            command(
                commands=(
                    ShellCommandPart(command="a b", args=()),
                    ShellCommandPart(command="grep", args=("x y", "$z")),
                )
            ),
            "a b\ngrep 'x y' '$z'",
        ),
        ({"command": 5}, command(commands=(ShellCommandPart(command="ls", args=()),)), "ls"),
        ({"command": "ls"}, command(background=True), "ls\n# in the background"),
        ({"command": "ls"}, command(sandbox=SandboxState.OUTSIDE), f"ls\n# {SANDBOX_WORDS[SandboxState.OUTSIDE]}"),
    ],
)
def test_a_command_is_shown_exactly_as_it_runs_and_where(
    arguments: dict[str, Any], details: ShellCommandDetails, text: str
) -> None:
    assert format_command(arguments, details) == text


@pytest.mark.parametrize(
    ("text", "language", "block"),
    [
        ("x", "", "\n\n```\nx\n```"),
        ("x", "py", "\n\n```py\nx\n```"),
        ("a ` b", "", "\n\n```\na ` b\n```"),
        ("```\nx\n```", "", "\n\n````\n```\nx\n```\n````"),
        ("````` a ```", "", "\n\n``````\n````` a ```\n``````"),
        ("", "", "\n\n```\n\n```"),
    ],
)
def test_no_text_ends_the_block_of_code_that_it_is_in(text: str, language: str, block: str) -> None:
    assert as_code_block(text, language) == block
    assert language or as_code_block(text) == block
