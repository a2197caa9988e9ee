"""What all models share."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter

from jupyter_eca.protocol.chat import ChatPromptParams
from jupyter_eca.protocol.content import Content, Role, TextContent, TextOutput, ToolCalledContent
from jupyter_eca.protocol.event import ContextAside, Event
from jupyter_eca.protocol.methods import METHODS

HALF, WHOLE = "\ud83d", "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("half", [0xD800, 0xDBFF, 0xDC00, 0xDFFF])
def test_half_of_a_surrogate_pair_is_replaced(half: int) -> None:
    content = TextContent(text=f"caf{chr(half)}!")
    assert content.text == f"caf{WHOLE}!"
    assert TextContent.model_validate_json(content.model_dump_json()) == content


@pytest.mark.parametrize("text", ["", "plain", "caf\u00e9", "\U0001f600", "\ud7ff\ue000\ufffe"])
def test_all_other_text_is_left_alone(text: str) -> None:
    assert TextContent(text=text).text == text


def test_every_model_can_be_stored_whatever_it_was_given() -> None:
    outputs = (TextOutput(text=HALF),)
    called = ToolCalledContent(id=HALF, name=HALF, server=HALF, arguments={}, error=True, outputs=outputs)
    event = Event(chat=HALF, turn=HALF, role=Role.ASSISTANT, content=called, aside=ContextAside(text=HALF))
    assert Event.model_validate_json(event.model_dump_json()) == event


def test_models_are_found_by_their_type_in_json() -> None:
    adapter: TypeAdapter[Content] = TypeAdapter(Content)
    assert adapter.validate_json('{"type":"text","text":"\\u00e9"}') == TextContent(text="\u00e9")


def test_unknown_fields_of_a_newer_peer_are_ignored() -> None:
    prompt = METHODS["chat/prompt"].parse({"message": HALF, "chatId": 1, "glitter": True})
    assert prompt == ChatPromptParams(message=WHOLE, chat_id=1)


@pytest.mark.parametrize("params", [None, [], {}])
def test_no_parameters_are_written_in_three_ways(params: object) -> None:
    assert METHODS["initialized"].parse(params).as_json_object() == {}
