"""What the server asks its clients: questions of the model's, and what only an editor knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Request
from tests.requirements.eca.seat import ALLOW_ALL, asked, prompt, seat, words

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

EDITOR: dict[str, Any] = {"chat": {}, "editor": {"diagnostics": True, "definition": True, "references": True}}


def calls(tool: str, **arguments: Any) -> list[dict[str, Any]]:
    return [
        {"result": "", "reply": [{"text": "I read: {result}"}]},
        {"message": "", "reply": [{"tool": tool, "arguments": arguments}]},
    ]


COLOURS = [{"label": "red", "description": "warm"}, {"label": "blue"}]
ASK = calls("ask_user", question="Which?", options=COLOURS, allow_freeform=False)


async def test_a_question_goes_to_the_client_and_its_answer_to_the_model(tmp_path: Path) -> None:
    async with seat(tmp_path, ASK, toolCall=ALLOW_ALL) as (_, at):
        await at.result("chat/prompt", {"chatId": 7, "message": "hi"})
        question = await asked(at, "chat/askQuestion", {"answer": "blue", "cancelled": False})
        await at.finished()
        call = next(p["content"]["id"] for p in at.params("chat/contentReceived") if "id" in p["content"])
        assert question == {
            "chatId": 7, "question": "Which?", "options": COLOURS, "toolCallId": call, "allowFreeform": False,
        }  # fmt: skip
        assert words(at) == "I read: The user answered: blue"


@pytest.mark.parametrize("answer", [{"answer": None, "cancelled": True}, {}, None, {"status": "error"}, "x", 5])
async def test_a_question_that_is_cancelled_or_answered_with_nonsense_ends_and_the_turn_goes_on(
    tmp_path: Path, answer: Any
) -> None:
    async with seat(tmp_path, ASK, toolCall=ALLOW_ALL) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await asked(at, "chat/askQuestion", answer)
        await at.finished()
        assert words(at).startswith("I read: The user did not answer.")


async def test_a_question_does_not_survive_the_stop(tmp_path: Path) -> None:
    async with seat(tmp_path, ASK, toolCall=ALLOW_ALL) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await at.until(lambda message: isinstance(message, Request))
        await at.tell("chat/promptStop", {"chatId": "c"})
        await at.finished()
        assert "I read" not in words(at)


async def test_nobody_is_asked_who_did_not_say_that_it_can_answer(tmp_path: Path) -> None:
    async with seat(tmp_path, ASK, {"chat": True}) as (_, at):
        assert "There is no tool 'ask_user'" in await prompt(at, "hi")
        assert not [message for message in at.heard if isinstance(message, Request)]


async def test_diagnostics_are_asked_of_the_editor(tmp_path: Path) -> None:
    uri = (tmp_path / "a.py").as_uri()
    (tmp_path / "a.py").write_text("x = y\n")
    place = {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}
    found = {"uri": uri, "severity": "error", "source": "ty", "range": place, "code": "E1", "message": "no y"}
    async with seat(tmp_path, calls("editor_diagnostics", path="a.py"), EDITOR, toolCall=ALLOW_ALL) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        assert await asked(at, "editor/getDiagnostics", {"diagnostics": [found]}) == {"uri": uri}
        await at.finished()
        assert words(at) == "I read: a.py:1:5: error: no y [ty E1]"


@pytest.mark.parametrize(("newer_method", "line"), [(None, 1), ("chat/list", 2)])
async def test_diagnostics_count_from_1_until_the_client_turns_out_to_be_one_of_today(
    tmp_path: Path, newer_method: str | None, line: int
) -> None:
    (tmp_path / "a.py").write_text("x = y\nx = z\n")
    place = {"start": {"line": 1, "character": 5}, "end": {"line": 1, "character": 6}}
    found = {"uri": (tmp_path / "a.py").as_uri(), "severity": "error", "range": place, "message": "no y"}
    can: dict[str, Any] = {"chat": True, "editor": {"diagnostics": True}}
    async with seat(tmp_path, calls("editor_diagnostics", path="a.py"), can, toolCall=ALLOW_ALL) as (_, at):
        if newer_method is not None:
            await at.result(newer_method)
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await asked(at, "editor/getDiagnostics", {"diagnostics": [found]})
        await at.finished()
        assert words(at).startswith(f"I read: a.py:{line}:")


async def test_an_editor_that_fails_in_the_shape_of_a_result_costs_one_call(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = y\n")
    async with seat(tmp_path, calls("editor_diagnostics", path="a.py"), EDITOR, toolCall=ALLOW_ALL) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await asked(at, "editor/getDiagnostics", {"status": "error", "message": "outside of a project"})
        await at.finished()
        assert "outside of a project" in words(at)


@pytest.mark.parametrize(
    ("tool", "method", "more"),
    [
        ("editor_definition", "editor/getDefinition", {}),
        ("editor_references", "editor/getReferences", {"includeDeclaration": False}),
    ],
)
async def test_a_place_is_asked_for_counting_from_1_until_the_editors_server_has_started(
    tmp_path: Path, tool: str, method: str, more: dict[str, Any]
) -> None:
    file = tmp_path / "a.py"
    file.write_text("def name(): pass\n'🟦'; name()\n")  # the square is one character and two UTF-16 units
    place = {"start": {"line": 1, "character": 5}, "end": {"line": 1, "character": 9}}
    rules = calls(tool, path="a.py", line=2, symbol="name")
    async with seat(tmp_path, rules, EDITOR, toolCall=ALLOW_ALL) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        first = await asked(at, method, {"status": "starting"})
        assert first == {"uri": file.as_uri(), "position": {"line": 2, "character": 7}, **more}
        await asked(at, method, {"status": "success", "locations": [{"uri": file.as_uri(), "range": place}]})
        await at.finished()
        assert "def name(): pass" in words(at)


@pytest.mark.parametrize("tool", ["editor_diagnostics", "editor_definition", "editor_references"])
async def test_an_editor_is_not_asked_for_what_it_did_not_declare(tmp_path: Path, tool: str) -> None:
    can: dict[str, Any] = {"chat": True, "editor": {}}
    async with seat(tmp_path, calls(tool, path="a.py", line=1, symbol="x"), can) as (_, at):
        assert f"There is no tool '{tool}'" in await prompt(at, "hi")
        assert not [message for message in at.heard if isinstance(message, Request)]
