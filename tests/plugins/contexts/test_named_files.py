"""The short files that a message names are sent with it, so that the model need not ask for them first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.texts import format_context
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.content import ProgressContent
from jupyter_eca.protocol.context import FileContext
from tests.support.host_and_client import answer, desk, said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host_and_client import Desk

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {
        "message": "rename",
        "reply": [
            {"tool": "edit_file", "arguments": {"path": "shop/prices.py", "original_content": "1", "new_content": "2"}}
        ],
    },
    {"message": "", "reply": [{"text": "{message}"}]},
]
ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"read_file": {}, "edit_file": {}}}}}
PRICES = "LAMP = 1\n"


def write(folder: Path, name: str, text: str | bytes) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())


async def told(table: Desk, message: str, *contexts: Any, **more: Any) -> str:
    """What the request has behind the message."""
    return said(await answer(await table.client(), message, contexts=contexts, **more)).removeprefix(message)


@pytest.mark.asyncio
async def test_a_named_file_is_sent_and_the_user_is_told(tmp_path: Path) -> None:
    write(tmp_path, "shop/prices.py", PRICES)
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        received = await answer(await table.client(), "Explain shop/prices.py, and gone.py.")
        assert said(received) == "Explain shop/prices.py, and gone.py." + format_context("shop/prices.py", PRICES)
        lines = [one.content.text for one in received if isinstance(one.content, ProgressContent)]
        assert any("shop/prices.py" in line for line in lines)


@pytest.mark.asyncio
async def test_a_named_file_can_be_changed_at_once(tmp_path: Path) -> None:
    write(tmp_path, "shop/prices.py", PRICES)
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        await answer(await table.client(), "rename LAMP in shop/prices.py")
        assert (tmp_path / "shop/prices.py").read_text() == "LAMP = 2\n"


@pytest.mark.asyncio
async def test_a_file_is_sent_again_only_when_it_has_changed(tmp_path: Path) -> None:
    write(tmp_path, "prices.py", PRICES)
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        assert PRICES in await told(table, "Explain prices.py")
        assert await told(table, "And the rest of prices.py?") == ""
        write(tmp_path, "prices.py", "LAMP = 3\n")
        assert "LAMP = 3" in await told(table, "And prices.py now?")


@pytest.mark.asyncio
async def test_a_file_that_is_sent_or_mentioned_is_sent_once(tmp_path: Path) -> None:
    write(tmp_path, "prices.py", PRICES)
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        sent = await told(table, "Explain prices.py", FileContext(path=str(tmp_path / "prices.py")))
        mentioned = await told(table, "Explain prices.py in @prices.py", chat="other")
        assert sent.count(PRICES) == mentioned.count(PRICES) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("long.py", "#" * 12_001),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0"),
        ("data.bin", b"\0\1\2"),
        ("sales.ipynb", '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'),
        ("empty.py", ""),
    ],
)
async def test_what_is_long_or_no_plain_text_is_left_to_the_model(tmp_path: Path, name: str, text: str | bytes) -> None:
    write(tmp_path, name, text)
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        assert await told(table, f"Explain {name}") == ""


@pytest.mark.asyncio
async def test_the_files_of_a_message_have_a_limit_together(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path, f"{name}.txt", name * 5_000)
    write(tmp_path, "d.txt", "short")
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        text = await told(table, "Compare a.txt b.txt c.txt d.txt")
        assert [name for name in "abcd" if f'"{name}.txt"' in text] == ["a", "b", "d"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "rules",
    [
        {"ask": {"read_file": {}}},
        {"allow": {"read_file": {}}, "deny": {"read_file": {"argsMatchers": {"path": [r".*prices\.py"]}}}},
    ],
    ids=["asked", "denied"],
)
async def test_a_file_that_needs_a_question_is_not_sent(tmp_path: Path, rules: dict[str, Any]) -> None:
    write(tmp_path, "prices.py", PRICES)
    async with desk(tmp_path, RULES, toolCall={"approval": rules}) as table:
        assert await told(table, "Explain prices.py") == ""


@pytest.mark.asyncio
async def test_a_link_to_a_hidden_file_or_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, "outside.txt", "secret")
    write(tmp_path, "project/.env", "KEY=secret")
    (tmp_path / "project/out.txt").symlink_to(tmp_path / "outside.txt")
    (tmp_path / "project/hidden.txt").symlink_to(tmp_path / "project/.env")
    async with desk(tmp_path / "project", RULES, **ALLOWED) as table:
        assert await told(table, "Explain out.txt and hidden.txt") == ""


@pytest.mark.asyncio
async def test_a_locked_answer_is_replayed_though_a_named_file_has_changed(tmp_path: Path) -> None:
    write(tmp_path, "prices.py", PRICES)
    lock = AnswerLock(on=True, file=str(tmp_path / "answers.eca-lock.json"))
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        first = await told(table, "Explain prices.py", lock=lock)
    write(tmp_path, "prices.py", "LAMP = 3\n")
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        assert await told(table, "Explain prices.py", lock=lock, chat="other") == first


@pytest.mark.asyncio
async def test_the_request_that_is_shown_has_the_named_and_the_mentioned_files(
    tmp_path: Path,
) -> None:
    write(tmp_path, "prices.py", PRICES)
    write(tmp_path, "cart.py", "CART = 1\n")
    async with desk(tmp_path, RULES, **ALLOWED) as table:
        command = "/prompt-show Explain prices.py and @cart.py"
        shown = said(await answer(await table.client(), command, chat="c"), "system")
        assert "LAMP = 1" in shown
        assert "CART = 1" in shown
        # Nothing was sent, so nothing is known yet.
        assert PRICES in await told(table, "Explain prices.py", chat="c")
