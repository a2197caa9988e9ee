"""How long an editor that starts `jupyter-eca server` waits. `initialize` asks nobody outside of this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from jupyter_eca.protocol.jsonrpc import FrameReader, Request, encode_frame
from tests.bench.figure import Figure
from tests.bench.processes import environment

ROUNDS = 7


async def figures() -> list[Figure]:
    rounds: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 1):
        with TemporaryDirectory() as folder:
            rounds.append(_started(Path(folder)))
    first, then = zip(*rounds[1:], strict=True)  # the first compiled
    beside = f"{ROUNDS} fresh processes"
    return [
        Figure("`jupyter-eca server`, start to first reply", first, "s", 1.5, beside),
        Figure("`initialize` of a started one", then, "ms", 100, beside),
    ]


def _started(folder: Path) -> tuple[float, float]:
    """Seconds from the start to the reply to a first request, which is refused; milliseconds that `initialize` took."""
    began = monotonic()
    command = [sys.executable, "-m", "jupyter_eca", "server"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        _ask(process, Request("a", "no/such", None))
        up = monotonic()
        _ask(process, Request("b", "initialize", {"processId": None, "capabilities": {}}))
        done = monotonic()
        assert process.stdin is not None
        process.stdin.close()
    return done - began, (done - up) * 1000


def _ask(process: subprocess.Popen[bytes], request: Request) -> None:
    """Returns when it is answered."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(encode_frame(request))
    process.stdin.flush()
    reader = FrameReader()
    while not reader.feed(process.stdout.read(1)):
        pass
