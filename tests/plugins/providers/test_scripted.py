from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.engine.model.delta import Delta, ReasoningDelta, ReasoningEnd, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.engine.model.request import ToolResultPart, ToolUsePart
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.scripted import PROVIDER
from tests.plugins.providers.ask import answer, asking, assistant, text_of, user

if TYPE_CHECKING:
    from pathlib import Path

HELLO = {"message": "hello", "reply": [{"text": "Hi!"}]}


def settings(folder: Path, *rules: dict[str, Any]) -> ProviderConfig:
    (folder / "script.json").write_text(json.dumps({"rules": rules}))
    return ProviderConfig.model_validate({"models": {"tour": {"script": "script.json"}}, "folder": str(folder)})


async def reply(folder: Path, *messages: Any, rules: tuple[dict[str, Any], ...]) -> list[Delta]:
    return await answer(asking(*messages, model="scripted/tour"), settings(folder, *rules), PROVIDER)


def called(tool: str, result: str) -> tuple[Any, ...]:
    return "go", assistant(ToolUsePart("1", tool, {})), user(ToolResultPart("1", result))


@pytest.mark.asyncio
async def test_the_models_are_the_configured_ones_and_never_a_default(tmp_path: Path) -> None:
    assert await PROVIDER.models(settings(tmp_path)) == ("tour",)
    assert PROVIDER.rank is None


@pytest.mark.asyncio
async def test_the_first_rule_that_matches_answers(tmp_path: Path) -> None:
    rules = HELLO, {"message": "", "reply": [{"text": "What?"}]}
    assert text_of(await reply(tmp_path, "oh hello", rules=rules)) == "Hi!"
    assert text_of(await reply(tmp_path, "bye", rules=rules)) == "What?"


@pytest.mark.asyncio
async def test_only_the_last_message_is_looked_at(tmp_path: Path) -> None:
    rules = HELLO, {"message": "", "reply": [{"text": "What?"}]}
    assert text_of(await reply(tmp_path, "hello", assistant("Hi!"), "bye", rules=rules)) == "What?"


@pytest.mark.asyncio
async def test_a_result_is_answered_by_the_rule_for_its_tool(tmp_path: Path) -> None:
    rules = (
        {"message": "", "reply": [{"text": "asked"}]},
        {"result": "", "tool": "grep", "reply": [{"text": "grepped"}]},
        {"result": "4", "tool": "run_code", "reply": [{"text": "ran"}]},
    )
    assert text_of(await reply(tmp_path, *called("run_code", "= 4"), rules=rules)) == "ran"


@pytest.mark.asyncio
async def test_a_rule_for_results_can_also_look_at_the_message(tmp_path: Path) -> None:
    rules = (
        {"message": "stay", "result": "", "reply": [{"text": "stayed"}]},
        {"message": "go", "result": "", "reply": [{"text": "went"}]},
    )
    assert text_of(await reply(tmp_path, *called("run_code", "4"), rules=rules)) == "went"


@pytest.mark.asyncio
async def test_placeholders_are_filled_in_from_the_message_the_result_and_the_groups(tmp_path: Path) -> None:
    rules = ({"result": r"= (?P<sum>\d)", "reply": [{"text": "{message}: {result}, so $sum, not $other"}]},)
    assert text_of(await reply(tmp_path, *called("run_code", "= 4"), rules=rules)) == "go: = 4, so 4, not $other"


@pytest.mark.asyncio
async def test_what_a_message_puts_in_is_not_filled_in_again(tmp_path: Path) -> None:
    rules = ({"message": "", "reply": [{"text": "You said {message}"}]},)
    assert text_of(await reply(tmp_path, "{result}", rules=rules)) == "You said {result}"


@pytest.mark.asyncio
async def test_a_text_comes_in_chunks(tmp_path: Path) -> None:
    rules = ({"message": "", "reply": [{"text": "abcde", "chunk": 2}]},)
    *texts, _ = await reply(tmp_path, "go", rules=rules)
    assert texts == [TextDelta("ab"), TextDelta("cd"), TextDelta("e")]


@pytest.mark.asyncio
async def test_reasoning_has_an_end(tmp_path: Path) -> None:
    rules = ({"message": "", "reply": [{"reasoning": "Hm."}, {"text": "Yes."}]},)
    assert (await reply(tmp_path, "go", rules=rules))[:2] == [ReasoningDelta("Hm."), ReasoningEnd()]


@pytest.mark.asyncio
async def test_the_arguments_of_a_call_are_filled_in_too(tmp_path: Path) -> None:
    rules = ({"message": "", "reply": [{"tool": "run_code", "arguments": {"code": "{message}", "n": 1}}]},)
    name, arguments, _ = await reply(tmp_path, "x = 1", rules=rules)
    assert name == ToolCallDelta(0, name="run_code")
    assert arguments == ToolCallDelta(0, arguments_text='{"code": "x = 1", "n": 1}')


@pytest.mark.asyncio
async def test_an_answer_costs_nothing_and_says_its_size(tmp_path: Path) -> None:
    *_, usage = await reply(tmp_path, "hello", rules=({"message": "", "reply": [{"text": "12345678"}]},))
    assert usage == UsageDelta(input_tokens=1, output_tokens=2, cost=0.0)


@pytest.mark.asyncio
async def test_an_error_comes_after_what_was_said_before_it(tmp_path: Path) -> None:
    rules = {"message": "", "reply": [{"text": "One."}, {"error": "overloaded", "status": 529}]}
    said: list[Delta] = []
    with pytest.raises(ProviderError, match="overloaded") as caught:
        await answer(asking("go", model="scripted/tour"), settings(tmp_path, rules), PROVIDER, said)
    assert (caught.value.status, text_of(said)) == (529, "One.")


@pytest.mark.asyncio
async def test_a_message_without_a_rule_is_named(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match="no rule for 'bye'"):
        await reply(tmp_path, "bye", rules=(HELLO,))


@pytest.mark.asyncio
async def test_a_model_without_a_script_says_what_to_set() -> None:
    with pytest.raises(ProviderError, match=r"Set providers\.scripted\.models\.tour\.script"):
        await answer(asking("go", model="scripted/tour"), ProviderConfig(), PROVIDER)


@pytest.mark.asyncio
async def test_a_script_that_is_missing_is_named(tmp_path: Path) -> None:
    missing = ProviderConfig.model_validate({"models": {"tour": {"script": "no.json"}}, "folder": str(tmp_path)})
    with pytest.raises(ProviderError, match=r"no\.json cannot be read"):
        await answer(asking("go", model="scripted/tour"), missing, PROVIDER)


@pytest.mark.asyncio
async def test_a_mistake_in_a_script_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(ProviderError, match=r"script\.json is not valid: rules\.0\.reply"):
        await reply(tmp_path, "go", rules=({"message": ""},))
