"""The longest answer of a model, which a request names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import ProviderConfig
from jupyter_eca.plugins.providers import anthropic, openai, openai_chat
from jupyter_eca.plugins.providers.messages.request import MAX_TOKENS
from tests.plugins.providers.ask import asking

if TYPE_CHECKING:
    from jupyter_eca.plugins.providers.base import ShowsRequest


def sent(provider: ShowsRequest, model: str, **settings: Any) -> dict[str, int]:
    """The limits in the body of a request."""
    config = ProviderConfig.model_validate({"url": "https://models.example.org/v1", "models": {model: settings}})
    body = provider.request_body(model, asking("Hi"), config)
    return {name: value for name, value in body.items() if name.startswith("max_")}


@pytest.mark.parametrize(
    ("provider", "model", "field"),
    [
        (anthropic.PROVIDER, "claude-haiku-5-5", "max_tokens"),
        (openai.PROVIDER, "gpt-6-luna", "max_output_tokens"),
        (openai_chat.PROVIDER, "somebody-elses", "max_tokens"),
        (openai_chat.PROVIDER, "gpt-6-luna", "max_completion_tokens"),
    ],
)
def test_the_longest_answer_of_a_model_is_sent_in_the_words_of_its_api(
    provider: ShowsRequest, model: str, field: str
) -> None:
    assert sent(provider, model, limit={"output": 4_000}) == {field: 4_000}
    assert sent(provider, model, limit={"output": 4_000}, extraPayload={field: 9}) == {field: 9}


def test_without_a_limit_only_the_api_that_wants_one_gets_one() -> None:
    assert sent(anthropic.PROVIDER, "m") == {"max_tokens": MAX_TOKENS}
    assert sent(openai.PROVIDER, "m", limit={"context": 9}) == {}
    assert sent(openai_chat.PROVIDER, "m") == {}


def test_a_budget_for_thinking_fits_into_the_longest_answer() -> None:
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 20_000}}
    config = ProviderConfig.model_validate({"models": {"m": {"limit": {"output": 8_000}, "extraPayload": thinking}}})
    body = anthropic.PROVIDER.request_body("m", asking("Hi"), config)
    assert body["thinking"]["budget_tokens"] == 4_000
