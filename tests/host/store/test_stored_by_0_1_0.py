"""What version 0.1.0 stored opens unchanged: its database and its lock files, made by the code of that version."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from jupyter_eca.config import ModelConfig
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.draft import draft_request
from jupyter_eca.engine.inputs import Setup
from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.host.turn.path_rules import list_fetched_rules
from jupyter_eca.plugins.providers.completions.request import build_body as build_completions_body
from jupyter_eca.plugins.providers.messages.request import build_body as build_messages_body
from jupyter_eca.protocol.content import Role
from tests.support.locked_cells import SILENT, cells, replayed

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.engine.model.request import ModelRequest

STORED = Path(__file__).parents[2] / "fixtures" / "store"
EXPECTED: dict[str, dict[str, Any]] = json.loads((STORED / "requests-0.1.0.json").read_text())
SETUP = Setup(model="scripted/test")

# What the host of the lock file was configured with; without `write_file` a call would wait for somebody.
ALLOWED: dict[str, Any] = {
    "toolCall": {
        "approval": {
            "allow": {"run_code": {}, "write_file": {}, "fetch_rule": {}},
            "deny": {"write_file": {"argsMatchers": {"path": ["secret.*"]}}},
        }
    }
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Generator[Tables]:
    path = tmp_path_factory.mktemp("store") / "chats.db"
    path.write_bytes(gzip.decompress((STORED / "chats-0.1.0.db.gz").read_bytes()))
    db = connect(path)
    yield Tables(db, "/srv/demo", "nobody")
    db.close()


def shorten(value: Any) -> Any:
    """Put the length and the digest in the place of long texts, as the fixture has them."""
    match value:
        case str() if len(value) > 2000:
            return {"sha256": hashlib.sha256(value.encode()).hexdigest(), "characters": len(value)}
        case dict():
            return {name: shorten(one) for name, one in cast("dict[str, Any]", value).items()}
        case list() | tuple():
            return [shorten(one) for one in cast("list[Any]", value)]
        case _:
            return value


def without_ids(value: Any) -> Any:
    match value:
        case dict():
            fields = cast("dict[str, Any]", value).items()
            return {name: without_ids(one) for name, one in fields if name not in {"id", "tool_use_id"}}
        case list():
            return [without_ids(one) for one in cast("list[Any]", value)]
        case _:
            return value


def messages(request: ModelRequest) -> list[Any]:
    return build_messages_body("claude-x", request, {})["messages"]


def test_every_chat_of_the_database_is_there(tables: Tables) -> None:
    assert set(tables.list_chat_ids()) == set(EXPECTED)


def test_a_stored_chat_has_all_its_messages_and_names_nobody(tables: Tables) -> None:
    events = [event for chat in EXPECTED for event in tables.read_events(chat, 0)]
    assert any(event.role is Role.USER for event in events)
    assert [event.by for event in events if event.by is not None] == []


def test_a_stored_chat_is_found_by_what_was_written_in_it(tables: Tables) -> None:
    for chat in tables.messages.list_stale():
        tables.messages.index(chat)
    found = tables.messages.find(["heard", "207"])
    assert [(message.chat, tables.messages.read_text(message)) for message in found] == [
        ("context", "I heard 207 letters.")
    ]


@pytest.mark.parametrize("chat", EXPECTED)
def test_the_next_request_of_a_stored_chat_is_what_0_1_0_would_have_sent(chat: str, tables: Tables) -> None:
    expected = EXPECTED[chat]
    state = restore(chat, tables.read_events(chat, 0), 0).state
    request = draft_request(state, SETUP, "And now?")
    assert shorten(build_messages_body("claude-x", request, {})) == expected["anthropic"]
    assert shorten(build_completions_body("gpt-x", request, {}, ModelConfig())) == expected["openai"]
    assert shorten(messages(draft_request(state, SETUP))[-1:]) == expected["anthropic at rest"]


@pytest.mark.parametrize("chat", EXPECTED)
def test_a_stored_chat_is_restored_to_what_0_1_0_knew_of_it(chat: str, tables: Tables) -> None:
    expected = EXPECTED[chat]
    state, missing = (restored := restore(chat, tables.read_events(chat, 0), 0)).state, restored.missing
    assert list(state.notes) == expected["notes"]
    assert asdict(state.window) == expected["window"]
    assert len(state.tasks) == expected["tasks"]
    assert sorted(list_fetched_rules(state.history)) == expected["fetched rules"]
    assert tables.find_last_summary(chat) == expected["last summary"]
    closed = [[event.role, event.content.as_json_object(), getattr(event.aside, "text", "")] for event in missing]
    assert closed == expected["closed"]


@pytest.mark.asyncio
async def test_a_lock_file_of_0_1_0_replays_without_a_model(tmp_path: Path) -> None:
    shutil.copy(STORED / "answers-0.1.0.eca.lock", tmp_path / "demo.eca.lock")
    expected = json.loads((STORED / "replayed-0.1.0.json").read_text())
    async with cells(tmp_path, SILENT, **ALLOWED) as at:
        for message in ("make", "count @error", "rule", "rule again", "forbid"):
            assert replayed(await at.ask(message)), message
        request = await at.host.turns.draft("chat")
    assert without_ids(messages(request)) == expected["anthropic"]
    assert sorted(list_fetched_rules(request.messages)) == expected["fetched rules"]
