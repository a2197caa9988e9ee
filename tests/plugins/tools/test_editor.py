"""The tools that ask an editor, with one that answers as the test says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools import editor as tools
from jupyter_eca.plugins.tools.base import Tool, ToolContext
from jupyter_eca.plugins.tools.diagnostics import editor_diagnostics
from jupyter_eca.protocol.context import Position
from jupyter_eca.protocol.editor import EditorGetDiagnosticsResult, EditorLookupResult
from jupyter_eca.protocol.lifecycle import EditorCapabilities
from jupyter_eca.workspace.ports import Files

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.editor import EditorGetDefinitionParams, EditorGetReferencesParams

pytestmark = pytest.mark.asyncio


ABLE = EditorCapabilities(diagnostics=True, definition=True, references=True)


@dataclass
class Emacs:
    """Gives its answers, as they come on the wire, one after the other; the last one for ever."""

    answers: list[dict[str, Any]]
    capabilities: EditorCapabilities = ABLE
    in_jupyter: bool = False
    asked: list[Any] = field(default_factory=list[Any])

    def _answer(self, question: object) -> dict[str, Any]:
        self.asked.append(question)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def diagnostics(self, uri: str | None) -> EditorGetDiagnosticsResult:
        return EditorGetDiagnosticsResult.model_validate(self._answer(uri))

    async def definition(self, params: EditorGetDefinitionParams) -> EditorLookupResult:
        return EditorLookupResult.model_validate(self._answer(params))

    async def references(self, params: EditorGetReferencesParams) -> EditorLookupResult:
        return EditorLookupResult.model_validate(self._answer(params))


def place(uri: str, line: int, character: int) -> dict[str, Any]:
    at = {"line": line, "character": character}
    return {"uri": uri, "range": {"start": at, "end": at}}


@pytest.fixture
def code(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a b.py").write_text("def name():\n    pass\n\n\U0001f600 = name() + rename + name\n")
    (tmp_path / "secret.py").write_text("classified\n")
    return root


async def run(root: Path, tool: Tool, emacs: Emacs, **arguments: Any) -> str:
    return (await tool.run(ToolContext("chat", Files((root,)), editor=emacs), arguments)).text


async def test_diagnostics_are_lines_of_place_severity_and_message(code: Path) -> None:
    uri = (code / "a b.py").as_uri()
    first = {"uri": uri, "severity": "error", "source": "ty", "message": "no", "code": 7, **place(uri, 3, 4)}
    emacs = Emacs([{"diagnostics": [first, {**first, "severity": "hint", "source": "", "code": None}]}])
    told = await run(code, editor_diagnostics, emacs, path="a b.py")
    assert told == "a b.py:4:5: error: no [ty 7]\na b.py:4:5: hint: no"
    await run(code, editor_diagnostics, emacs)
    assert emacs.asked == [uri, None]


async def test_no_diagnostics_and_a_failure_of_the_editor_are_told(code: Path) -> None:
    none = await run(code, editor_diagnostics, Emacs([{"diagnostics": []}]), path="a b.py")
    assert none == "The editor has no diagnostics for a b.py."
    all_of_them = await run(code, editor_diagnostics, Emacs([{"diagnostics": []}]))  # of nvim, whatever it has
    assert all_of_them == "The editor tells of no diagnostics. Ask for a file by its path: some know only those."
    failed = Emacs([{"status": "error", "message": "not in a project"}])
    assert await run(code, editor_diagnostics, failed) == "The editor says: not in a project"


async def test_a_definition_is_a_place_with_its_line(code: Path) -> None:
    emacs = Emacs([{"status": "success", "locations": [place((code / "a b.py").as_uri(), 1, 5)]}])
    told = await run(code, tools.editor_definition, emacs, path="a b.py", line=4, symbol="name")
    assert told == "a b.py:1:5: def name():"


@pytest.mark.parametrize(("character", "asked"), [(0, 6), (5, 6), (24, 24)])
async def test_a_name_is_asked_about_where_it_stands_in_utf16_units(code: Path, character: int, asked: int) -> None:
    emacs = Emacs([{"status": "success", "locations": []}])
    arguments = {"path": "a b.py", "line": 4, "symbol": "name", "character": character}
    told = await run(code, tools.editor_references, emacs, **arguments, include_declaration=True)
    assert told == "The editor knows no place for name."
    (params,) = emacs.asked
    assert (params.position, params.include_declaration) == (Position(line=4, character=asked), True)


async def test_a_name_that_is_not_in_the_line_is_told_before_anybody_is_asked(code: Path) -> None:
    emacs = Emacs([{}])
    with pytest.raises(ToolError, match=r"name is not in line 2 of a b.py. It is in line 1, 4."):
        await run(code, tools.editor_definition, emacs, path="a b.py", line=2, symbol="name")
    assert emacs.asked == []


async def test_an_editor_whose_server_starts_is_asked_again(code: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "POLL_SECONDS", 0.0)
    emacs = Emacs([{"status": "starting"}, {"status": "starting"}, {"status": "success"}])
    await run(code, tools.editor_definition, emacs, path="a b.py", line=1, symbol="name")
    assert len(emacs.asked) == 3


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"status": "starting"}, "still starting"),
        ({"status": "no-server"}, "no language server"),
        ({"status": "error"}, "it failed"),
        ({"status": "error", "message": "out of sorts"}, "out of sorts"),
    ],
)
async def test_an_editor_that_cannot_say_is_told_to_the_model(
    code: Path, answer: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tools, "STARTING_SECONDS", 0.0)
    with pytest.raises(ToolError, match=problem):
        await run(code, tools.editor_definition, Emacs([answer]), path="a b.py", line=1, symbol="name")


async def test_a_place_outside_of_the_workspace_is_named_and_not_opened(code: Path) -> None:
    outside = code.parent / "secret.py"
    places = [place(outside.as_uri(), 1, 1), place("jar:file:///x.jar!/y", 1, 1)]
    told = await run(
        code, tools.editor_definition, Emacs([{"locations": places}]), path="a b.py", line=1, symbol="name"
    )
    assert told == f"{outside}:1:1\njar:file:///x.jar!/y:1:1"


async def test_a_file_outside_of_the_workspace_is_not_asked_about(code: Path) -> None:
    emacs = Emacs([{}])
    for tool in (tools.editor_definition, tools.editor_references):
        with pytest.raises(ToolError, match="outside"):
            await run(code, tool, emacs, path="../secret.py", line=1, symbol="classified")
    assert emacs.asked == []


async def test_a_tool_is_there_only_when_the_editor_can(code: Path) -> None:
    able = EditorCapabilities(definition=True)
    context = ToolContext("chat", Files((code,)), editor=Emacs([{}], able))
    there = [tool.spec.name for tool in tools.TOOLS if all(context.has(need) for need in tool.needs)]
    assert there == ["editor_definition"]
    assert not any(
        ToolContext("chat", Files((code,))).has(need)
        for tool in (*tools.TOOLS, editor_diagnostics)
        for need in tool.needs
    )
