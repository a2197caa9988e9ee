"""Which variables with keys the kernels of a server have, whoever starts them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jupyter_client.manager import AsyncKernelManager

from tests.apps.server.cells import PATIENCE, Watcher, kernel

if TYPE_CHECKING:
    from pathlib import Path

    from tests.apps.server.cells import PageKernel

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "HOUSE_API_KEY", "KEY_OF_MINE")
# Libraries read the token of a Hub in kernels, and the others are no keys of a provider.
OTHERS = ("HOUSE_SETTING", "HF_TOKEN", "JUPYTERHUB_API_TOKEN")
NAMES = "import os\nprint(*sorted(name for name in os.environ if os.environ[name] == 'the-' + name))"


@pytest.fixture(autouse=True)
def _variables(eca_config: None, jp_root_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    for name in (*KEYS, *OTHERS):
        monkeypatch.setenv(name, f"the-{name}")
    house = {"api": "openai-chat", "url": "http://127.0.0.1:9/v1"}
    change(jp_root_dir, providers={"house": house, "mine": {**house, "key": "the-KEY_OF_MINE"}})


def change(root: Path, providers: dict[str, Any], **more: Any) -> None:
    """Add to the configuration of the folder."""
    file = root / ".eca" / "config.json"
    config = json.loads(file.read_text())
    config["providers"] |= providers
    file.write_text(json.dumps({**config, **more}))


async def list_names(at: PageKernel) -> set[str]:
    return set((await at.run(NAMES)).stdout.split())


@pytest.mark.parametrize("notebook", ["", "a.ipynb"])
@pytest.mark.parametrize("is_before_clients", [True, False])
async def test_a_kernel_of_the_server_has_no_key_of_a_provider(
    jp_serverapp: Any, notebook: str, is_before_clients: bool
) -> None:
    if not is_before_clients:
        await Watcher.of(jp_serverapp)
    async with kernel(jp_serverapp, notebook) as at:
        assert await list_names(at) == set(OTHERS)
        await at.run("%load_ext jupyter_eca")
        assert (await at.run("%eca you")).markdown == "Hello, you"


async def test_a_key_that_the_user_keeps_is_in_a_kernel_and_in_one_that_is_restarted(
    jp_serverapp: Any, jp_root_dir: Path
) -> None:
    change(jp_root_dir, {}, keptVariables=["OPENAI_API_KEY"])
    async with kernel(jp_serverapp) as at:
        assert await list_names(at) == {*OTHERS, "OPENAI_API_KEY"}
        await jp_serverapp.kernel_manager.restart_kernel(at.id)
        await at.reopen()
        assert await list_names(at) == {*OTHERS, "OPENAI_API_KEY"}


async def test_a_configuration_that_cannot_be_read_keeps_no_kernel_from_starting(
    jp_serverapp: Any, tmp_path: Path
) -> None:
    (own := tmp_path / "config" / "eca").mkdir(parents=True)
    (own / "config.json").write_text("{")
    async with kernel(jp_serverapp) as at:
        assert not await list_names(at) & {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}


async def test_a_kernel_that_is_started_without_a_server_keeps_its_keys(jp_serverapp: Any) -> None:
    """Its own engine needs one, also where a server runs in the same process."""
    assert jp_serverapp
    manager: Any = AsyncKernelManager()
    await manager.start_kernel()
    client = manager.client()
    try:
        client.start_channels()
        await client.wait_for_ready(timeout=PATIENCE)
        printed: list[str] = []

        def take(message: dict[str, Any]) -> None:
            printed.append(message["content"].get("text", ""))

        await client.execute_interactive(NAMES, timeout=PATIENCE, output_hook=take)
        assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"} < set("".join(printed).split())
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
