"""What a Jupyter server pays for our extension before anybody asks anything."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from statistics import stdev
from tempfile import TemporaryDirectory

from tests.bench.figure import Figure, differences, list_of
from tests.bench.processes import environment, jupyter_server

ROUNDS = 5
# After its first answer a server still starts what it does in the background.
SETTLE = 1.5

# Inside a server that starts: what it spends on finding, linking and loading ours. Steadier than the time between.
_OWN = """
import os, sys, time
from jupyter_server.extension.manager import ExtensionManager
from jupyter_server.serverapp import ServerApp

spent = 0.0

def timed(method):
    def run(self, name, *args, **kwargs):
        global spent
        began = time.perf_counter()
        try:
            return method(self, name, *args, **kwargs)
        finally:
            spent += (time.perf_counter() - began) * (name == "jupyter_eca")
    return run

for name in ("add_extension", "link_extension", "load_extension"):
    setattr(ExtensionManager, name, timed(getattr(ExtensionManager, name)))
options = ["--no-browser", "--allow-root", "--ServerApp.port=0", f"--ServerApp.root_dir={os.getcwd()}"]
ServerApp().initialize(argv=[*options, "--ServerApp.jpserver_extensions={'jupyter_eca': True}"])
print(spent * 1000, flush=True)
os._exit(0)
"""


async def figures() -> list[Figure]:
    starts: dict[bool, list[float]] = {False: [], True: []}
    computed: dict[bool, list[float]] = {False: [], True: []}
    sizes: dict[bool, list[float]] = {False: [], True: []}
    own: list[float] = []
    with TemporaryDirectory() as folder, jupyter_server(Path(folder)):
        pass  # compiled once
    _own_time()
    for round in range(ROUNDS):
        for extension in (False, True) if round % 2 else (True, False):
            with TemporaryDirectory() as folder, jupyter_server(Path(folder), extension=extension) as server:
                starts[extension].append(server.started)
                computed[extension].append(server.cpu)
                await asyncio.sleep(SETTLE)
                sizes[extension].append(server.rss)
        own.append(_own_time())
    started, size = list_of(starts[False], "s"), list_of(sizes[False], "MiB")
    return [
        Figure(
            "server start added", differences(starts[True], starts[False]), "s", 0.1,
            f"without: {started}", stdev(starts[False]),
        ),
        Figure(
            "the same, CPU", differences(computed[True], computed[False]), "s", None,
            f"without: {list_of(computed[False], 's')}",
        ),
        Figure("finding, linking and loading it", own, "ms", 100, "inside a server that starts"),
        Figure("server idle RSS added", differences(sizes[True], sizes[False]), "MiB", 15, f"without: {size}"),
    ]  # fmt: skip


def _own_time() -> float:
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-c", _OWN]
        environ = environment(Path(folder))
        return float(subprocess.check_output(command, env=environ, cwd=folder, text=True, stderr=subprocess.DEVNULL))
