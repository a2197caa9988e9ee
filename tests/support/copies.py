"""Processes of Python that are copies of one which has imported a lot already: an original. What a server or a kernel
imports takes it longer than anything else that it does when it starts, and a copy does without.

    with running_original("jupyterlab.labapp") as original:
        copy = original.start("jupyterlab", ["--no-browser"], environment, folder)

A copy is what `python -m jupyterlab --no-browser` would be: arguments, environment, folder and output are its own, and
so is all that it does after. It ends with the process that has started it. The original runs in a process of its own,
`python -m tests.support.copies`, and each connection to its socket is one copy.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

_ROOT: Final = Path(__file__).parents[2]
# Of the length of a request, and of the two replies: the process that was made, and how it has ended.
_DIGITS: Final = 12


@dataclass(frozen=True)
class _Request:
    module: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str
    own_session: bool


class Copy:
    """What a program uses of `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket, module: str) -> None:
        self.args = [sys.executable, "-m", module]
        self.returncode: int | None = None
        self._connection = connection
        self.pid = _receive_number(connection)

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises: subprocess.TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._connection], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = _receive_number(self._connection)
            self._connection.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@dataclass(frozen=True)
class Original:
    """`address` is that of its socket: any process may ask it for a copy."""

    address: str

    def start(
        self,
        module: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: str | Path,
        output: tuple[int, int] = (1, 2),
        *,
        own_session: bool = False,
    ) -> Copy:
        """`output` is where it writes, and where its errors go."""
        request = _Request(module, list(arguments), dict(environment), str(folder), own_session)
        data = json.dumps(asdict(request)).encode()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.address)
        socket.send_fds(connection, [b"%0*d" % (_DIGITS, len(data))], output)
        connection.sendall(data)
        return Copy(connection, module)


def _list_pythons_own(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


# Some of them are read when Python starts. A test may change its own environment later, and the original does not.
_PYTHONS_OWN: Final = _list_pythons_own(os.environ)


def can_be_copied(python: str, environment: Mapping[str, str]) -> bool:
    """Whether a copy does what this Python would do with these variables."""
    return python == sys.executable and _list_pythons_own(environment) == _PYTHONS_OWN


@contextmanager
def running_original(*modules: str) -> Generator[Original]:
    """One that has imported these. It ends with this process, and its copies with it."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        address = f"{folder}/socket"
        listener.bind(address)
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno()), *modules],
            cwd=_ROOT,
            env=_make_environment(folder),
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
        try:
            yield Original(address)
        finally:
            process.communicate()


def _make_environment(home: str) -> dict[str, str]:
    """Of an original: what looks for the folders of a user when it is imported does not find those of anybody."""
    kept = {name: value for name, value in os.environ.items() if name in {"PATH", "LANG"} or name.startswith("LC_")}
    return kept | _PYTHONS_OWN | {"HOME": home}


def _receive(connection: socket.socket, length: int) -> bytes:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        if not part:
            break
        parts += part
    return bytes(parts)


def _receive_number(connection: socket.socket) -> int:
    """As if it were killed, where the original is gone."""
    return int(_receive(connection, _DIGITS) or -signal.SIGKILL)


def _do_nothing(*_: object) -> None:
    """It must not be ignored: then nobody would be told of it."""


class _Server:
    """Of the original. It has one thread, so that it can be copied."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._copies: dict[int, socket.socket] = {}  # by the number of the process

    def serve(self) -> tuple[_Request, list[int]] | None:
        """Return in each copy what it is to do, and None once nobody can ask for one any more."""
        heard, told = os.pipe()
        os.set_blocking(told, False)
        signal.signal(signal.SIGCHLD, _do_nothing)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(told)
        while True:
            ready, _, _ = select.select([0, heard, self._listener, *self._copies.values()], [], [])
            if 0 in ready and not os.read(0, 1):
                self._kill(list(self._copies))
                return None
            if heard in ready:
                os.read(heard, 4096)
                self._tell()
            self._kill([pid for pid, asker in self._copies.items() if asker in ready])
            if self._listener in ready:
                asker, _ = self._listener.accept()
                if (asked := self._copy(asker)) is not None:
                    os.close(heard)
                    os.close(told)
                    return asked

    def _copy(self, asker: socket.socket) -> tuple[_Request, list[int]] | None:
        length, fds, _, _ = socket.recv_fds(asker, _DIGITS, 2)
        request = _Request(**json.loads(_receive(asker, int(length))))
        pid = os.fork()
        if pid == 0:
            if request.own_session:
                os.setsid()  # before its number is told: who knows the number may ask for its group
            asker.sendall(b"%0*d" % (_DIGITS, os.getpid()))
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for connection in (self._listener, asker, *self._copies.values()):
                connection.close()
            return request, fds
        self._copies[pid] = asker
        for fd in fds:
            os.close(fd)
        return None

    def _tell(self) -> None:
        """Who has asked for a copy hears that it has ended."""
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                asker = self._copies.pop(ended[0])
                with suppress(OSError), asker:
                    asker.sendall(b"%0*d" % (_DIGITS, os.waitstatus_to_exitcode(ended[1])))

    def _kill(self, pids: Sequence[int]) -> None:
        """Who has asked for them is gone. They are waited for by `_tell`."""
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._copies.pop(pid).close()


def _become(request: _Request, output: Sequence[int]) -> None:
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    for target, fd in enumerate(output, 1):
        os.dup2(fd, target)
        os.close(fd)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    # As `python -m` has them: the folder in place of that of the original.
    sys.path[0] = request.folder
    sys.argv[:] = [request.module, *request.arguments]
    runpy.run_module(request.module, run_name="__main__", alter_sys=True)


def main() -> None:
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        for name in sys.argv[2:]:
            import_module(name)
        # So that no copy looks soon through what it shares with the original: that would copy its memory.
        gc.collect()
        asked = _Server(listener).serve()
    if asked is not None:
        _become(*asked)


if __name__ == "__main__":
    main()
