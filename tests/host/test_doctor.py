"""The report: what is wrong and what to do first, what works, where the keys are from and what a missing one would
give."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host import doctor
from jupyter_eca.host.doctor import report
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

ALL = ("ANTHROPIC", "OPENAI", "OPENROUTER", "GOOGLE", "GEMINI", "DEEPSEEK", "MISTRAL", "AZURE", "LITELLM")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ALL:
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)


def section(text: str, heading: str) -> str:
    return text.partition(f"### {heading}\n")[2].partition("\n### ")[0]


async def test_it_tells_where_each_providers_key_is_from_what_a_missing_one_would_give_and_never_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MISTRAL_API_KEY", "sk-of-the-environment")
    given: dict[str, Any] = {"openai": {"key": "sk-of-the-file"}}
    async with desk(tmp_path, [], providers=given) as table:
        text = await report(table.host.services, "here")
    keys = section(text, "Keys")
    assert "OpenAI: a key in the configuration; not tried yet" in keys
    assert "`MISTRAL_API_KEY` is set; not tried yet" in keys
    assert "`ANTHROPIC_API_KEY` is not set. It would give Claude models." in keys
    assert "sk-of" not in text


async def test_it_names_the_keys_that_programs_and_kernels_do_not_get_and_the_line_that_keeps_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MISTRAL_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, f"sk-of-{name}")
    async with desk(tmp_path, [], keptVariables=["OPENAI_API_KEY"]) as table:
        keys = section(await report(table.host.services, "here"), "Keys")
    assert "do not get `MISTRAL_API_KEY`." in keys
    assert '"keptVariables": ["MISTRAL_API_KEY"]' in keys


@pytest.mark.parametrize(
    ("default", "reason"), [("openai/m", "`defaultModel` names it"), (None, "it is the first one in the list")]
)
async def test_it_tells_why_a_model_is_the_default(
    default: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-the-environment")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment-too")
    async with desk(tmp_path, [], defaultModel=default) as table:
        text = await report(table.host.services, "here")
    assert f"({reason})" in section(text, "What works")
    assert "Nothing: no problem was found." in section(text, "What to do")


async def test_the_scripted_model_is_no_real_one_and_two_steps_lead_to_one(tmp_path: Path) -> None:
    async with desk(tmp_path, []) as table:
        problems = section(await report(table.host.services, "here"), "What to do")
    assert "A script gives the answers (`scripted/test`). To get a real model:" in problems
    assert "    1. Make a key" in problems
    assert "    2. Write `/login`" in problems
    assert "    3." not in problems


async def test_a_default_model_without_a_key_is_a_problem(tmp_path: Path) -> None:
    async with desk(tmp_path, [], defaultModel="openai/m") as table:
        text = await report(table.host.services, "here")
    assert "The default model `openai/m` cannot answer now. `OPENAI_API_KEY` is not set" in section(text, "What to do")
    assert "openai/m" not in section(text, "What works")


async def test_an_mcp_server_that_failed_is_named_first_with_its_error_and_its_log(tmp_path: Path) -> None:
    broken = {"command": sys.executable, "args": ["-c", "raise SystemExit(3)"]}
    async with desk(tmp_path, [], mcpServers={"weather": broken}) as table:
        text = await report(table.host.services, "here")
    [line] = (line for line in section(text, "What to do").splitlines() if "weather" in line)
    assert line.startswith("- The MCP server `weather` has failed: ")
    assert line.endswith("*MCP servers and tools*, *Log*.")
    assert "weather" not in section(text, "What works")


async def test_a_hook_with_a_mistake_is_a_problem(tmp_path: Path) -> None:
    async with desk(tmp_path, [], hooks={"mine": 3}) as table:
        text = await report(table.host.services, "here")
    assert "The hook 'mine' was left out: it is not an object." in section(text, "What to do")


async def test_it_says_that_the_machine_has_no_sandbox_where_the_user_wants_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_sandbox_program", lambda: "")
    async with desk(tmp_path, [], toolCall={"sandbox": {"mode": "ask"}}) as table:
        text = await report(table.host.services, "here")
    assert "There is no sandbox on this machine" in section(text, "What to do")
    async with desk(tmp_path, []) as table:
        assert "sandbox" not in await report(table.host.services, "here")


async def test_it_says_why_commands_in_the_sandbox_are_asked_about_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "find_sandbox_program", lambda: "bwrap")
    monkeypatch.setenv("HOME", str(tmp_path))
    async with desk(tmp_path, [], toolCall={"sandbox": {"mode": "auto"}}) as table:
        assert "Your home folder is in the workspace" in await report(table.host.services, "here")
