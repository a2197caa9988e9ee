"""Which tools a model is offered in a kernel without a Jupyter server: none that cannot work there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.providers.scripted import Script
from tests.apps.kernel.frontend import EDITOR, sitting
from tests.apps.kernel.nbclient_notebook import LOAD, PATIENCE, opened, surround
from tests.support.anthropic_server import LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

HELLO = Script.model_validate({"rules": [{"message": "", "reply": [{"text": "Hello."}]}]})
# The cell that asks would have to end first.
NEED_A_SERVER = {"notebook_run_cells", "kernel_interrupt", "kernel_restart"}
OF_THE_KERNEL = {"run_code", "variables", "inspect", "kernel_state"}


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[LoopbackAnthropic]:
    with LoopbackAnthropic(HELLO) as server:
        provider: dict[str, Any] = {"url": server.url, "key": "sk-ant-loopback", "models": {"m": {}}}
        config = {"defaultModel": "anthropic/m", "providers": {"anthropic": provider}, "chat": {"title": False}}
        surround(monkeypatch, tmp_path, config)
        yield server


def get_request(vendor: LoopbackAnthropic) -> dict[str, Any]:
    """Return the body of the only request."""
    (request,) = [request for request in vendor.requests if request.path == "/v1/messages"]
    return request.body


def get_tools(vendor: LoopbackAnthropic) -> dict[str, Any]:
    """Return the tools of the only request, by name."""
    return {tool["name"]: tool for tool in get_request(vendor)["tools"]}


async def test_an_attended_kernel_without_a_server_offers_no_run_of_cells_and_no_control_of_the_kernel(
    vendor: LoopbackAnthropic, tmp_path: Path
) -> None:
    async with asyncio.timeout(PATIENCE), sitting(tmp_path, manners=EDITOR) as front:
        assert (await front.run(LOAD)).outputs == []
        assert (await front.run("%eca hello")).text == "Hello."
    tools = get_tools(vendor)
    assert tools.keys() >= OF_THE_KERNEL | {"notebook_read", "notebook_change", "ask_user"}
    assert not tools.keys() & NEED_A_SERVER
    assert tools["notebook_change"]["input_schema"]["properties"].keys() == {"changes", "preview", "path"}
    assert not [tool for tool in tools.values() for name in NEED_A_SERVER if name in str(tool)]
    system = str(get_request(vendor)["system"])
    assert "`notebook_change`" in system
    assert "`run`" not in system


async def test_nbclient_offers_no_tool_of_live_notebooks_either(vendor: LoopbackAnthropic, tmp_path: Path) -> None:
    async with asyncio.timeout(PATIENCE), opened(tmp_path) as book:
        assert (await book.run("%eca hello")).failure == ""
    tools = get_tools(vendor)
    assert tools.keys() >= OF_THE_KERNEL
    assert not tools.keys() & (NEED_A_SERVER | {"ask_user"})
    assert not [name for name in tools if name.startswith("notebook_")]
    assert not [tool for tool in tools.values() for name in NEED_A_SERVER if name in str(tool)]
