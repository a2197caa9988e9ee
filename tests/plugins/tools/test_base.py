"""`@tool`: what is made of a function, and what it does with what a model sends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import Field

from jupyter_eca.errors import LocalError, ToolError
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.workspace.head_and_tail import MAX_RESULT_CHARS, truncate_result
from jupyter_eca.workspace.ports import Files
from jupyter_eca.workspace.tool_result import ToolResult
from tests.plugins.test_loader import install
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from pathlib import Path


@tool(reads=True, summary="Greeting {name} {times}")
async def greet(context: ToolContext, name: Annotated[str, Field(description="Whom to greet.")], times: int = 1) -> str:
    """Greet somebody.

    As often as asked.
    """
    return f"{context.chat}: " + f"Hello {name}! " * times


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    return ToolContext("chat", Files((tmp_path,)))


def test_a_function_becomes_a_tool_with_its_signature_as_schema() -> None:
    assert (greet.spec.name, greet.spec.server, greet.only_reads, greet.needs) == ("greet", "eca", True, frozenset())
    assert greet.spec.description == "Greet somebody.\n\nAs often as asked."
    assert greet.spec.parameters == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Whom to greet."},
            "times": {"type": "integer", "default": 1},
        },
        "required": ["name"],
        "additionalProperties": False,
    }


@pytest.mark.asyncio
async def test_arguments_that_are_left_out_have_their_defaults(context: ToolContext) -> None:
    assert await greet.run(context, {"name": "you"}) == ToolResult("chat: Hello you! ")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [({}, "name: Field required"), ({"name": "x", "times": "often"}, "times:"), ({"name": "x", "loud": True}, "loud:")],
)
async def test_arguments_that_do_not_fit_are_named_to_the_model(
    context: ToolContext, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await greet.run(context, arguments)
    assert problem in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize("summary", ["{nam}", "{name[0]}", "{name.upper}", "{name!r}", "{name:>9}", "{}", "{0}"])
def test_a_summary_that_could_fail_on_what_a_model_writes_is_refused_at_once(summary: str) -> None:
    async def shout(context: ToolContext, name: str) -> str:  # noqa: ARG001
        return name

    with pytest.raises(LocalError, match="name"):
        tool(summary=summary)(shout)


def test_a_function_that_is_not_async_is_refused_at_once() -> None:
    def shout(context: ToolContext, name: str) -> str:  # noqa: ARG001
        return name

    with pytest.raises(LocalError, match="async def shout"):
        tool()(shout)


@pytest.mark.asyncio
async def test_a_tool_that_returns_a_number_fails_and_the_model_reads_why(plug: Path) -> None:
    (plug / "counting_plug.py").write_text(
        "from jupyter_eca.plugins import ToolContext, tool\n"
        "@tool(reads=True, summary='Counting')\n"
        "async def count_all(context: ToolContext):\n    return 3\n"
        "TOOLS = (count_all,)\n"
    )
    install(plug, "tools", theirs="counting_plug:TOOLS")
    rules = [{"result": "", "reply": [{"text": "{result}"}]}, {"message": "", "reply": [{"tool": "count_all"}]}]
    async with desk(plug, rules, toolCall={"approval": {"allow": {"count_all": {}}}}) as table:
        assert "must return a str or a ToolResult, and returned int" in said(await answer(await table.client(), "How?"))


@pytest.mark.parametrize("length", [0, 1, MAX_RESULT_CHARS])
def test_a_result_that_fits_is_left_alone(length: int) -> None:
    result = ToolResult("x" * length, error=True)
    assert truncate_result(result) is result


def test_a_result_that_is_too_long_keeps_its_head_and_its_tail() -> None:
    result = truncate_result(ToolResult("head" + "x" * MAX_RESULT_CHARS + "tail", error=True))
    assert result.text.startswith("head")
    assert result.text.endswith("tail")
    assert "[... 8 characters left out ...]" in result.text
    assert result.error
