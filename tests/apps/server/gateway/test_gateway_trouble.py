"""A gateway that is far away, down, silent, or refuses: each is said in a sentence, and nothing hangs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from jupyter_server.gateway.gateway_client import GatewayClient

from jupyter_eca.apps.server.gateway import kernel as gateway_kernel
from jupyter_eca.errors import ToolError
from tests.apps.server.cells import PATIENCE
from tests.apps.server.gateway.gateways import PLAIN, Line
from tests.apps.server.gateway.story import ask_for_variable, begin, find_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from jupyter_eca.workspace.ports import Kernel
    from tests.apps.server.gateway.page import Notebooks

CALLS: dict[str, Callable[[Kernel], Coroutine[Any, Any, Any]]] = {
    "execute": lambda kernel: kernel.execute("chat", "1 + 1"),
    "variables": lambda kernel: kernel.variables("chat", ()),
    "inspect": lambda kernel: kernel.inspect("print"),
    "interrupt": lambda kernel: kernel.interrupt(),
    "state": lambda kernel: kernel.state(),
}


@pytest.fixture
def line(gateway_port: int, jp_asyncio_loop: Any) -> Generator[Line]:
    line = Line(gateway_port)
    jp_asyncio_loop.run_until_complete(line.start())
    yield line
    line.release()
    jp_asyncio_loop.run_until_complete(line.cut())


@pytest.fixture
def gateway_url(line: Line) -> str:
    return f"http://127.0.0.1:{line.port}"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes half a minute takes a second."""
    monkeypatch.setattr(gateway_kernel, "CONNECT_SECONDS", 1.0)
    monkeypatch.setattr(gateway_kernel, "INTERRUPT_SECONDS", 1.0)
    monkeypatch.setattr(gateway_kernel, "PING_SECONDS", 0.5)


async def fail(call: Coroutine[Any, Any, Any]) -> str:
    """The sentence with which a call of a tool fails."""
    with pytest.raises(ToolError) as error:
        await asyncio.wait_for(call, PATIENCE)
    return str(error.value)


async def test_a_tool_call_makes_at_most_two_round_trips_and_a_gateway_that_is_down_is_said_until_it_is_back(
    line: Line, notebooks: Notebooks
) -> None:
    async with notebooks.show("a.ipynb", PLAIN):
        kernel = await find_kernel(notebooks, "a.ipynb")
        await kernel.execute("chat", "x = 1")
        for name, call in CALLS.items():
            before = line.sent
            await call(kernel)
            assert line.sent - before <= 2, name
        waiting = asyncio.ensure_future(kernel.execute("chat", "input_ = 1; import time; time.sleep(60)"))
        while (await kernel.state()).status != "busy":  # noqa: ASYNC110  # as clients ask for it
            await asyncio.sleep(0.01)
        await line.cut()
        assert "connection to the gateway was lost" in await fail(asyncio.wait_for(waiting, PATIENCE))
        for call in (kernel.execute("chat", "1"), kernel.variables("chat", ()), kernel.interrupt(), kernel.restart()):
            assert f"127.0.0.1:{line.port} cannot be reached" in await fail(call)
        await line.start()
        await kernel.interrupt()
        assert (await asyncio.wait_for(kernel.execute("chat", "print(x)"), PATIENCE)).text == "1"


@pytest.mark.nightly
async def test_after_a_lost_connection_the_cells_find_the_server_again(line: Line, notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb") as at:
        await ask_for_variable(at, await begin(at))
        await line.cut()
        await line.start()
        at.client.stop_channels()
        at.pages.clear()
        await at.reopen()
        await ask_for_variable(at, await begin(at))


@pytest.mark.nightly
@pytest.mark.usefixtures("impatient")
async def test_a_gateway_that_is_silent_is_said(line: Line, notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb", PLAIN):
        kernel = await find_kernel(notebooks, "a.ipynb")
        await kernel.execute("chat", "x = 1")
        line.hold()
        assert "connection to the gateway was lost" in await fail(kernel.execute("chat", "x"))
        for call in (kernel.execute("chat", "x"), kernel.interrupt()):
            assert "did not answer in time" in await fail(call)
        line.release()
        assert (await asyncio.wait_for(kernel.execute("chat", "print(x)"), PATIENCE)).text == "1"


@pytest.mark.nightly
async def test_a_gateway_that_refuses_is_said(line: Line, notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb", PLAIN):
        kernel = await find_kernel(notebooks, "a.ipynb")
        await kernel.execute("chat", "x = 1")
        right, GatewayClient.instance().auth_token = GatewayClient.instance().auth_token, "wrong"
        await line.cut()
        await line.start()
        for call in (kernel.execute("chat", "x"), kernel.interrupt(), kernel.restart()):
            assert "refuses this Jupyter server" in await fail(call)
        GatewayClient.instance().auth_token = right


@pytest.mark.nightly
async def test_a_kernel_that_the_gateway_has_ended_is_said(line: Line, notebooks: Notebooks) -> None:
    async with notebooks.show("a.ipynb", PLAIN) as at:
        kernel = await find_kernel(notebooks, "a.ipynb")
        await kernel.execute("chat", "x = 1")
        await at.kernels.get_kernel(at.id).shutdown_kernel()
        await line.cut()
        await line.start()
        assert "gone" in await fail(kernel.execute("chat", "x"))


@pytest.mark.nightly
async def test_cells_and_tools_work_with_a_gateway_that_takes_half_a_second(line: Line, notebooks: Notebooks) -> None:
    line.delay = 0.25
    async with notebooks.show("a.ipynb") as at:
        await ask_for_variable(at, await begin(at))
        kernel = await find_kernel(notebooks, "a.ipynb")
        assert (await kernel.execute("chat", "print(answer)")).text == "42"


@pytest.mark.nightly
async def test_a_server_that_answers_after_two_seconds_still_answers_the_cells(
    line: Line, notebooks: Notebooks
) -> None:
    async with notebooks.show("a.ipynb") as at:
        line.delay = 1.0
        await at.page("%load_ext jupyter_eca")
        assert "runs in the Jupyter server" in (await at.page("%eca status")).markdown


@pytest.mark.nightly
async def test_an_unused_connection_is_closed_and_the_next_cell_finds_the_server(
    notebooks: Notebooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_kernel, "UNUSED_SECONDS", 0.1)

    async def count_connections() -> int:
        return (await at.kernels.get_kernel(at.id).refresh_model())["connections"]

    async with notebooks.show("a.ipynb") as at:
        await ask_for_variable(at, await begin(at))
        assert await count_connections() == 2
        at.client.stop_channels()
        async with asyncio.timeout(PATIENCE):
            while await count_connections() > 0:  # noqa: ASYNC110  # the gateway reports no end
                await asyncio.sleep(0.05)
        at.pages.clear()
        await at.reopen()
        await ask_for_variable(at, await begin(at))
