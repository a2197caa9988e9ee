"""GitHub Copilot: the sign-in with a code, the exchange of tokens, and what it streams."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config, ProviderConfig
from jupyter_eca.config.credentials import KeyStore
from jupyter_eca.engine.model.delta import Delta
from jupyter_eca.errors import FailureKind, ProviderError
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.credentials.sign_in import Logins
from jupyter_eca.plugins.providers.github_copilot import PROVIDER, CopilotProvider
from tests.plugins.providers.ask import answer, asking
from tests.plugins.providers.test_streams import fits, told
from tests.support.anthropic_server import Fault, Recorded
from tests.support.keyrings import Ring
from tests.support.openai_server import LoopbackOpenAI, Stream, recording

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from pathlib import Path

    from jupyter_eca.plugins.providers.credentials.browser_sign_in import User
    from jupyter_eca.protocol.lifecycle import MessageType
    from jupyter_eca.protocol.provider import ProviderStatus

pytestmark = pytest.mark.asyncio

MODEL = "github-copilot/gpt-4.1"
OF_USER, OF_COPILOT = "gho_of-the-user", "tid=of-copilot"
CODE = {"device_code": "d", "user_code": "ABCD-1234", "verification_uri": "https://github.com/login/device"}
HELLO = "text_comes_in_pieces_and_usage_after_it"


class LoopbackCopilot(LoopbackOpenAI):
    """GitHub and Copilot in one. `typed` are the answers to the question whether the user has typed the code."""

    def __init__(
        self,
        stream: Stream,
        *typed: dict[str, str],
        status: int = 200,
        lasts: float = 1_500,
        faults: Iterable[Fault] = (),
    ) -> None:
        super().__init__([stream], faults)
        self._typed = deque(typed)
        self._status = status
        self._lasts = lasts

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        match asked.path:
            case "/login/device/code":
                said: Any = CODE | {"interval": 0, "expires_in": 900}
            case "/login/oauth/access_token":
                said = self._typed.popleft()
            case "/copilot_internal/v2/token":
                said = {"token": OF_COPILOT, "expires_at": int(time.time() + self._lasts)}
                if self._status != 200:
                    return Fault(self._status, '{"message": "no"}', plain=True), ()
            case _:
                return super().answered(asked)
        return Fault(said=json.dumps(said), plain=True), ()

    def paths(self) -> list[str]:
        return [asked.path for asked in self.requests]


def plug(server: LoopbackOpenAI) -> CopilotProvider:
    made = PROVIDER
    return CopilotProvider(
        made.name, made.api, made.presets, made.rank, made.label, github_url=server.url, exchange_url=server.url
    )


def at(server: LoopbackOpenAI) -> ProviderConfig:
    preset = PROVIDER.presets["github-copilot"].settings
    return preset.model_copy(update={"url": server.url, "key": ProviderConfig.model_validate({"key": OF_USER}).key})


@dataclass
class Somebody:
    """A user with a browser."""

    said: list[str] = field(default_factory=list[str])
    tasks: list[asyncio.Task[None]] = field(default_factory=list["asyncio.Task[None]"])
    browser: Any = None

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(work))
        return self.tasks[-1]

    def say(self, type: MessageType, message: str) -> None:
        self.said.append(f"{type.value}: {message}")


async def sign_in(folder: Path, server: LoopbackOpenAI, somebody: User) -> tuple[Any, KeyStore]:
    """The step that the user is shown, and the keys after the sign-in has ended."""

    async def changed(_status: ProviderStatus, _default: str | None) -> None:
        pass

    store = KeyStore(folder / "auth.json", Ring())
    mine = Logins(Catalog({"c": plug(server)}, Config(), store), store, changed)
    step = await mine.login("github-copilot", "device", somebody)
    assert isinstance(somebody, Somebody)
    async with asyncio.timeout(20):
        await asyncio.gather(*somebody.tasks)
    return step, store


async def test_a_user_who_types_the_code_is_signed_in(tmp_path: Path) -> None:
    waiting, somebody = {"error": "authorization_pending"}, Somebody()
    with LoopbackCopilot(recording("chat", HELLO)[0], waiting, waiting, {"access_token": OF_USER}) as server:
        step, store = await sign_in(tmp_path, server, somebody)
        asked = [one.body for one in server.requests if one.path == "/login/oauth/access_token"]
    assert (step.action, step.code, step.url) == ("device-code", "ABCD-1234", CODE["verification_uri"])
    assert somebody.said == ["info: You are signed in to GitHub Copilot."]
    kept = store.get("github-copilot")
    assert kept is not None
    assert kept.key == OF_USER
    assert [body["device_code"] for body in asked] == ["d"] * 3


@pytest.mark.parametrize(
    ("typed", "status", "words"),
    [
        ({"error": "access_denied"}, 200, "it was refused at GitHub"),
        ({"error": "expired_token"}, 200, "not typed in time"),
        ({"access_token": OF_USER}, 401, "did not take this key"),
    ],
)
async def test_a_sign_in_that_fails_says_why_and_keeps_nothing(
    typed: dict[str, str], status: int, words: str, tmp_path: Path
) -> None:
    somebody = Somebody()
    with LoopbackCopilot(recording("chat", HELLO)[0], typed, status=status) as server:
        _, store = await sign_in(tmp_path, server, somebody)
    assert words in somebody.said[0]
    assert store.get("github-copilot") is None


@pytest.mark.parametrize(
    "name",
    [HELLO, "parallel_calls_come_in_turns", "reasoning_has_a_field_of_its_own", "an_error_comes_in_the_stream"],
)
async def test_the_recordings_are_understood_with_a_token_of_copilot(name: str) -> None:
    stream, expected = recording("chat", name)
    deltas, error = list[Delta](), None
    with LoopbackCopilot(stream) as server:
        try:
            await answer(asking("hi", model=MODEL), at(server), plug(server), deltas)
        except ProviderError as raised:
            error = raised
        exchanged, asked = server.requests
    said = json.loads(json.dumps(expected["says"]).replace("openai-chat/m#", f"{MODEL}#"))
    assert fits(told(deltas), said), told(deltas)
    assert (error is None) == ("error" not in expected)
    assert exchanged.headers["authorization"] == f"token {OF_USER}"
    assert (asked.path, asked.key) == ("/chat/completions", OF_COPILOT)
    assert asked.headers["copilot-integration-id"] == "vscode-chat"


@pytest.mark.parametrize(("lasts", "exchanges"), [(1_500, 1), (60, 2)])
async def test_a_token_is_exchanged_again_only_before_it_ends(lasts: float, exchanges: int) -> None:
    with LoopbackCopilot(recording("chat", HELLO)[0], lasts=lasts) as server:
        one = plug(server)
        for _ in range(2):
            await answer(asking("hi", model=MODEL), at(server), one)
        assert server.paths().count("/copilot_internal/v2/token") == exchanges


async def test_an_account_without_copilot_is_told_where_to_enable_it() -> None:
    with (
        LoopbackCopilot(recording("chat", HELLO)[0], status=403) as server,
        pytest.raises(ProviderError, match=r"github\.com/settings/copilot") as caught,
    ):
        await answer(asking("hi", model=MODEL), at(server), plug(server))
    assert caught.value.kind is FailureKind.AUTH
    assert not caught.value.retryable
