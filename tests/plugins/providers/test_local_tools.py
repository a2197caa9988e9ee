"""Tools for models in this process. SmolLM2 is made to call by a template of ours that knows tools, and by a history
full of calls: it is far too small to choose a tool, and that shows what the grammar does."""

from __future__ import annotations

import asyncio
import json
import struct
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import ModelConfig, ProviderConfig
from jupyter_eca.engine.model.delta import Delta, Remark, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.engine.model.request import ChatMessage, ModelRequest, TextPart, ToolResultPart, ToolSpec, ToolUsePart
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins import tools as native
from jupyter_eca.plugins.providers.llama.calls import StreamedCalls, as_functions
from jupyter_eca.plugins.providers.llama.prompt import NO_TOOLS, build_messages
from jupyter_eca.plugins.providers.local import (
    BUNDLED,
    PROVIDER,
    TOOLS_CONTEXT_TOKENS,
    LocalProvider,
    RunOptions,
    find_bundled_weights,
    generate,
    load,
    make_deltas,
)
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.config.provider_schema import Payload

# Not the usual 5: a model computes here, on a machine that may be busy with other things.
PATIENCE = 60
TEMPLATE = Path(__file__).parent.parent.parent / "fixtures" / "gguf" / "calls.jinja"
UNITS = ("kelvin", "rankine")
MEASURE: Payload = {
    "type": "object",
    "properties": {"unit": {"enum": [*UNITS]}, "days": {"type": "integer"}},
    "required": ["unit", "days"],
    "additionalProperties": False,
}


def tool(name: str = "measure", parameters: Payload = MEASURE, origin: Origin = Origin.NATIVE) -> ToolSpec:
    return ToolSpec(name, "Weather of a city.", parameters, origin=origin)


def talk(*tools: ToolSpec) -> ModelRequest:
    """Two calls of a tool that is there no more, with arguments that `measure` does not have."""
    said: list[ChatMessage] = []
    for city in ("Rome", "Berlin"):
        use = ToolUsePart(city, "get_weather", {"city": city, "days": 1})
        said.append(ChatMessage("user", (TextPart(f"What is the weather in {city}?"),)))
        said.append(ChatMessage("assistant", (use,)))
        said.append(ChatMessage("user", (ToolResultPart(city, "sunny"),)))
    said.append(ChatMessage("user", (TextPart("What is the weather in Paris?"),)))
    return ModelRequest(f"local/{BUNDLED}", "Be brief.", tuple(said), tools)


def able(template: Path = TEMPLATE, **more: Any) -> ProviderConfig:
    return ProviderConfig(models={BUNDLED: ModelConfig.model_validate({"chatTemplate": str(template), **more})})


def asked(request: ModelRequest, settings: ProviderConfig | None = None) -> AsyncGenerator[Delta]:
    return PROVIDER.stream(BUNDLED, request, settings or able(tools=True))


async def answer(request: ModelRequest, settings: ProviderConfig | None = None) -> list[Delta]:
    async with asyncio.timeout(PATIENCE):
        return [delta async for delta in asked(request, settings)]


def calls(said: list[Delta]) -> list[ToolCallDelta]:
    return [delta for delta in said if isinstance(delta, ToolCallDelta)]


def gguf(file: Path, **strings: str) -> Path:
    """The beginning of a file; what follows is not read before it is loaded."""
    pairs = [(f"tokenizer.{key}".encode(), value.encode()) for key, value in strings.items()]
    packed = [struct.pack("<Q", len(k)) + k + struct.pack("<IQ", 8, len(v)) + v for k, v in pairs]
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(packed))
    return file


# Who can ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strings", "knows"),
    [
        ({"chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"}, False),
        ({"chat_template": "{% if tools %}{{ tools | tojson }}{% endif %}"}, True),
        ({"chat_template": "{{ messages }}", "chat_template.tool_use": "{{ tools }}"}, True),
        ({"other": "{{ tools }}"}, False),
        ({"chat_template": ""}, False),
    ],
)
def test_a_model_can_call_tools_when_the_template_in_its_file_knows_them(
    strings: dict[str, str], knows: bool, tmp_path: Path
) -> None:
    file = gguf(tmp_path / "m.gguf", **strings)
    with file.open("ab") as opened:
        opened.truncate(2 << 30)  # a hole: no model that small is given tools unasked
    settings = ProviderConfig(models={"m": ModelConfig(path=str(file))})
    assert LocalProvider().calls_tools("m", settings) is knows


def test_a_tiny_model_is_given_tools_only_when_the_configuration_says_so(tmp_path: Path) -> None:
    file = str(gguf(tmp_path / "m.gguf", chat_template="{{ tools }}"))
    said = [ModelConfig(path=file), ModelConfig(path=file, tools=True), ModelConfig(path=file, tools=False)]
    found = [LocalProvider().calls_tools("m", ProviderConfig(models={"m": chosen})) for chosen in said]
    assert found == [False, True, False]


@pytest.mark.weights
def test_the_bundled_model_has_no_tools() -> None:
    assert find_bundled_weights() is not None
    assert not LocalProvider().calls_tools(BUNDLED, ProviderConfig())
    assert not LocalProvider().calls_tools(BUNDLED, able())
    assert LocalProvider().calls_tools(BUNDLED, able(tools=True))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_tools_without_a_template_that_knows_them_are_refused_with_the_key_to_set() -> None:
    with pytest.raises(ProviderError, match="Set `chatTemplate`"):
        await anext(asked(talk(tool()), ProviderConfig(models={BUNDLED: ModelConfig(tools=True)})))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_template_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"gone\.jinja cannot be read"):
        await anext(asked(talk(tool()), able(tmp_path / "gone.jinja")))


# What is told -------------------------------------------------------------------------------------------------------


def test_calls_and_results_of_the_history_go_back_as_what_they_were() -> None:
    system, _, call, result, *_ = build_messages(talk(), 2000, tiny=False, tools=True)
    assert NO_TOOLS not in system["content"]
    assert json.loads(call["tool_calls"][0]["function"]["arguments"]) == {"city": "Rome", "days": 1}
    assert result == {"role": "tool", "tool_call_id": "Rome", "content": "sunny"}


def test_a_history_that_is_cut_does_not_begin_with_a_result() -> None:
    said = [len(build_messages(talk(), room, tiny=True, tools=True)) for room in range(40, 200)]
    firsts = [build_messages(talk(), room, tiny=True, tools=True)[1]["role"] for room in range(40, 200)]
    assert len(set(said)) > 1
    assert set(firsts) == {"user"}


def test_patterns_of_strings_are_left_out_and_an_argument_of_that_name_is_not() -> None:
    schema = {"type": "object", "properties": {"pattern": {"type": "string", "pattern": "^(?=x)"}}}
    (one,) = as_functions((tool(parameters=schema),), all_schemas=True)
    assert one["function"]["parameters"] == {"type": "object", "properties": {"pattern": {"type": "string"}}}


# What comes back ----------------------------------------------------------------------------------------------------


def piece(arguments: str, name: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    delta = {"tool_calls": [{"index": 0, "function": function} | ({"id": "c1"} if name else {})]}
    return {"choices": [{"delta": delta, "finish_reason": None}]}


def end(reason: str) -> dict[str, Any]:
    return {"choices": [{"delta": {}, "finish_reason": reason}]}


def heard(*chunks: dict[str, Any]) -> list[Delta]:
    reading = StreamedCalls()
    return [delta for chunk in chunks for delta in make_deltas(chunk, calls=reading)]


def test_a_call_is_handed_on_when_it_is_whole() -> None:
    begun = piece('{"unit":', "measure"), piece(' "kelvin"}')
    assert heard(*begun) == []
    whole = ToolCallDelta(0, id="c1", name="measure", arguments_text='{"unit": "kelvin"}')
    assert heard(*begun, end("tool_calls")) == [whole]


@pytest.mark.parametrize("cut", ['{"unit": "kel', "", "[1]", "{"])
def test_a_call_that_was_cut_off_does_not_reach_the_engine_and_that_is_said(cut: str) -> None:
    said = heard(piece(cut, "measure"), end("length"))
    assert calls(said) == []
    assert isinstance(said[0], Remark)
    assert "call of measure" in said[0].text


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_call_is_held_to_the_tools_that_there_are_and_to_their_schema() -> None:
    """Left to itself the model would call `get_weather` once more, as `test_without_tools...` shows."""
    *said, usage = await answer(talk(tool()))
    (call,) = calls(said)
    arguments = json.loads(call.arguments_text)
    assert call.name == "measure"
    assert set(arguments) == {"unit", "days"}
    assert arguments["unit"] in UNITS
    assert isinstance(arguments["days"], int)
    assert isinstance(usage, UsageDelta)
    assert usage.context_limit == TOOLS_CONTEXT_TOKENS


@pytest.mark.weights
@pytest.mark.asyncio
async def test_without_tools_the_same_model_writes_what_it_likes_and_nothing_is_called() -> None:
    said = await answer(talk())
    assert calls(said) == []
    assert "get_weather" in "".join(delta.text for delta in said if isinstance(delta, TextDelta))


@pytest.mark.weights
@pytest.mark.asyncio
async def test_a_schema_of_others_that_makes_no_grammar_does_not_fail_the_request() -> None:
    odd = {"type": "object", "properties": {"a": {"$ref": "https://house.example/schema"}}}
    (call,) = calls(await answer(talk(tool("odd", odd, Origin.MCP))))
    assert call.name == "odd"
    assert isinstance(json.loads(call.arguments_text), dict)


@pytest.mark.weights
def test_every_tool_of_ours_makes_a_grammar_and_nothing_is_written_to_a_notebook(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """All of it is made before the first batch of the prompt is read; to read on would take a minute."""
    modules = [import_module(f"{native.__name__}.{found.name}") for found in iter_modules(native.__path__)]
    ours = tuple(one.spec for module in modules for one in getattr(module, "TOOLS", ()))
    assert len(ours) > 20
    file = find_bundled_weights()
    assert file is not None
    how = RunOptions(gets_tools=True, template=TEMPLATE.read_text())
    said = build_messages(talk(), 2000, tiny=True, tools=True)
    assert generate(load(file, how), said, lambda _: True, as_functions(ours, all_schemas=False)) is None
    assert capfd.readouterr().err == ""
