"""`/login` where there is no keyring: what is said of how long a key lasts, wherever one is typed in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.apps import process
from jupyter_eca.apps.kernel.engine.embedded_host import EmbeddedDoor
from jupyter_eca.host.commands import CommandAnswer
from jupyter_eca.protocol.lifecycle import InitializeParams
from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
from tests.config.test_credentials import holding
from tests.host.commands.test_granting import table
from tests.host.commands.test_login import MODELS, dialogue
from tests.plugins.providers.ask import KEY
from tests.support.host_and_client import said
from tests.support.trust import trust_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.anthropic_server import LoopbackAnthropic

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk", "keyless")]

KEYRING = 'To have it last, `pip install "jupyter-eca[keyring]"` where the system has a keyring, or set '


@pytest.fixture(autouse=True)
def no_keyring(keyless: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001  # after it
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


async def test_a_user_is_told_before_typing_that_it_does_not_last_and_then_what_does(
    tmp_path: Path, vendor: LoopbackAnthropic
) -> None:
    made, asked = await dialogue(tmp_path, vendor, "/login anthropic", KEY)
    assert asked[0]["question"] == "API key (kept in memory only: it is gone when this server ends)"
    assert made == CommandAnswer(
        "You are signed in to Anthropic. The key is kept in memory only: it is gone when this server ends. "
        f"{KEYRING}`ANTHROPIC_API_KEY` in the environment."
    )
    assert holding(tmp_path, KEY) == []


async def test_a_user_of_the_browser_is_told_before_going_there_and_when_back(tmp_path: Path) -> None:
    async with table(tmp_path) as at:
        begun: Any = await at.client.ask("providers/login", {"provider": "openrouter", "method": "browser"})
        for_now = "The key is kept in memory only: it is gone when this server ends."
        assert begun.result["message"].endswith(f"It comes back here by itself. {for_now}")
        assert (await at.browse(begun.result["url"]))[0] == 200
        assert await at.message("info") == (
            f"You are signed in to OpenRouter. {for_now} {KEYRING}`OPENROUTER_API_KEY` in the environment."
        )
        assert at.kept == []
    assert holding(tmp_path, KEY) == []


async def test_a_command_of_one_question_says_that_no_later_one_knows_the_key(
    tmp_path: Path, vendor: LoopbackAnthropic, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    trust_folder(monkeypatch, tmp_path)
    (tmp_path / ".eca").mkdir()
    house = {"api": "anthropic", "url": vendor.url, "models": MODELS}
    (tmp_path / ".eca" / "config.json").write_text(json.dumps({"providers": {"house": house}}))
    asked: list[str] = []

    async def answer(question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        asked.append(question.question)
        return ChatAskQuestionResult(answer=KEY)

    async with process.connect(tmp_path, None, answer_questions=answer) as client:
        told = said([one async for one in client.ask("c", "/login house")], "system")
    alone = "it is gone when this command ends, and the next one does not know it"
    assert asked == [f"API key (kept in memory only: {alone})"]
    assert f"The key is kept in memory only: {alone}. {KEYRING}`HOUSE_API_KEY` in the environment." in told
    assert holding(tmp_path, KEY) == []


async def test_an_engine_in_a_kernel_says_that_a_key_is_gone_with_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CONFIG_HOME", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    host = await EmbeddedDoor(tmp_path, None).get_host(InitializeParams())
    step = await host.logins.login("anthropic", "manual")
    assert step.fields is not None
    assert step.fields[0].label == "API key (kept in memory only: it is gone when this kernel ends)"
