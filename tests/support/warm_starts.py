"""Lets the processes that tests start be forks of a Python that has our imports: `fork_server.py`.

Half of what the tests cost was Python that starts: `import jupyter_eca.host.host` is half a second of CPU, and hundreds
of tests start a process of ours, a kernel or a server of the SDK of MCP; JupyterLab imports for more than two seconds.
A fork is there at once. It is a process like any other: a child of the process of the tests, with arguments,
environment, folder, open files and a session of its own. The kernels that a JupyterLab starts are forks, too, and its
children.

What a fork does not show is the start itself: that the imports work and are light. So a module of tests that is about
the start has `pytestmark = pytest.mark.cold_start`, or a test that mark. Whatever is not simple starts as usual, too: a
program given with `-c`, another Python, other options of Python, a terminal. With NIGHTLY=1 everything does, and with
`COLD_STARTS=1`.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_FORK_SERVER: Final = "tests.support.fork_server"
_ROOT: Final = Path(__file__).parents[2]

# What a program imports first of all, by the name of the program.
_ENGINE: Final = (
    "jupyter_eca.host.host",
    "jupyter_eca.engine.approval.line_targets",
    "jupyter_eca.fronts.eca.session",
    "jupyter_eca.fronts.eca.methods.*",
    "jupyter_eca.host.commands.*",
    *(f"jupyter_eca.plugins.{kind}.*" for kind in ("agents", "contexts", "providers", "tools")),
    "jupyter_eca.workspace.diagnostics.*",
    "jupyter_core.paths",
    "encodings.idna",
    "platformdirs",
    "yaml",
)
_PROGRAMS: Final = (
    *_ENGINE,
    "jupyter_eca.apps.process",
    "jupyter_eca.apps.cli",
    "jupyter_eca.apps.front_program",
    "jupyter_eca.mcp_client.*",
    *(f"jupyter_eca.fronts.{front}.*" for front in ("acp", "http", "mcp", "mcp.offers", "mcp.opencode", "rest")),
    "anyio._backends._asyncio",
    "uvicorn.lifespan.off",
)
_KERNELS: Final = (
    *_ENGINE,
    "jupyter_eca.apps.kernel.extension",
    "jupyter_eca.apps.kernel.magic",
    "jupyter_eca.apps.kernel.answer.turn",
    "jupyter_eca.apps.kernel.engine.*",
    "jupyter_eca.transport.eca_client",
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.debugger",
    "IPython.terminal.ipapp",
    "IPython.core.completerlib",
    "IPython.core.oinspect",
    "IPython.extensions.storemagic",
)
# What its kernels import, and what a server does when it starts, when its first page comes, and when its first chat
# begins. The modules of the programs themselves are not among them: importing them looks for the user's folders.
_SERVERS: Final = (
    *_KERNELS,
    "anyio._backends._asyncio",
    "jupyter_lsp",
    "jupyter_server.serverapp",
    "jupyter_server_terminals",
    "jupyterlab.commands",
    "jupyterlab.debuglog",
    "jupyterlab.extensions",
    "jupyterlab.handlers.build_handler",
    "jupyterlab.handlers.error_handler",
    "jupyterlab.handlers.extension_manager_handler",
    "jupyterlab.handlers.plugin_manager_handler",
    "nbconvert.exporters",
    "notebook_shim.shim",
    "psutil",
    "jupyter_eca.apps.server.extension",
    "jupyter_eca.engine.approval.code_targets",
    "jupyter_eca.workspace.kernels.jupyter_server",
)
_SMALL_PROGRAMS: Final = (
    "argparse",
    "base64",
    "pathlib",
    "queue",
    "subprocess",
    "threading",
    "typing",
    "urllib.request",
)
_IMPORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "jupyter_eca": _PROGRAMS,
    "tests.fronts.ahp.killed": _PROGRAMS,
    "tests.host.turn.killed": _PROGRAMS,
    "ipykernel_launcher": _KERNELS,
    "IPython": _KERNELS,
    "jupyterlab": _SERVERS,
    "notebook": _SERVERS,
    "fake_agent.py": _SMALL_PROGRAMS,
    "puppet_server.py": _SMALL_PROGRAMS,
    "raw_server.py": _SMALL_PROGRAMS,
    "tour_server.py": _SMALL_PROGRAMS,
    "sdk_server.py": (
        *_ENGINE,
        "mcp.server.mcpserver",
        "mcp.server.mcpserver.prompts.base",
        "anyio._backends._asyncio",
    ),
}

# Servers start kernels.
_STARTS: Final[Mapping[str, tuple[str, ...]]] = dict.fromkeys(("jupyterlab", "notebook"), ("ipykernel_launcher",))

# What kernels are started with for the sake of a debugger. It warns without it, and nothing else changes.
_HARMLESS: Final = "-Xfrozen_modules=off"
# The variables of Python that `fork_server.py` knows, and those that are read when they are needed.
_KNOWN_VARIABLES: Final = {"PYTHONPATH", "PYTHONWARNINGS", "PYTHON_KEYRING_BACKEND", "PYTHONSTARTUP"}

_SET_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER of linux/prctl.h


@dataclass(frozen=True)
class _Wanted:
    """A process that can be a fork."""

    program: str
    """The key of `_IMPORTS`."""
    request: bytes
    files: list[int]


class WarmStarts:
    """Stands in for the function that `subprocess` starts processes with."""

    def __init__(
        self,
        start: Any,
        imports: Mapping[str, tuple[str, ...]] = _IMPORTS,
        started: Mapping[str, tuple[str, ...]] = _STARTS,
    ) -> None:
        """`started` are the programs that a program itself starts as forks. Their imports are among its own."""
        self.is_on = True
        self.start = start
        self.count = 0
        """How many processes were forks."""
        self._imports = imports
        self._started = started
        self._environment = dict(os.environ)
        self._links: dict[tuple[str, ...], socket.socket] = {}
        self._ready: set[tuple[str, ...]] = set()
        self._waiting: list[subprocess.Popen[Any]] = []
        self._lock = threading.Lock()

    def __call__(self, *details: Any) -> int:
        """Start a process, and return its id."""
        wanted = self._find_wanted(details) if self.is_on else None
        if wanted is None:
            return self.start(*details)
        with self._lock:
            link = self._find_link(self._imports[wanted.program], seconds=0)
            if link is None:
                return self.start(*details)
            self._inherit_orphans(True)
            try:
                _send(link, wanted.request, wanted.files)
                new = int.from_bytes(link.recv(8))
            finally:
                self._inherit_orphans(False)
            assert new, "the process that forks has ended: what it wrote is above"
            self.count += 1
            return new

    @property
    def pids(self) -> list[int]:
        """The processes that fork."""
        return [process.pid for process in self._waiting]

    def close(self) -> None:
        """End the processes that fork."""
        for process in self._waiting:
            process.kill()
            process.wait()
        for link in self._links.values():
            link.close()

    def _find_wanted(self, details: Sequence[Any]) -> _Wanted | None:
        """Return what the process is to be; None if it must be started as usual."""
        command, executables, close_files, kept, folder, variables, *streams = details[:12]
        # The pipe that tells of a failed start, which a fork does not need.
        failures = details[13]
        new_session, *unusual = details[15:22]
        given = self._split([os.fsdecode(word) for word in command], executables)
        if given is None or not close_files or any(value not in {None, -1} for value in unusual):
            return None
        program, is_module, words = given
        environment = dict(os.environ) if variables is None else _parse(variables)
        own = [streams[0], streams[3], streams[5]]
        numbers = [0, 1, 2, *(number for number in kept if number != failures)]
        files = [number if file == -1 else file for number, file in zip(range(3), own, strict=True)] + numbers[3:]
        place = Path(os.fsdecode(folder)) if folder is not None else Path.cwd()
        if not place.is_dir() or any(map(os.isatty, files[:3])) or not self._is_usual(environment):
            return None
        request = {
            "command": words,
            "is_module": is_module,
            "environment": environment,
            "folder": str(place),
            "new_session": bool(new_session),
            "numbers": numbers,
            "starts": self._started.get(program, ()),
        }
        return _Wanted(program, json.dumps(request).encode(), files)

    def _split(self, command: list[str], executables: Sequence[bytes]) -> tuple[str, bool, list[str]] | None:
        """Return the program as a key of the imports, whether it is a module, and its words; None if it is another."""
        if [os.fsdecode(executable) for executable in executables] != [sys.executable]:
            return None
        words = [word for word in command[1:] if word != _HARMLESS]
        is_module = words[:1] == ["-m"]
        words = words[is_module:]
        program = words[0] if is_module and words else Path(words[0]).name if words else ""
        return (program, is_module, words) if program in self._imports else None

    def _is_usual(self, environment: dict[str, str]) -> bool:
        """Return whether Python would start in this environment as it did for the tests."""
        for name in {*environment, *self._environment}:
            is_fixed = _is_pythons(name) and name not in _KNOWN_VARIABLES
            if is_fixed and environment.get(name) != self._environment.get(name):
                return False
        folders = [Path(path) for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
        ours = next((folder for folder in folders if (folder / "jupyter_eca").exists()), _ROOT)
        return ours.samefile(_ROOT) and not any((folder / "sitecustomize.py").exists() for folder in folders)

    def prepare(self, programs: Iterable[str] = _IMPORTS.keys() - _STARTS.keys()) -> None:
        """Start the processes that fork for these programs. They import while the tests go on."""
        with self._lock:
            for program in programs:
                self._find_link(self._imports[program], seconds=0)

    def wait_for(self, program: str) -> None:
        """Return when this program can be a fork."""
        with self._lock:
            self._find_link(self._imports[program], seconds=None)

    def use(self, link: socket.socket, program: str) -> None:
        """Have this program forked by the process that the link leads to."""
        self._links[self._imports[program]] = link
        self._ready.add(self._imports[program])

    def _find_link(self, modules: tuple[str, ...], seconds: float | None) -> socket.socket | None:
        """Return the link to the process that imports these, which is started when it is first needed; None when it has
        not imported them after so many seconds. No test waits for that."""
        if modules not in self._links:
            self._links[modules] = self._start_fork_server(modules)
        link = self._links[modules]
        if modules not in self._ready:
            if not select.select([link], [], [], seconds)[0]:
                return None
            assert link.recv(1), "the process that forks has ended: what it wrote is above"
            self._ready.add(modules)
        return link

    def _start_fork_server(self, modules: tuple[str, ...]) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            if modules[: len(_ENGINE)] == _ENGINE and modules != _ENGINE:
                # The imports that several have in common are made once.
                if _ENGINE not in self._links:
                    self._links[_ENGINE] = self._start_fork_server(_ENGINE)
                request = json.dumps({"imports": modules[len(_ENGINE) :]}).encode()
                _send(self._links[_ENGINE], request, [theirs.fileno()])
                return ours
            command = [sys.executable, _HARMLESS, "-m", _FORK_SERVER, str(theirs.fileno()), *modules]
            # What looks for the folders of a user when it is imported finds those of nobody.
            kept = {name: value for name, value in self._environment.items() if name == "PATH" or _is_pythons(name)}
            # A kernel keeps the process that has started it when it is imported.
            environment = {**kept, "HOME": "/nonexistent", "JPY_PARENT_PID": str(os.getpid())}
            options: dict[str, Any] = {"pass_fds": [theirs.fileno()], "env": environment, "cwd": _ROOT}
            none = subprocess.DEVNULL
            self._waiting.append(subprocess.Popen(command, stdin=none, stdout=none, **options))
        return ours

    @staticmethod
    def _inherit_orphans(is_on: bool) -> None:
        """Let a process whose parent ends become a child of this one, or of nobody."""
        ctypes.CDLL(None).prctl(_SET_SUBREAPER, int(is_on), 0, 0, 0)


def _send(link: socket.socket, request: bytes, files: list[int]) -> None:
    socket.send_fds(link, [len(request).to_bytes(8)], files)
    link.sendall(request)


def _is_pythons(name: str) -> bool:
    """Return whether Python reads this variable when it starts."""
    return name.startswith(("PYTHON", "LANG", "LC_", "TZ", "COVERAGE_"))


def _parse(variables: Sequence[bytes]) -> dict[str, str]:
    pairs = (os.fsdecode(variable).partition("=") for variable in variables)
    return {name: value for name, _, value in pairs}


def install() -> WarmStarts | None:
    """Let processes be forks from now on; return None where that does not work, or is not wanted."""
    start = getattr(subprocess, "_fork_exec", None)
    if sys.platform != "linux" or start is None or os.environ.get("NIGHTLY") or os.environ.get("COLD_STARTS"):
        return None
    starts = WarmStarts(start)
    subprocess._fork_exec = starts  # pyright: ignore[reportAttributeAccessIssue]
    return starts


def start_from(link: socket.socket, programs: Sequence[str]) -> None:
    """Let these programs, where this process starts them, be forked by the process that the link leads to."""
    imports = dict.fromkeys(programs, ("all that this process has",))
    starts = WarmStarts(getattr(subprocess, "_fork_exec"), imports, {})  # noqa: B009  # private
    for program in programs:
        starts.use(link, program)
    subprocess._fork_exec = starts  # pyright: ignore[reportAttributeAccessIssue]


def wait_for(program: str) -> None:
    """Return when this program can be a fork, or at once where processes start as usual."""
    if isinstance(starts := getattr(subprocess, "_fork_exec", None), WarmStarts):
        starts.wait_for(program)
