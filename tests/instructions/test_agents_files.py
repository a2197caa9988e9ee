"""`AGENTS.md`, and what it names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.instructions.told import put, told

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_a_project_and_its_user_tell_the_model_what_they_wrote(project: Path, home: Path) -> None:
    put(project, AGENTS="Use polars. See @docs/style.md, and mail ada@lovelace.org.", docs__style="Tabs. @more.md")
    put(project, docs__more="And no more.")
    put(home, AGENTS="Speak Dutch, as in @words.md.", words="Goeden dag.")
    words, warned = await told(project)
    at = [words.index(part) for part in ("Use polars", "Tabs.", "And no more.", "Speak Dutch", "Goeden dag.")]
    assert at == sorted(at)
    assert '<agents-file path="docs/style.md">\nTabs. @more.md\n</agents-file>' in words
    assert warned == []


async def test_the_folders_above_are_read_if_the_user_wants_it_the_outermost_first(project: Path) -> None:
    put(project, AGENTS="Below")
    put(project.parent, AGENTS="Above")
    put(project.parent.parent, AGENTS="Far above")
    words, _ = await told(project)
    assert "Below" in words
    assert "Above" not in words
    assert "Far above" not in words
    words, _ = await told(project, includeParentAgentsFiles=True)
    assert words.index("Far above") < words.index("Above") < words.index("Below")


async def test_a_file_named_twice_is_told_once(project: Path) -> None:
    put(project, AGENTS="@a.md @b.md", a="Once. @b.md", b="Twice.")
    words, warned = await told(project)
    assert (words.count("Once."), words.count("Twice."), warned) == (1, 1, [])


async def test_what_cannot_be_included_is_told_by_file_and_line_and_the_rest_goes_on(project: Path) -> None:
    put(project, AGENTS="First.\n@a.md\n@gone.md\n@binary.dat @huge.txt\n@../outside.md\nLast.", a="Circle: @AGENTS.md")
    put(project.parent, outside="A secret.")
    (project / "binary.dat").write_bytes(b"\x00\xff\xfe")
    (project / "huge.txt").write_text("x" * 200_000)
    words, warned = await told(project)
    assert "First." in words
    assert "Last." in words
    assert "Circle" in words
    assert "secret" not in words
    file = project / "AGENTS.md"
    assert warned == [
        f"{project / 'a.md'}:1: @AGENTS.md: left out, it includes itself.",
        f"{file}:3: @gone.md: left out, it does not exist.",
        f"{file}:4: @binary.dat: left out, it is not text.",
        f"{file}:4: @huge.txt: left out, it is larger than 100 kB.",
        f"{file}:5: @../outside.md: left out, it is outside of the workspace.",
    ]


async def test_code_with_an_at_in_it_is_no_mistake(project: Path) -> None:
    put(
        project,
        AGENTS="```python\n@app.route\ndef f(): ...\n```\nUse `@pytest.fixture`, and `@style.md`.",
        style="Tabs.",
    )
    words, warned = await told(project)
    assert "Tabs." in words
    assert warned == []


async def test_a_project_cannot_have_files_read_by_a_link(project: Path) -> None:
    put(project.parent, hidden="A secret.")
    (project / "AGENTS.md").symlink_to(project.parent / "hidden.md")
    words, warned = await told(project)
    assert "secret" not in words
    assert warned == [f"{project / 'AGENTS.md'} leads out of the workspace and was not read."]


async def test_too_much_is_not_told(project: Path) -> None:
    put(project, AGENTS="@a.md @b.md @c.md", a="a" * 90_000, b="b" * 90_000, c="c" * 90_000)
    words, warned = await told(project)
    assert ("b" * 90_000 in words, "c" * 90_000 in words) == (True, False)
    assert warned == [
        f"{project / 'AGENTS.md'}:1: @c.md: left out, with it there would be more than 200,000 characters."
    ]
