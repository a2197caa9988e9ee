"""Kernels of a server in the sandbox: what a cell cannot reach there, and that the kernel is otherwise an ordinary
one."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tornado.httpclient import HTTPClientError

from jupyter_eca.config.policy.sources import VARIABLE
from jupyter_eca.workspace.jobs.sandbox import find_sandbox_program
from tests.apps.server.cells import PATIENCE, Watcher, kernel
from tests.support.processes import have_ended

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    not find_sandbox_program().endswith("bwrap"), reason="this machine has no bubblewrap, or may not use it"
)


@pytest.fixture
def rules() -> dict[str, Any]:
    return {"allow": {"run_code": {}}}


def configure(folder: Path, **sandbox: Any) -> None:
    """Let kernels run in the sandbox, with these settings of the user's own file."""
    file = folder / "config" / "eca" / "config.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"toolCall": {"sandbox": {"kernels": True, **sandbox}}}))


@pytest.fixture(autouse=True)
def _in_sandbox(eca_config: None, tmp_path: Path) -> None:  # noqa: ARG001
    configure(tmp_path)


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder that is not in `/tmp`, which is another one in the sandbox."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # a folder of its own
        yield Path(folder)


def list_names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def exists(path: str | Path) -> bool:
    return Path(path).exists()


@pytest.fixture
def port() -> Iterator[int]:
    """A port of this machine at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


async def test_a_cell_changes_nothing_outside_of_the_workspace(
    jp_serverapp: Any, jp_root_dir: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / "file.txt").write_text("before")
    (outside / "home").mkdir()
    monkeypatch.setenv("HOME", str(outside / "home"))
    async with kernel(jp_serverapp, "a.ipynb") as at:
        written = await at.run("open('made.txt', 'w').write('made'); print(open('made.txt').read())")
        assert (written.status, written.stdout, (jp_root_dir / "made.txt").read_text()) == ("ok", "made\n", "made")
        assert (await at.run(f"print(open('{outside}/file.txt').read())")).stdout == "before\n"
        for code in (
            f"open('{outside}/new.txt', 'w')",
            f"open('{outside}/file.txt', 'a')",
            f"import shutil; shutil.rmtree('{outside}')",
            f"open('{jp_root_dir}/.eca/config.json', 'w')",
        ):
            failed = await at.run(code)
            assert (failed.status, "Read-only file system" in failed.error) == ("error", True), code
        ran = await at.run(f"!touch {outside}/made-by-a-command; ls {outside}")
        assert "file.txt" in ran.stdout
    assert list_names(outside) == {"file.txt", "home"}


async def test_a_cell_reads_no_keys_and_nothing_of_other_kernels(
    jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "HF_TOKEN", "JUPYTERHUB_API_TOKEN", "HOUSE_SETTING"):
        monkeypatch.setenv(name, f"the-{name}")
    async with kernel(jp_serverapp) as other, kernel(jp_serverapp) as at:
        shown = await at.run("import os\nprint(*(value for value in os.environ.values() if value.startswith('the-')))")
        assert shown.stdout == "the-HOUSE_SETTING\n"
        manager = other.kernels.get_kernel(other.id)
        for path in (manager.connection_file, f"{manager.ip}-{manager.shell_port}"):
            assert exists(path)
            assert (await at.run(f"import os\nprint(os.path.exists({str(path)!r}))")).stdout == "False\n"


@pytest.mark.parametrize("network", [False, True])
async def test_a_cell_has_the_network_only_if_the_user_allows_it(
    jp_serverapp: Any, tmp_path: Path, port: int, network: bool
) -> None:
    configure(tmp_path, network=network)
    async with kernel(jp_serverapp) as at:
        ran = await at.run(f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 5).close()")
        assert ran.status == ("ok" if network else "error")


@pytest.mark.parametrize(
    "code", ["import time\nopen('begun', 'w').close()\ntime.sleep(600)", "!echo > begun; sleep 600"]
)
async def test_an_interrupt_stops_the_cell_and_what_it_has_started_and_the_kernel_goes_on(
    jp_serverapp: Any, jp_root_dir: Path, code: str
) -> None:
    os.mkfifo(jp_root_dir / "begun")
    async with kernel(jp_serverapp, "a.ipynb") as at:
        await at.run("kept = 42")
        running = asyncio.ensure_future(at.run(code))
        await asyncio.wait_for(asyncio.to_thread((jp_root_dir / "begun").read_text), PATIENCE)
        await jp_serverapp.kernel_manager.interrupt_kernel(at.id)
        await asyncio.wait_for(running, PATIENCE)
        assert (await at.run("print(kept)")).stdout == "42\n"


async def test_a_restarted_kernel_is_empty_and_in_the_sandbox_again(jp_serverapp: Any, outside: Path) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("kept = 42")
        await jp_serverapp.kernel_manager.restart_kernel(at.id)
        await at.reopen()
        assert (await at.run("kept")).status == "error"
        assert "Read-only" in (await at.run(f"open('{outside}/new.txt', 'w')")).error
        assert (await at.run("print(6 * 7)")).stdout == "42\n"


async def test_the_assistant_answers_there_and_runs_code_there(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        await at.run("%load_ext jupyter_eca")
        assert "runs in the Jupyter server" in (await at.run("%eca status")).markdown
        ran = await at.run("%%eca\nmake a variable")
        assert (ran.status, "I make it." in ran.markdown) == ("ok", True)
        assert (await at.run("print(answer)")).stdout == "42\n"


async def test_after_a_kernel_has_ended_nothing_of_it_is_left(jp_serverapp: Any) -> None:
    async with kernel(jp_serverapp) as at:
        manager = at.kernels.get_kernel(at.id)
        folder, pid = Path(manager.ip).parent, manager.provisioner.pid
        assert exists(folder)
    assert not exists(folder)
    assert have_ended(pid)


async def refuse(fetch: Any) -> str:
    """The message of the server that does not start the kernel of a notebook."""
    made = {"path": "a.ipynb", "name": "a.ipynb", "type": "notebook", "kernel": {"name": "python3"}}
    with pytest.raises(HTTPClientError) as refused:
        await fetch("api", "sessions", method="POST", body=json.dumps(made))
    assert refused.value.response is not None
    return json.loads(refused.value.response.body)["message"]


ASKING = "toolCall: {sandbox: {kernels: true"


@pytest.mark.parametrize(
    ("files", "variable"),
    [
        ({"config.json": '{"toolCall": {"sandbox": {"kernels": true'}, "{}"),
        ({"config.json": "{" + ASKING}, "{}"),
        ({"config.json": '{"extraConfigs": ["more.txt"]}', "more.txt": "{" + ASKING}, "{}"),
        ({}, "{" + ASKING),
    ],
)
async def test_a_configuration_that_cannot_be_read_and_may_ask_for_the_sandbox_lets_no_kernel_start(
    jp_serverapp: Any,
    jp_fetch: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, str],
    variable: str,
) -> None:
    assert jp_serverapp
    folder = tmp_path / "config" / "eca"
    (folder / "config.json").unlink()
    monkeypatch.setenv("ECA_CONFIG", variable)
    for name, text in files.items():
        (folder / name).write_text(text.replace("more.txt", str(folder / "more.txt")))
    named = str(folder / [*files][-1]) if files else "ECA_CONFIG"
    assert f"{named} is not JSON" in await refuse(jp_fetch)


@pytest.mark.parametrize("has_client", [False, True])
@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_project_that_asks_for_the_sandbox_gets_it_also_when_its_file_is_broken(
    jp_serverapp: Any, jp_root_dir: Path, tmp_path: Path, outside: Path, has_client: bool, is_broken: bool
) -> None:
    configure(tmp_path, kernels=False)
    file = jp_root_dir / ".eca" / "config.json"
    settings = json.loads(file.read_text())
    settings["toolCall"] |= {"sandbox": {"kernels": True}}
    file.write_text(json.dumps(settings)[: -1 if is_broken else None])
    if has_client:
        await Watcher.of(jp_serverapp)
    async with kernel(jp_serverapp) as at:
        assert "Read-only" in (await at.run(f"open('{outside}/new.txt', 'w')")).error


# A policy that asks for the sandbox, and has a word that no policy has; and one that nobody can read.
BROKEN = ('{"locked": {"toolCall": {"sandbox": {"kernels": true}}}, "offlin": true}', "/no/such/policy.json")


@pytest.mark.parametrize("has_client", [False, True])
@pytest.mark.parametrize("policy", BROKEN)
async def test_kernels_are_in_the_sandbox_that_a_broken_policy_may_ask_for(
    jp_serverapp: Any, tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, policy: str, has_client: bool
) -> None:
    configure(tmp_path, kernels=False)
    monkeypatch.setenv(VARIABLE, policy)
    if has_client:
        await Watcher.of(jp_serverapp)
    async with kernel(jp_serverapp) as at:
        assert "Read-only" in (await at.run(f"open('{outside}/new.txt', 'w')")).error


async def test_without_bubblewrap_no_kernel_starts_and_the_user_is_told_why(
    jp_serverapp: Any, jp_fetch: Any, tmp_path: Path
) -> None:
    assert jp_serverapp
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        find_sandbox_program.cache_clear()
        message = await refuse(jp_fetch)
    find_sandbox_program.cache_clear()
    assert message.startswith("The kernel was not started. There is no sandbox on this machine: bubblewrap")


async def test_without_bubblewrap_the_user_is_told_that_the_policy_asks_for_it(
    jp_serverapp: Any, jp_fetch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jp_serverapp
    configure(tmp_path, kernels=False)
    monkeypatch.setenv(VARIABLE, BROKEN[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        find_sandbox_program.cache_clear()
        message = await refuse(jp_fetch)
    find_sandbox_program.cache_clear()
    assert "The policy of the administrator has an error" in message


async def test_a_kernel_of_outside_is_not_restarted_outside_once_the_sandbox_is_wanted(
    jp_serverapp: Any, tmp_path: Path
) -> None:
    configure(tmp_path, kernels=False)
    async with kernel(jp_serverapp) as at:
        configure(tmp_path)
        await (await Watcher.of(jp_serverapp)).host.reload()
        with pytest.raises(RuntimeError, match="Shut it down"):
            await jp_serverapp.kernel_manager.restart_kernel(at.id)
