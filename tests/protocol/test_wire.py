"""Every message in tests/fixtures/wire is one of ours, and reading it loses nothing. `sender` is who sends the message.

labextension/test/wire/protocol.test.ts holds the generated TypeScript against the same files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import pytest

from jupyter_eca.protocol.base import Empty, Model
from jupyter_eca.protocol.chat import ChatPromptParams
from jupyter_eca.protocol.content import Content, Origin, RejectReason, ToolCallDetails
from jupyter_eca.protocol.context import ChatContext, OtherContext
from jupyter_eca.protocol.cursor_help import RewriteContent
from jupyter_eca.protocol.methods import METHODS, Sender
from jupyter_eca.protocol.provider import AuthStatus, LoginAction

if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import StrEnum

FOLDER = Path(__file__).parents[1] / "fixtures" / "wire"
MESSAGES: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))
}
SENT_BY_SERVER = [name for name, message in MESSAGES.items() if message["sender"] == Sender.SERVER]


def read(message: dict[str, Any]) -> tuple[Model, Any]:
    """The message through the model of its row, and what it was; the only null is the result of an `Empty`."""
    row = METHODS[message["method"]]
    if "params" in message:
        return row.parse(message["params"]), message["params"]
    assert row.result is not None
    return row.result.model_validate(message["result"] or {}), message["result"] or {}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_survives_its_model(name: str) -> None:
    model, said = read(MESSAGES[name])
    assert model.model_dump(mode="json", by_alias=True, exclude_unset=True) == said


@pytest.mark.parametrize("name", SENT_BY_SERVER)
def test_a_message_of_the_server_is_what_our_server_writes(name: str) -> None:
    model, said = read(MESSAGES[name])
    assert model.as_json_object() == said


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_sent_by_the_side_that_may_send_it(name: str) -> None:
    message = MESSAGES[name]
    asked_by = METHODS[message["method"]].sender
    assert (message["sender"] == asked_by) is ("params" in message)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_has_a_fixture_of_its_params(name: str) -> None:
    assert any(message["method"] == name and "params" in message for message in MESSAGES.values())


@pytest.mark.parametrize("name", [name for name, row in METHODS.items() if row.result is not None])
def test_a_request_has_a_fixture_of_its_result(name: str) -> None:
    found = [message["result"] for message in MESSAGES.values() if message["method"] == name and "result" in message]
    assert found
    assert (None in found) is (METHODS[name].result is Empty)


def find_values(field: str) -> set[Any]:
    """Return the values of all fields of this name in the messages."""
    return {value for message in MESSAGES.values() for value in _walk_values(message, field)}


def _walk_values(data: Any, field: str) -> Iterator[Any]:
    match data:
        case dict():
            members = cast("dict[str, Any]", data)
            if isinstance(members.get(field), str):
                yield members[field]
            for member in members.values():
                yield from _walk_values(member, field)
        case list():
            for member in cast("list[Any]", data):
                yield from _walk_values(member, field)
        case _:
            pass


def kinds(union: Any) -> set[str]:
    return {kind.model_fields["type"].default for kind in get_args(get_args(union)[0]) if kind is not OtherContext}


def test_each_kind_of_content_has_a_fixture() -> None:
    contents = [m["params"]["content"] for m in MESSAGES.values() if m["method"] == "chat/contentReceived"]
    assert {content["type"] for content in contents} == kinds(Content)


@pytest.mark.parametrize("union", [ToolCallDetails, ChatContext, RewriteContent], ids=["details", "context", "rewrite"])
def test_each_member_of_a_union_has_a_fixture(union: Any) -> None:
    assert kinds(union) <= find_values("type")


def test_a_context_of_a_type_of_tomorrow_has_a_fixture() -> None:
    model, _ = read(MESSAGES["chat-prompt-contexts"])
    assert isinstance(model, ChatPromptParams)
    assert isinstance(model.contexts[-1], OtherContext)


@pytest.mark.parametrize(
    ("field", "values"), [("action", LoginAction), ("reason", RejectReason), ("origin", Origin), ("status", AuthStatus)]
)
def test_each_value_of_an_enum_that_clients_act_upon_has_a_fixture(field: str, values: type[StrEnum]) -> None:
    assert {str(value) for value in values} <= find_values(field)
