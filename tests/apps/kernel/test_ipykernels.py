"""Every ipykernel that we promise to run on, with a real kernel each. `approval` is asked for in the way that arrives
there: see `jupyter_eca/apps/kernel/answer/clicks.py`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.apps.kernel.environments import environment
from tests.apps.kernel.frontend import EDITOR, LAB, NOBODY, sitting
from tests.apps.kernel.nbclient_notebook import LOAD, surround
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from tests.apps.kernel.frontend import FrontEnd, Manners

pytestmark = [pytest.mark.asyncio(loop_scope="module")]

# Not `python3`, which means the Python of whoever starts it.
KERNEL = "of-some-ipykernel"
OWN = "of this environment"
VERSIONS = [pytest.param(version, marks=pytest.mark.nightly) for version in ("6.31", "7.0", "7.1", "7.2", "7.3")]

CODE = {"tool": "run_code", "arguments": {"code": "loaded = 42\nprint('rows', loaded)"}}
ASK = {"tool": "ask_user", "arguments": {"question": "Sure?", "options": ["yes", "no"]}}
RULES: list[dict[str, Any]] = [
    {"message": "^load", "reply": [{"text": "Let me."}, CODE]},
    {"message": "^load", "result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "^sure", "reply": [ASK]},
    {"message": "^sure", "result": "", "reply": [{"text": "I read: {result}"}]},
    {"message": "^slow", "reply": [{"text": "and so on " * 1000, "chunk": 5, "delay": 0.05}]},
    {"message": "", "reply": [{"text": "I heard: {message}", "chunk": 2, "delay": 0.1}]},
]


@pytest.fixture(scope="module", params=[*VERSIONS, OWN])
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """With a kernelspec of an environment that has this ipykernel."""
    folder = tmp_path_factory.mktemp("ipykernel")
    python = Path(sys.executable) if version == OWN else environment(folder / "env", f"ipykernel=={version}.*")
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, folder, settings(folder, RULES))
        spec = folder / "JUPYTER_DATA_DIR" / "kernels" / KERNEL / "kernel.json"
        spec.parent.mkdir(parents=True)
        argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        spec.write_text(json.dumps({"argv": argv, "display_name": KERNEL, "language": "python"}))
        yield folder


@pytest_asyncio.fixture(loop_scope="module")
async def front(folder: Path) -> AsyncGenerator[FrontEnd]:
    async with asyncio.timeout(30), sitting(folder, KERNEL) as front:
        yield front


@pytest.mark.cold_start
async def test_it_loads_streams_asks_stops_and_shows_a_panel(front: FrontEnd, version: str) -> None:
    shown = await front.run("import ipykernel; print(ipykernel.__version__)")
    assert version == OWN or shown.text.startswith(f"{version}.")
    shown = await front.run(LOAD)
    assert (shown.status, shown.outputs) == ("ok", [])
    shown = await front.run("%eca hello")
    assert (shown.status, shown.text) == ("ok", "I heard: hello")
    assert shown.redrawn > 1
    for manners, asked in ways(version):
        front.manners = manners
        shown = await front.run("%eca load", click="" if asked else "Approve")
        assert "I read: rows 42" in shown.text
        assert ["Run it?" in words for words in shown.asked] == [True] * asked
        assert "waits for approval" not in shown.text
        shown = await front.run("%eca sure", click="" if asked else "yes")
        assert "I read: The user answered: yes" in shown.text
    shown = await front.run("%eca slow", until="so on")
    assert (shown.status, shown.outputs[-1]["evalue"]) == ("error", "Stopped.")
    front.manners = NOBODY
    shown = await front.run("%eca load")
    assert "Nobody is there to approve this call." in shown.text
    assert "obody watches now" in (await front.run("%eca panel")).text
    front.manners = ways(version)[-1][0]
    shown = await front.run("%eca panel")
    await joined(front, shown.outputs[0]["data"]["application/vnd.jupyter.widget-view+json"]["model_id"])


async def joined(front: FrontEnd, panel: str) -> None:
    """A page of the panel speaks with the engine."""
    front.widgets.say(panel, channel="one", open=True)
    assert (await front.hears(panel, "opened"))["chat"]
    params = {"clientInfo": {"name": "page"}, "capabilities": {"codeAssistant": {"chat": True}}}
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    front.widgets.say(panel, channel="one", messages=[greeting])
    (answer, *_) = (await front.hears(panel, "messages"))["messages"]
    assert answer["id"] == 1
    assert "result" in answer


def ways(version: str) -> list[tuple[Manners, int]]:
    """How front ends can be, and how many times `input()` asks there for one call; first who makes no subshell."""
    match version:
        case "6.31":
            return [(EDITOR, 1)]
        case "7.0" | "7.1" | "7.2" | "7.3":
            return [(EDITOR, 1), (LAB, 0)]
        case _:
            return [(EDITOR, 0), (LAB, 0)]
