"""The skills that come with the package: true to the standard, and to the tools that there are."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest
from hatchling.builders.wheel import WheelBuilder

from jupyter_eca.config.front_matter import parse_front_matter
from jupyter_eca.instructions.skills.registry import SHIPPED
from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted(SHIPPED.glob("*/SKILL.md"))
TOOLS = {tool.spec.name for tools in loader.find("tools", "TOOLS").values() for tool in tools}

# The keys of agentskills.io.
KEYS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

# What looks like a tool and is a word of a library.
LIBRARY = {"value_counts", "tmp_path", "tmp_c_2", "fill_between"}

skills = pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)


@skills
def test_a_shipped_skill_keeps_to_the_standard(path: Path) -> None:
    front, body = parse_front_matter(path.read_text("utf-8"))
    assert front.keys() <= KEYS
    assert front["name"] == path.parent.name
    assert 80 < len(front["description"]) <= 1024
    assert "Use when" in front["description"]
    assert body.count("\n") < 120


@skills
def test_a_shipped_skill_names_only_tools_that_there_are(path: Path) -> None:
    text = path.read_text("utf-8")
    named = set(re.findall(r"`([a-z]+(?:_[a-z0-9]+)+)`", text)) - LIBRARY
    assert named <= TOOLS
    assert len(named) >= 4


@skills
def test_the_code_in_a_shipped_skill_can_be_parsed(path: Path) -> None:
    blocks = re.findall(r"^( *)```python\n(.*?)^ *```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    for indent, block in blocks:
        ast.parse("\n".join(line.removeprefix(indent) for line in block.splitlines()))


def test_the_wheel_has_them() -> None:
    builder = WheelBuilder(str(SHIPPED.parents[3]))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    assert {path.relative_to(SHIPPED.parents[3]).as_posix() for path in FILES} <= packed
