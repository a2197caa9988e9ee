"""The gateway that all tests of this folder share: building it takes a minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.apps.hub.gateway_parts import build_litellm, install_proxy, running_gateway
from tests.e2e.browser.oldest_lab import build_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.apps.hub.gateway_parts import RunningGateway


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningGateway]:
    folder = tmp_path_factory.mktemp("gateway")
    litellm = build_litellm(folder / "litellm")
    python = build_environment(folder / "hub-environment", "jupyterhub>=5,<6", "jupyterlab>=4.6,<5")
    with running_gateway(litellm, python, install_proxy(folder / "proxy"), folder) as gateway:
        yield gateway
