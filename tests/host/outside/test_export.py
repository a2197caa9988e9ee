"""What an outside agent has done is in the file that `/export` writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from jupyter_eca import redaction
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.outside.talking import talking
from tests.support.fake_agent import PIXEL
from tests.support.host_and_client import answer

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent
    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


def approve(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True)


def reject(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=False)


async def export(talk: Talking, folder: Path, name: str = "chat.md") -> str:
    """The text of the file into which the chat is exported."""
    await answer(talk.client, f"/export {name}", agent="fake")
    return (folder / name).read_text()


async def test_commands_are_exported_with_their_outcomes(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("codex_shell echo approved one", choose=approve)
        await talk.ask("codex_shell echo rejected one", choose=reject)
        await talk.ask("unasked echo unasked one")
        text = await export(talk, tmp_path)
        assert "**execute** (approved)\n\n```sh\necho approved one\n```\n\n```\napproved one\n```" in text
        assert "**execute** (rejected, not run)\n\n```sh\necho rejected one\n```" in text
        assert "**execute** (fake did not ask)\n\n```sh\necho unasked one\n```" in text


async def test_changes_are_exported_with_their_paths_and_diffs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with talking(tmp_path) as talk:
        await talk.ask("claude_edit a.txt old new", choose=approve)
        text = await export(talk, tmp_path)
        assert "**Edit**: Editing a.txt (approved)\n\n`a.txt`, lines: +1 -1\n\n```diff\n" in text
        assert "\n-old\n+new\n```" in text


async def test_a_plan_a_picture_and_the_cost_are_exported(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("plan", "picture", "usage USD")
        text = await export(talk, tmp_path)
        assert "- [x] Load\n- [ ] Draw (in progress)\n- [ ] Save" in text
        assert f"![Picture](data:image/png;base64,{PIXEL})" in text
        assert "Cost: 0.25 USD, as fake says" in text


async def test_a_call_without_details_is_exported_with_its_arguments(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask('diff [{"path": "b.txt", "newText": "x"}]', "never_ends", "options allow_once", choose=approve)
        assert "**other**: Endless" in await export(talk, tmp_path)


async def test_a_long_command_is_folded_and_does_not_end_its_block(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("unasked seq 60; echo '```'")
        text = await export(talk, tmp_path)
        assert "<details><summary>Output</summary>\n\n````\n1\n2\n" in text
        assert "60\n```\n````\n\n</details>" in text


async def test_secrets_are_not_exported(tmp_path: Path) -> None:
    redaction.register_secret("hush-4711-hush-4711")
    async with talking(tmp_path) as talk:
        await talk.ask("unasked echo hush-4711-hush-4711")
        assert "hush-4711" not in await export(talk, tmp_path)


async def test_an_exported_notebook_has_the_calls_as_text(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("unasked echo here", "plan")
        book = json.loads(await export(talk, tmp_path, "chat.ipynb"))
        text = "".join("".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "markdown")
        assert "```sh\necho here\n```" in text
        assert "- [x] Load" in text
