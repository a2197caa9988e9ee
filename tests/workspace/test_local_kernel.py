"""A kernel that the assistant starts itself: a real ipykernel, in which our package is not installed."""

from __future__ import annotations

import asyncio
import base64
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import pytest_asyncio
from jupyter_client.manager import start_new_async_kernel

from jupyter_eca.config import Config
from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.errors import ToolError
from jupyter_eca.host.host import Host
from jupyter_eca.plugins.contexts.resolve import list_offers
from jupyter_eca.protocol.context import TableContext
from jupyter_eca.protocol.notebook import RunStatus
from jupyter_eca.workspace.kernels import client
from jupyter_eca.workspace.kernels.client import ClientKernel
from jupyter_eca.workspace.kernels.local import LocalKernel
from jupyter_eca.workspace.ports import Files, Workspace
from tests.plugins.contexts.open_notebooks import ECHO
from tests.support.host_and_client import answer, desk_of, said, settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

# Not the usual 5 seconds: a kernel starts here, on a machine that may be busy.
PATIENCE = 60

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def kernel(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[LocalKernel]:
    folder = tmp_path_factory.mktemp("workspace")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        kernel = LocalKernel(folder)
        async with asyncio.timeout(PATIENCE * 3):
            yield kernel
            await kernel.close()


async def run(kernel: LocalKernel, code: str) -> tuple[RunStatus, str]:
    async with asyncio.timeout(PATIENCE):
        result = await kernel.execute("chat", code)
    return result.status, result.text


async def test_a_variable_stays_for_the_next_code(kernel: LocalKernel) -> None:
    assert await run(kernel, "x = 20") == (RunStatus.OK, "")
    assert await run(kernel, "print('hi')\nx + 1") == (RunStatus.OK, "hi\n21")


async def test_a_kernel_without_our_package_makes_the_profile_of_a_table(kernel: LocalKernel) -> None:
    await run(kernel, "import pandas as pd; df = pd.DataFrame({'status': ['OK'] * 8 + ['ok'] * 2, 'id': range(10)})")
    async with asyncio.timeout(PATIENCE):
        (named,) = (await kernel.variables("chat", ("df",))).variables
        listed = {one.name: one for one in (await kernel.variables("chat", ())).variables}["df"]
    assert named.profile.splitlines()[:3] == [
        "status " + named.columns[0].dtype + ", 2 values: 'OK' 80%, 'ok' 20%",
        "id int64, 0..9, mean 4.5",
        "row 1: 'OK', 0",
    ]
    assert (named.sample, listed.profile) == ("", "")
    assert "status" in listed.sample


async def test_a_turn_is_told_the_tables_of_a_connection_in_a_kernel_without_our_package(
    kernel: LocalKernel, tmp_path: Path
) -> None:
    await run(kernel, "import sqlite3; con = sqlite3.connect(':memory:'); con.execute('CREATE TABLE orders (id INT)')")
    await run(kernel, "con.execute('INSERT INTO orders VALUES (7)')")
    async with desk_of(host_with(kernel, tmp_path, ECHO), tmp_path) as table:
        client = await table.client()
        told = said(await answer(client, "Describe @var:con and @var:con.orders please."))
    assert "con: sqlite3.Connection\nSQLite database in memory\norders: id INT\n" in told
    assert (
        "con.orders: table of sqlite3.Connection 1 x 1\nSQLite database in memory\ncolumns: id: INT\nrow 1: 7\n" in told
    )
    assert (
        await run(kernel, "print(con.in_transaction); con.rollback(); con.execute('SELECT * FROM orders').fetchall()")
    )[1] == "True\n[]"


async def test_tables_of_all_connections_are_offered_and_given_in_a_kernel_without_our_package(
    kernel: LocalKernel, tmp_path: Path
) -> None:
    await run(kernel, "import sqlite3; shop = sqlite3.connect('shop.db'); shop.execute('CREATE TABLE bills (id INT)')")
    await run(kernel, "import duckdb; space = duckdb.connect(); space.execute('CREATE TABLE planets (mass DOUBLE)')")
    async with desk_of(host_with(kernel, tmp_path, ECHO), tmp_path) as table:
        surroundings = table.host.tool_contexts.build_surroundings("chat", None)
        offered = await list_offers(surroundings, "table:", live=True)
        assert {"table:bills", "table:planets"} <= {one.label for one in offered if isinstance(one, TableContext)}
        told = said(await answer(await table.client(), "Describe @table:bills and @table:planets please."))
    assert "shop.bills: table of sqlite3.Connection 0 x 1\n" in told
    assert "columns: id: INT\n" in told
    assert "space.planets: table of " in told
    assert "columns: mass: DOUBLE\n" in told
    await run(kernel, "shop.close(); space.close(); del shop, space")


async def test_the_model_sees_the_last_four_pictures_that_its_code_has_shown_each_with_its_name(
    kernel: LocalKernel, tmp_path: Path
) -> None:
    show = "from IPython.display import Image; [display(Image(b'\\x89PNG\\r\\n\\x1a\\n%d' % n)) for n in range(6)]"
    rules: list[dict[str, Any]] = [
        {"message": "draw", "reply": [{"tool": "run_code", "arguments": {"code": show}}]},
        {"result": "", "reply": [{"text": "Drawn."}]},
    ]
    allowed: dict[str, Any] = {"toolCall": {"approval": {"allow": {"run_code": {}}}}}
    async with desk_of(host_with(kernel, tmp_path, rules, **allowed), tmp_path) as table:
        assert said(await answer(await table.client(), "draw")) == "Drawn."
        messages = (await table.host.turns.draft("chat")).messages
    (ran,) = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
    assert [(image.name, base64.b64decode(image.base64)[-1:]) for image in ran.images] == [
        (f"picture {number + 1}", b"%d" % number) for number in (2, 3, 4, 5)
    ]
    named = [f"[picture {number}]" for number in (3, 4, 5, 6)]
    left_out = "[image/png: left out, because more pictures follow]"
    assert [line for line in ran.text.splitlines() if "picture" in line] == [left_out, left_out, *named]


async def test_the_kernel_runs_in_the_first_folder_of_the_workspace(
    kernel: LocalKernel, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert (await run(kernel, "import os; print(os.getcwd())"))[1].startswith(str(tmp_path_factory.getbasetemp()))


async def test_a_chat_with_a_working_directory_has_a_kernel_there(kernel: LocalKernel, tmp_path: Path) -> None:
    await run(kernel, "here = 1")
    workspace = Workspace(Files((tmp_path.parent,)), kernel)
    given = Config.model_validate(settings(tmp_path, []))
    async with desk_of(Host(given, workspace, tmp_path / "chats.db"), tmp_path) as at:
        contexts = at.host.tool_contexts
        there = contexts.build("chat", None, folder=str(tmp_path)).kernel
        assert there is contexts.build("other", None, folder=str(tmp_path)).kernel
        assert contexts.build("chat", None).kernel is kernel
        assert isinstance(there, LocalKernel)
        code = "import os; print(os.getcwd(), 'here' in globals())"
        assert (await run(there, code))[1].strip() == f"{tmp_path} False"
    assert await run(kernel, "here") == (RunStatus.OK, "1")


async def test_an_error_is_a_traceback_without_colours(kernel: LocalKernel) -> None:
    status, text = await run(kernel, "1 / 0")
    assert status is RunStatus.ERROR
    assert "ZeroDivisionError: division by zero" in text
    assert "\x1b" not in text


async def test_a_syntax_error_is_reported(kernel: LocalKernel) -> None:
    status, text = await run(kernel, "x = = 1")
    assert status is RunStatus.ERROR
    assert "SyntaxError" in text


async def test_input_is_refused_and_not_waited_for(kernel: LocalKernel) -> None:
    status, text = await run(kernel, "input()")
    assert status is RunStatus.ERROR
    assert "StdinNotImplementedError" in text


async def test_a_kernel_without_our_package_lists_its_variables(kernel: LocalKernel) -> None:
    await run(kernel, "import json as j\nwords = ['it\\'s \"x\"', 'ä\\n\\\\'] * 500\n_hidden = 1")
    async with asyncio.timeout(PATIENCE):
        found = await kernel.variables("chat", ("words", "nope"))
        everything = await kernel.variables("chat", ())
    assert [(v.name, v.type, v.length) for v in found.variables] == [("words", "list", 1000)]
    assert found.missing == ("nope",)
    assert {v.name for v in everything.variables} >= {"words"}
    assert not {v.name for v in everything.variables} & {"_hidden", "j", "In", "Out", "exit"}


async def test_two_calls_at_once_both_get_their_own_output(kernel: LocalKernel) -> None:
    one, two = await asyncio.gather(run(kernel, "print('one')"), run(kernel, "print('two')"))
    assert (one, two) == ((RunStatus.OK, "one"), (RunStatus.OK, "two"))


async def test_cancelling_interrupts_the_code_and_keeps_the_variables(kernel: LocalKernel, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    await run(kernel, f"kept = 1\nfrom pathlib import Path\nbegun = Path({str(begun)!r})")
    working = asyncio.ensure_future(kernel.execute("chat", "begun.touch()\nimport time\ntime.sleep(600)"))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.wait((working,))
    assert working.cancelled()
    assert await run(kernel, "kept") == (RunStatus.OK, "1")


async def test_an_interrupt_that_is_lost_is_sent_again(
    kernel: LocalKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "INTERRUPT_AGAIN", 1.0)
    monkeypatch.setattr(client, "INTERRUPT_GRACE", PATIENCE)
    begun = tmp_path / "begun"
    await run(kernel, "kept = 1")
    source = f"""import pathlib, signal, time
signal.signal(signal.SIGINT, lambda *_: signal.signal(signal.SIGINT, signal.default_int_handler))
pathlib.Path({str(begun)!r}).touch()
time.sleep(600)"""
    working = asyncio.ensure_future(kernel.execute("chat", source))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        working.cancel()
        await asyncio.wait((working,))
    assert await run(kernel, "kept") == (RunStatus.OK, "1")


async def test_a_kernel_that_dies_is_reported_and_the_next_call_has_a_fresh_one(kernel: LocalKernel) -> None:
    await run(kernel, "gone = 1")
    with pytest.raises(ToolError, match="The kernel died while it ran this"):
        await run(kernel, "import os; os._exit(1)")
    assert await run(kernel, "'gone' in globals()") == (RunStatus.OK, "False")


async def test_a_name_is_inspected_with_its_signature_docstring_and_source(kernel: LocalKernel) -> None:
    await run(kernel, 'def greet(name: str) -> str:\n    "Says hello."\n    return "hello " + name')
    async with asyncio.timeout(PATIENCE):
        found, gone = await kernel.inspect("greet"), await kernel.inspect("nobody")
    assert found.found
    assert "greet(name: str) -> str" in found.text
    assert "Says hello." in found.text
    assert 'return "hello " + name' in found.text
    assert "\x1b" not in found.text
    assert (gone.found, gone.text) == (False, "")


async def test_a_kernel_that_runs_code_is_busy_until_it_is_interrupted(kernel: LocalKernel, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    await run(kernel, "1")
    assert (await kernel.state()).status == "idle"
    source = f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)"
    working = asyncio.ensure_future(kernel.execute("chat", source))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        state = await kernel.state()
        assert (state.status, state.language) == ("busy", "python")
        await kernel.interrupt()
        assert "KeyboardInterrupt" in (await working).text
    assert (await kernel.state()).status == "idle"


async def test_the_state_names_the_running_cell_and_how_long_it_has_been_running(
    kernel: LocalKernel, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    runner = await kernel.wait_for_idle_kernel("chat", "a.ipynb")
    source = f"import pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)"
    working = asyncio.ensure_future(runner.run("a-cell", source, lambda _message: None))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        behind = asyncio.ensure_future(kernel.execute("chat", "1"))
        while (state := await kernel.state()).cell is None or not state.queued:  # noqa: ASYNC110  # the kernel's message
            await asyncio.sleep(0.01)
        assert (state.cell, state.queued) == ("a-cell", 1)
        assert state.busy_ms is not None
        assert 0 <= state.busy_ms < PATIENCE * 1000
        await kernel.interrupt()
        assert await working is RunStatus.ERROR
        assert (await behind).text == "1"
    assert (await kernel.state()).cell is None


async def test_a_restart_ends_what_runs_and_forgets_the_variables(kernel: LocalKernel, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    source = f"here = 1\nimport pathlib, time\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)"
    working = asyncio.ensure_future(kernel.execute("chat", source))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        before = kernel.id
        await kernel.restart()
        with pytest.raises(ToolError, match="died"):
            await working
    assert kernel.id != before
    assert await run(kernel, "'here' in globals()") == (RunStatus.OK, "False")


@pytest.fixture
def connected() -> asyncio.Event:
    """Set once the messages that the kernel publishes reach the client."""
    return asyncio.Event()


@pytest_asyncio.fixture(loop_scope="module")
async def slow_channel(tmp_path: Path, connected: asyncio.Event) -> AsyncGenerator[tuple[Any, Any]]:
    """A kernel manager, and a client whose channel of outputs connects late."""
    started: tuple[Any, Any] = await start_new_async_kernel(cwd=str(tmp_path))
    manager, first = started
    first.stop_channels()
    client = manager.client()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await connected.wait()
        with closing(writer), suppress(OSError):
            kernel_reader, kernel_writer = await asyncio.open_connection("127.0.0.1", manager.iopub_port)
            await asyncio.gather(copy(reader, kernel_writer), copy(kernel_reader, writer))

    server = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    client.iopub_port = server.sockets[0].getsockname()[1]
    client.start_channels()
    try:
        yield manager, client
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
        server.close()


async def test_no_output_is_lost_while_the_channel_is_still_connecting(
    slow_channel: tuple[Any, Any], connected: asyncio.Event
) -> None:
    asyncio.get_running_loop().call_later(0.5, connected.set)
    async with asyncio.timeout(PATIENCE / 2):
        result = await ClientKernel(*slow_channel).execute("print('hi')\n1 + 1")
    assert (result.status, result.text) == (RunStatus.OK, "hi\n2")


async def test_a_message_from_before_a_restart_does_not_count_as_connected(
    slow_channel: tuple[Any, Any], connected: asyncio.Event
) -> None:
    manager, client = slow_channel
    kernel = ClientKernel(manager, client)
    connected.set()
    assert (await kernel.execute("1 + 1")).text == "2"
    await client.kernel_info(reply=True)
    assert await client.iopub_channel.socket.poll(PATIENCE * 1000)
    connected.clear()
    await manager.restart_kernel(now=True)
    asyncio.get_running_loop().call_later(2, connected.set)
    async with asyncio.timeout(PATIENCE / 2):
        assert (await kernel.execute("2 + 2")).text == "4"


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
    writer.close()


async def test_looking_at_variables_never_starts_a_kernel(tmp_path: Path) -> None:
    kernel, before = LocalKernel(tmp_path), count_children()
    async with desk_of(host_with(kernel, tmp_path), tmp_path) as table:
        client = await table.client()
        for typed in ["", "v", "var:", "var:x", "@"] * 8:
            await client.list_contexts("chat", typed)
        found = await kernel.variables("chat", ("x",))
        assert (found.variables, found.missing) == ((), ("x",))
    assert (kernel.id, count_children()) == (None, before)


async def test_a_start_whose_caller_was_stopped_is_kept_for_the_next_one(tmp_path: Path) -> None:
    kernel, before = LocalKernel(tmp_path), count_children()
    try:
        async with asyncio.timeout(PATIENCE):
            first = asyncio.ensure_future(kernel.execute("chat", "1"))
            while count_children() == before:  # noqa: ASYNC110  # another process begins
                await asyncio.sleep(0.01)
            first.cancel()
            with suppress(asyncio.CancelledError):
                await first
            assert (await kernel.execute("chat", "1 + 1")).text == "2"
        assert count_children() == before + 1
    finally:
        await kernel.close()
    assert count_children() == before


async def test_a_kernel_that_is_closed_while_it_starts_leaves_no_process(tmp_path: Path) -> None:
    kernel, before = LocalKernel(tmp_path), count_children()
    async with asyncio.timeout(PATIENCE):
        first = asyncio.ensure_future(kernel.execute("chat", "1"))
        while count_children() == before:  # noqa: ASYNC110  # another process begins
            await asyncio.sleep(0.01)
        await kernel.close()
        with pytest.raises(ToolError, match="shut down while it started"):
            await first
    assert count_children() == before


def count_children() -> int:
    """The live processes that this one has started."""
    return sum(child.status() != psutil.STATUS_ZOMBIE for child in psutil.Process().children())


def host_with(kernel: LocalKernel, folder: Path, rules: Sequence[dict[str, Any]] = (), **more: Any) -> Host:
    workspace = Workspace(Files((folder,)), kernel, kernels=kernel)
    return Host(Config.model_validate(settings(folder, list(rules), **more)), workspace, folder / "chats.db")


async def test_code_of_a_model_finds_no_token_of_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_TOKEN", "JPY_API_TOKEN", "JUPYTERHUB_API_TOKEN"):
        monkeypatch.setenv(name, "secret-of-the-server")
    monkeypatch.setenv("OF_THE_USER", "here")
    async with asyncio.timeout(PATIENCE * 3):
        kernel = LocalKernel(tmp_path)
        try:
            _, text = await run(
                kernel, "import os; print(os.environ['OF_THE_USER'], 'secret' in str(os.environ.values()))"
            )
        finally:
            await kernel.close()
    assert text == "here False"
