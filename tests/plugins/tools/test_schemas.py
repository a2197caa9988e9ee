"""The schemas of our tools, which every request to a model has."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, Field

from jupyter_eca.plugins import loader
from jupyter_eca.plugins.tools.base import ToolContext, tool

TOOLS = {tool.spec.name: tool.spec for tools in loader.find("tools", "TOOLS").values() for tool in tools}


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Point(BaseModel):
    """A place, in words for a model."""

    x: int
    colour: Colour = Field(Colour.RED, description="How it is drawn.")


class Branch(BaseModel):
    branches: list[Branch] = []


@tool()
async def draw(
    context: ToolContext,  # noqa: ARG001  # only the schema matters
    points: Annotated[list[Point], Field(description="In order.")],  # noqa: ARG001
    title: str = "",  # noqa: ARG001
    width: int = 3,  # noqa: ARG001
    depth: int | None = None,  # noqa: ARG001
) -> str:
    """Draw."""
    return ""


@tool()
async def grow(context: ToolContext, tree: Branch) -> str:  # noqa: ARG001  # only the schema matters
    """Grow."""
    return ""


def test_nested_models_stand_where_they_are_used_and_nothing_is_told_that_says_nothing() -> None:
    colour = {"type": "string", "enum": ["red", "blue"], "default": "red", "description": "How it is drawn."}
    point = {
        "description": "A place, in words for a model.",
        "type": "object",
        "properties": {"x": {"type": "integer"}, "colour": colour},
        "required": ["x"],
    }
    assert draw.spec.parameters == {
        "type": "object",
        "properties": {
            "points": {"type": "array", "items": point, "description": "In order."},
            "title": {"type": "string"},
            "width": {"type": "integer", "default": 3},
            "depth": {"type": "integer"},
        },
        "required": ["points"],
        "additionalProperties": False,
    }


def test_a_model_that_contains_itself_stays_a_definition() -> None:
    assert grow.spec.parameters["properties"]["tree"] == {"$ref": "#/$defs/Branch"}
    assert "branches" in grow.spec.parameters["$defs"]["Branch"]["properties"]


def test_our_own_tools_send_no_docstrings_of_models_and_no_definitions() -> None:
    texts = {name: json.dumps(spec.parameters) for name, spec in TOOLS.items()}
    assert [name for name, text in texts.items() if '"$defs"' in text or '"title":' in text] == []
    step: dict[str, Any] = TOOLS["notebook_change"].parameters["properties"]["changes"]["items"]
    assert "description" not in step
