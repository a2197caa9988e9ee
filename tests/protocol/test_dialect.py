"""Clients of each revision: the server detects the revision, understands the client, and answers in its words.

Their messages are those of `tests.support.dialect_fixtures`. What is said to all in the same words is in
tests/fixtures/wire.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jupyter_eca.protocol import dialect
from jupyter_eca.protocol.dialect import Dialect
from jupyter_eca.protocol.lifecycle import InitializeParams
from jupyter_eca.protocol.methods import METHODS, Method
from tests.support.dialect_fixtures import load_messages

FIXTURES = Path(__file__).parents[1] / "fixtures"
MESSAGES = load_messages()
WIRE: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in (FIXTURES / "wire").glob("*.json")
}
SEEDS = (Dialect.OLDEST, Dialect.OLDER)


def read_fixture(name: str) -> tuple[Dialect, Method]:
    return Dialect(name.partition("/")[0]), METHODS[MESSAGES[name]["method"]]


def list_fixtures(sender: str, part: str) -> list[str]:
    return [name for name, message in MESSAGES.items() if message["sender"] == sender and part in message]


@pytest.mark.parametrize("name", list_fixtures("server", "params"))
def test_a_notification_is_said_in_the_clients_words(name: str) -> None:
    spoken, row = read_fixture(name)
    assert (
        dialect.translate_notification(spoken, row.name, row.parse(MESSAGES[name]["ours"]).as_json_object())
        == MESSAGES[name]["params"]
    )


@pytest.mark.parametrize("name", list_fixtures("server", "result"))
def test_a_request_is_answered_in_the_clients_words(name: str) -> None:
    (spoken, row), ours = read_fixture(name), MESSAGES[name]["ours"]
    assert row.result is not None
    wire = None if ours is None else row.result.model_validate(ours).as_json_object()
    assert dialect.translate_result(spoken, row.name, wire) == MESSAGES[name]["result"]


@pytest.mark.parametrize("name", list_fixtures("client", "params"))
def test_what_a_client_of_any_revision_says_is_understood(name: str) -> None:
    spoken, row = read_fixture(name)
    model = row.parse(dialect.translate_incoming(spoken, row.name, MESSAGES[name]["params"]))
    assert model.model_dump(mode="json", by_alias=True, exclude_unset=True) == MESSAGES[name]["ours"]


@pytest.mark.parametrize("name", list_fixtures("client", "result"))
def test_diagnostics_count_from_0_whatever_the_client_counts_from(name: str) -> None:
    spoken, row = read_fixture(name)
    assert row.result is not None
    model = row.result.model_validate(dialect.translate_diagnostics(spoken, MESSAGES[name]["result"]))
    assert model.model_dump(mode="json", by_alias=True, exclude_unset=True) == MESSAGES[name]["ours"]


@pytest.mark.parametrize("spoken", SEEDS)
def test_what_a_seed_has_no_word_for_is_not_said_to_its_clients(spoken: Dialect) -> None:
    sent = {name for name in WIRE if "params" in WIRE[name] and WIRE[name]["sender"] == "server"}
    notifications = {name for name in sent if METHODS[WIRE[name]["method"]].result is None}
    translated = {name for name in notifications if _translate(spoken, name) is not None}
    assert translated == {
        key.partition("/")[2] for key in list_fixtures("server", "params") if read_fixture(key)[0] is spoken
    } - {"editor-getDiagnostics"}
    assert {
        "chat-opened",
        "progress-start",
        "chat-contentReceived-image",
        "config-updated-chat",
    } <= notifications - translated


def _translate(spoken: Dialect, name: str) -> Any:
    message = WIRE[name]
    return dialect.translate_notification(spoken, message["method"], message["params"])


@pytest.mark.parametrize("name", [name for name in WIRE if "params" in WIRE[name] and WIRE[name]["sender"] == "server"])
def test_our_own_clients_are_sent_what_the_models_say(name: str) -> None:
    assert _translate(Dialect.OWN, name) is WIRE[name]["params"]


# Which revision a client speaks --------------------------------------------------------------------------------------


def hello(can: Any, **options: Any) -> InitializeParams:
    params = {"initializationOptions": options, "capabilities": {"codeAssistant": can}}
    return InitializeParams.model_validate(params)


NOTHING: dict[str, Any] = {"message": "hi"}
WITH_ID: dict[str, Any] = {"message": "hi", "requestId": "0"}
EDITOR = {"diagnostics": True, "definition": True, "references": True}


@pytest.mark.parametrize(
    ("said", "prompt", "spoken"),
    [
        (hello({"chat": True, "doc": True}), NOTHING, Dialect.OLDEST),
        (hello({"chat": True}, chatBehavior="agent"), WITH_ID, Dialect.OLDEST),
        (hello({"chat": True}), WITH_ID, Dialect.OLDEST),
        (hello({"chat": True}, chatBehavior="plan"), NOTHING, Dialect.OLDER),
        (hello({"chat": True, "editor": {"diagnostics": True}}), NOTHING, Dialect.OLDER),
        (hello({"chat": True, "editor": {"diagnostics": True}}), WITH_ID, Dialect.OLDER),
        (hello({"chat": True, "editor": EDITOR, "chatCapabilities": {"askQuestion": True}}), WITH_ID, Dialect.CURRENT),
        (hello({"chat": True, "editor": EDITOR}, chatBehavior="agent"), NOTHING, Dialect.CURRENT),
        (hello({"chat": True, "chatCapabilities": {}}), WITH_ID, Dialect.CURRENT),
        (hello({"chat": True, "rewrite": True}), WITH_ID, Dialect.CURRENT),
        (hello({"chat": {}}, chatAgent=None), WITH_ID, Dialect.CURRENT),
        (hello({"chat": True}), NOTHING, Dialect.CURRENT),
        (hello(None), None, Dialect.CURRENT),
        (hello({"chat": True, "envelope": True}), WITH_ID, Dialect.OWN),
        (hello({"kernel": True}), NOTHING, Dialect.OWN),
    ],
)
def test_a_client_is_known_by_what_it_says(said: InitializeParams, prompt: Any, spoken: Dialect) -> None:
    assert dialect.detect_dialect(said, prompt) is spoken


@pytest.mark.parametrize(
    ("chosen", "method", "spoken"),
    [
        (Dialect.OLDEST, "chat/prompt", Dialect.OLDEST),
        (Dialect.OLDEST, "chat/selectedBehaviorChanged", Dialect.OLDER),
        (Dialect.OLDEST, "chat/list", Dialect.CURRENT),
        (Dialect.OLDER, "providers/list", Dialect.CURRENT),
        (Dialect.OLDER, "no/such", Dialect.OLDER),
        (Dialect.CURRENT, "chat/prompt", Dialect.CURRENT),
        (Dialect.OWN, "chat/list", Dialect.OWN),
    ],
)
def test_a_client_that_uses_a_newer_method_was_taken_for_too_old(chosen: Dialect, method: str, spoken: Dialect) -> None:
    assert dialect.correct_dialect(chosen, method) is spoken


@pytest.mark.parametrize("params", [None, [], "text", 5, {"initializationOptions": 3}, {"agent": 3, "behavior": None}])
def test_values_of_the_wrong_shape_are_left_for_the_models_to_refuse(params: Any) -> None:
    for method in ("initialize", "chat/prompt", "chat/selectedAgentChanged"):
        assert dialect.translate_incoming(Dialect.CURRENT, method, params) == params


@pytest.mark.parametrize(
    ("spoken", "sent", "expected"),
    [
        (Dialect.CURRENT, (3, 1), (2, 0)),
        (Dialect.OLDER, (3, 1), (2, 0)),
        (Dialect.CURRENT, (2, 0), (2, 0)),
        (Dialect.CURRENT, (0, 7), (0, 7)),
        (Dialect.OWN, (3, 1), (3, 1)),
    ],
)
def test_a_cursor_counts_from_0_however_its_editor_counts(
    spoken: Dialect, sent: tuple[int, int], expected: tuple[int, int]
) -> None:
    def prompt(place: tuple[int, int]) -> dict[str, Any]:
        at = {"line": place[0], "character": place[1]}
        return {"contexts": [{"type": "cursor", "path": "a.py", "position": {"start": at, "end": at}}]}

    assert dialect.translate_incoming(spoken, "chat/prompt", prompt(sent)) == prompt(expected)
