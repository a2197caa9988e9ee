"""A Jupyter server in this process whose kernels are behind a real kernel gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jupyter_server.gateway.gateway_client import GatewayClient

from tests.apps.server.gateway.gateways import TOKEN, start_gateway
from tests.apps.server.gateway.page import Notebooks

if TYPE_CHECKING:
    from collections.abc import Generator


@pytest.fixture(scope="session")
def gateway_port(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    """A gateway that all tests share, each with kernels of its own."""
    with start_gateway(tmp_path_factory.mktemp("gateway")) as (port, _):
        yield port


@pytest.fixture
def gateway_url(gateway_port: int) -> str:
    """The address that the server knows; a test module overrides it."""
    return f"http://127.0.0.1:{gateway_port}"


@pytest.fixture(scope="module", autouse=True)
def no_gateway_afterwards() -> Generator[None]:
    """Jupyter has one client of a gateway in a process. The servers of other modules must not use it."""
    yield
    GatewayClient.clear_instance()


@pytest.fixture
def jp_server_config(gateway_url: str) -> dict[str, Any]:
    GatewayClient.clear_instance()
    return {
        "ServerApp": {"jpserver_extensions": {"jupyter_eca": True}},
        "GatewayClient": {"url": gateway_url, "auth_token": TOKEN},
    }


@pytest.fixture
def notebooks(jp_serverapp: Any, jp_ws_fetch: Any) -> Notebooks:
    return Notebooks(jp_serverapp, jp_ws_fetch)
