"""What the tests of the store share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.postgres import run_postgres
from tests.support.store_places import POSTGRESQL, StorePlace

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from tests.support.postgres import PostgresServer


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> StorePlace:
    """Where the chats are stored; see `on_both`."""
    path = tmp_path / "data" / "chats.db"
    if request.param != POSTGRESQL:
        return StorePlace(path)
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return StorePlace(path, server.create_user())
