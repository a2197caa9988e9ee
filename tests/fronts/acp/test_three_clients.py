"""One suite that three clients pass: ours that speaks in raw messages, the one of the official SDK, and acpx."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.fronts.acp.story_clients import CLIENTS, open_client
from tests.fronts.acp.test_process import workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio
__all__ = ["workspace"]

CONFIGURATION = ".eca/config.json"


@pytest.fixture(params=[pytest.param(name, marks=[pytest.mark.nightly] if name != "sdk" else []) for name in CLIENTS])
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.mark.nightly
async def test_a_prompt_is_answered_with_its_whole_text(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        reply = await client.prompt("good morning")
        assert (reply.reason, reply.text, reply.asked) == ("end_turn", "Hello, good morning", 0)


async def test_a_file_is_written_once_that_is_allowed_and_not_when_it_is_rejected(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        reply = await client.prompt("write new.txt one")
        assert (reply.reason, reply.asked) == ("end_turn", 1)
        assert (workspace / "new.txt").read_text() == "one\n"
        reply = await client.prompt("write other.txt two", allow=False)
        assert (reply.reason, reply.asked) == ("end_turn", 1)
        assert reply.text.endswith("Then I leave it.")
        assert not (workspace / "other.txt").exists()


async def test_a_cancelled_prompt_ends_as_cancelled_and_the_next_one_is_answered(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        assert (await client.prompt_and_cancel("stream")).reason == "cancelled"
        reply = await client.prompt("good morning")
        assert (reply.reason, reply.text) == ("end_turn", "Hello, good morning")


async def test_a_mode_that_is_set_holds_for_the_next_prompts(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        await client.set_mode("plan")
        reply = await client.prompt("write new.txt one")
        assert (reply.reason, reply.asked) == ("end_turn", 0)
        assert not (workspace / "new.txt").exists()
        await client.set_mode("code")
        await client.prompt("write new.txt one")
        assert (workspace / "new.txt").read_text() == "one\n"


async def test_a_model_that_is_chosen_answers(name: str, workspace: Path) -> None:
    path = workspace / CONFIGURATION
    configuration = json.loads(path.read_text())
    models = configuration["providers"]["scripted"]["models"]
    script = path.with_name("other.json")
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "I am another."}]}]}))
    models["another"] = {**next(iter(models.values())), "script": str(script)}
    path.write_text(json.dumps(configuration))
    async with open_client(name, workspace) as client:
        assert (await client.prompt("good morning")).text == "Hello, good morning"
        await client.set_option("model", "scripted/another")
        assert (await client.prompt("good morning")).text == "I am another."


async def test_code_runs_in_a_kernel_that_keeps_its_names(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        reply = await client.prompt("compute")
        assert (reply.reason, reply.text) == ("end_turn", "It is 42.")


async def test_a_session_goes_on_in_another_process(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        await client.prompt("write new.txt one")
        await client.start_again()
        reply = await client.prompt("good morning")
        assert (reply.reason, reply.text) == ("end_turn", "Hello, good morning")


async def test_an_error_of_the_provider_is_one_sentence(name: str, workspace: Path) -> None:
    async with open_client(name, workspace) as client:
        reply = await client.prompt("overloaded")
        assert reply.reason.startswith("The endpoint broke off.")
        assert (await client.prompt("good morning")).reason == "end_turn"
