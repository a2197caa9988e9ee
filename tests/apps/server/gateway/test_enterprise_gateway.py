"""What works in kernels behind a kernel gateway works behind an Enterprise Gateway, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.apps.server.gateway.gateways import ENTERPRISE_GATEWAY, build_environment, start_enterprise_gateway

# They run here with the gateway of this module.
from tests.apps.server.gateway.test_remote_kernels import (
    test_a_cell_is_answered_by_the_server_and_a_click_lets_code_run_in_the_remote_kernel,
    test_a_tool_restarts_a_remote_kernel,
    test_after_a_restart_the_cells_find_the_server_again,
    test_all_tools_work_in_a_remote_kernel_without_the_package,
    test_code_that_kills_a_remote_kernel_fails_in_a_sentence_and_the_next_code_runs,
    test_interrupt_stops_a_turn_that_a_cell_waits_for,
)

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = [
    "test_a_cell_is_answered_by_the_server_and_a_click_lets_code_run_in_the_remote_kernel",
    "test_a_tool_restarts_a_remote_kernel",
    "test_after_a_restart_the_cells_find_the_server_again",
    "test_all_tools_work_in_a_remote_kernel_without_the_package",
    "test_code_that_kills_a_remote_kernel_fails_in_a_sentence_and_the_next_code_runs",
    "test_interrupt_stops_a_turn_that_a_cell_waits_for",
]

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def gateway_port(tmp_path_factory: pytest.TempPathFactory) -> Generator[int]:
    folder = tmp_path_factory.mktemp("enterprise-gateway")
    python = build_environment(folder / "venv", ENTERPRISE_GATEWAY)
    with start_enterprise_gateway(folder, python) as port:
        yield port


@pytest.fixture(autouse=True)
def some_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server passes the name on. Enterprise Gateway refuses `root`."""
    monkeypatch.setenv("KERNEL_USERNAME", "ada")
