"""Chats in PostgreSQL over a network: with TLS, and with a password for each user."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import ConfigError
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event
from tests.e2e.browser.hub import find_ports
from tests.support.postgres import run_postgres
from tests.support.store_places import StorePlace

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.support.postgres import PostgresServer

pytestmark = [pytest.mark.asyncio, pytest.mark.nightly]

PASSWORDS = {"ada": "correcthorse", "ben": "batterystaple"}


@pytest.fixture(scope="module")
def server() -> Generator[PostgresServer]:
    with run_postgres(*find_ports(1)) as server:
        for user, password in PASSWORDS.items():
            server.create_user(user)
            server.run(f"ALTER ROLE {user} PASSWORD '{password}'")
        yield server


async def store_and_read(place: StorePlace, text: str) -> list[str]:
    """Store a message, and return all messages that the user can read then."""
    store = place.make_store("/home/jovyan", lambda _: None)
    await store.open()
    try:
        store.append([Event(chat="c", turn="t", role=Role.USER, content=TextContent(text=text), at=1)])
        await store.confirm()
        chats = [row.id for row in await store.list_chats()]
        events = [event for chat in chats for event in await store.read_events(chat)]
        return [event.content.text for event in events if isinstance(event.content, TextContent)]
    finally:
        await store.close()


async def test_each_user_reads_the_own_chats_with_the_own_password(server: PostgresServer, tmp_path: Path) -> None:
    places = {
        user: StorePlace(tmp_path / user / "chats.db", server.make_network_url(user, password))
        for user, password in PASSWORDS.items()
    }
    for user, place in places.items():
        assert await store_and_read(place, f"secret of {user}") == [f"secret of {user}"]
    assert places["ada"].run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()") == [(True,)]
    for user, other in (("ada", "ben"), ("ben", "ada")):
        with pytest.raises(Exception, match=f"permission denied for schema {other}"):
            places[user].run(f"SELECT * FROM {other}.events")  # noqa: S608  # ours


@pytest.mark.parametrize(
    ("user", "password", "mode", "host", "reason"),
    [
        ("ben", PASSWORDS["ada"], "verify-full", "localhost", "password authentication failed"),
        ("ada", PASSWORDS["ada"], "disable", "localhost", "no encryption"),
        ("ada", PASSWORDS["ada"], "verify-full", "127.0.0.1", "does not match host name"),
    ],
    ids=["the password of another user", "no TLS", "another host"],
)
async def test_a_connection_that_is_refused_is_said_without_the_password(
    server: PostgresServer, tmp_path: Path, user: str, password: str, mode: str, host: str, reason: str
) -> None:
    place = StorePlace(tmp_path / "chats.db", server.make_network_url(user, password, mode, host))
    with pytest.raises(ConfigError, match=reason) as refused:
        await store_and_read(place, "secret")
    assert f"PostgreSQL ({user}@{host}/postgres) cannot be used" in str(refused.value)
    assert password not in str(refused.value)
