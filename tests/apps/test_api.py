"""The assistant from Python: a script with an engine of its own, over a scripted model."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import jupyter_eca
from jupyter_eca.apps.python_tools import LENT_TOOLS
from jupyter_eca.errors import LocalError, RemoteError, TurnError
from jupyter_eca.protocol.content import TextContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.mcp_client.house import tour_server
from tests.plugins.test_loader import install
from tests.support.host_and_client import PATIENCE, settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator
    from pathlib import Path

    from jupyter_eca.apps.api import Connection
    from jupyter_eca.apps.kernel.answer.transcript import TranscriptCall

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"message": "^hello", "reply": [{"text": "Hello, you.", "chunk": 4}]},
    {"message": "^weather", "reply": [{"tool": "weather", "arguments": {"city": "Ulm"}}]},
    {"message": "^weather", "result": "", "reply": [{"text": "It is: {result}"}]},
    {"message": "^add", "reply": [{"tool": "add", "arguments": {"one": 40, "other": 2}}]},
    {"message": "^wrong", "reply": [{"tool": "add", "arguments": {"one": "x"}}]},
    {"message": "", "result": "", "reply": [{"text": "{result}"}]},
    {"message": "(?P<seen>42 rows)", "reply": [{"text": "I see $seen."}]},
    {"message": "^slow", "reply": [{"text": "word " * 4000, "chunk": 5, "delay": 0.01}]},
    {"message": "^break", "reply": [{"text": "So far."}, {"error": "The model is overloaded.", "status": 400}]},
    {"message": "", "reply": [{"text": "I heard: {message}"}]},
]


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    """Those of a test are no other's."""
    yield
    LENT_TOOLS.clear()


def not_today(_call: TranscriptCall) -> CallDecision:
    return CallDecision(False, reason="Not today.")


@asynccontextmanager
async def connected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, approve: Any = None, rules: Any = RULES, **more: Any
) -> AsyncGenerator[Connection]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(folder / "data"))
    (folder / "set.json").write_text(json.dumps(settings(folder, rules, **more)))
    async with (
        asyncio.timeout(PATIENCE * 3),
        jupyter_eca.connect(folder=folder, config_file=folder / "set.json", approve=approve) as eca,
    ):
        yield eca


async def test_the_first_question_has_the_tools_and_the_prompts_of_mcp_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [
        {"message": "^add", "result": "", "reply": [{"text": "It is {result}."}]},
        {"message": "^add", "reply": [{"tool": "tour__add", "arguments": {"a": 40, "b": 2}}]},
        {"message": "", "reply": [{"text": "I heard: {message}"}]},
    ]
    more: dict[str, Any] = {
        "mcpServers": {"tour": tour_server()},
        "toolCall": {"approval": {"allow": {"tour__add": {}}}},
    }
    async with connected(tmp_path, monkeypatch, rules=rules, **more) as eca:
        assert (await eca.ask("add")).text == "It is 42."
        with pytest.raises(TurnError, match=r"offers no prompt 'nothing' now\. It offers: `/tour:greet`"):
            await eca.ask("/tour:nothing")
    async with connected(tmp_path, monkeypatch, rules=rules, **more) as eca:
        assert (await eca.ask("/tour:greet Ada")).text.endswith("Say hello to Ada.")


async def test_an_answer_is_awaited_or_its_events_are_iterated_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(tmp_path, monkeypatch) as eca:
        answer = await eca.ask("hello")
        assert (answer.text, answer.outcome, answer.chat) == ("Hello, you.", "completed", eca.id)
        reply = eca.chat().ask("hello")
        said = [event.content.text async for event in reply if isinstance(event.content, TextContent)]
        assert "".join(said) == "helloHello, you."
        assert reply.text == "Hello, you."
        assert (await reply).text == "Hello, you."
        with pytest.raises(LocalError, match="asked already"):
            aiter(reply)
        assert "scripted/test" in eca.models
        assert "code" in eca.agents


async def test_contexts_are_named_as_in_a_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.txt").write_text("one\n42 rows\nthree")
    async with connected(tmp_path, monkeypatch) as eca:
        assert (await eca.ask("what is in there?", ["@data.txt"])).text == "I see 42 rows."
        assert "42" not in (await eca.chat().ask("and there?", ["data.txt:L3"])).text


async def test_a_function_is_a_tool_in_two_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[TranscriptCall] = []

    @jupyter_eca.tool
    def weather(city: str, days: int = 1) -> dict[str, Any]:
        """The weather of a city."""
        return {"city": city, "sunny": days}

    def approve(call: TranscriptCall) -> bool:
        asked.append(call)
        return True

    async with connected(tmp_path, monkeypatch, approve) as eca:
        answer = await eca.ask("weather?")
        assert answer.text == 'It is: {"city": "Ulm", "sunny": 1}'
        assert [call.name for call in answer.tool_calls] == ["weather"]
        assert (asked[0].name, asked[0].arguments) == ("weather", {"city": "Ulm"})

        @jupyter_eca.tool(reads=True)
        async def add(one: int, other: int) -> int:
            await asyncio.sleep(0)
            return one + other

        assert (await eca.ask("add them")).text == "42"
        wrong = await eca.ask("wrong")
        assert "one: Input should be a valid integer" in wrong.text
    assert weather("Bonn") == {"city": "Bonn", "sunny": 1}


async def test_what_a_function_raises_is_told_to_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @jupyter_eca.tool
    def weather(city: str) -> str:
        raise ValueError(f"no clouds over {city}")

    rules: dict[str, Any] = {"toolCall": {"approval": {"allow": {"python__weather": {}}}}}
    async with connected(tmp_path, monkeypatch, **rules) as eca:
        assert (await eca.ask("weather?")).text == "It is: weather failed: ValueError: no clouds over Ulm"


@pytest.mark.parametrize(
    ("approve", "words"),
    [(None, "connected without `approve`"), (not_today, "Not today.")],
)
async def test_without_approval_nothing_runs_and_the_turn_ends(
    approve: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    @jupyter_eca.tool
    def weather(city: str) -> None:
        ran.append(city)

    async with connected(tmp_path, monkeypatch, approve) as eca:
        answer = await eca.ask("weather?")
        assert words in answer.text
        assert not ran


async def test_leaving_an_answer_stops_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(tmp_path, monkeypatch) as eca:
        events = aiter(eca.ask("slow"))
        await anext(events)
        await events.aclose()
        assert (await eca.ask("hello")).text == "Hello, you."


async def test_an_answer_that_breaks_off_raises_and_what_came_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connected(tmp_path, monkeypatch) as eca:
        reply = eca.ask("break")
        with pytest.raises(TurnError, match="overloaded"):
            await reply
        assert (reply.text, reply.answer.outcome) == ("So far.", "failed")


async def test_a_name_that_a_tool_has_already_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @jupyter_eca.tool(name="read_file")
    def read(path: str) -> str:
        return path

    async with connected(tmp_path, monkeypatch) as eca:
        with pytest.raises(RemoteError, match=r"a tool read_file already\. Give yours another name"):
            await eca.ask("hello")


async def test_a_function_that_cannot_be_described_says_what_to_do() -> None:
    with pytest.raises(LocalError, match="Annotate them with types of JSON"):

        @jupyter_eca.tool
        def takes(one: asyncio.Event) -> None: ...  # pyright: ignore[reportUnusedFunction]

    with pytest.raises(LocalError, match="not a valid name for a tool"):
        jupyter_eca.tool(name="wei ter")(_same)
    with pytest.raises(LocalError, match="len is not a Python function"):
        jupyter_eca.tool(len)


def _same(one: int) -> int:
    return one


async def test_a_configuration_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "set.json").write_text("{")
    with pytest.raises(RemoteError, match=r"set\.json is not JSON"):
        async with jupyter_eca.connect(folder=tmp_path, config_file=tmp_path / "set.json"):
            pass


async def test_an_engine_that_cannot_be_started_because_of_a_fault_ends_the_connection(plug: Path) -> None:
    (plug / "faulty_plug.py").write_text(
        "from jupyter_eca.plugins.tools.base import Plain\n"
        "class Faulty(Plain):\n    spec = None\n    async def run(self, context, arguments):\n        pass\n"
        "TOOLS = (Faulty(),)\n"
    )
    install(plug, "tools", theirs="faulty_plug:TOOLS")
    (plug / "set.json").write_text("{}")
    with pytest.raises(RemoteError):
        async with asyncio.timeout(PATIENCE), jupyter_eca.connect(folder=plug, config_file=plug / "set.json"):
            pass
