"""A Python that has imported what the processes of tests import, and waits: it forks for each process that a test
starts. `warm_starts.py` starts it, and says why.

    python -m tests.support.fork_server SOCKET MODULE...

It reads requests from the socket, which it has inherited under this number. It has one thread, so a fork of it is
whole. A fork takes over the arguments, the environment, the folder and the open files of the request, and then does
what `python -m MODULE` or `python SCRIPT` does.

What different programs import has much in common. So a request may also be for a fork server that imports more, and has
a socket of its own.

A Jupyter server starts kernels itself. So it gets a fork server of its own, which is a fork, too: its kernels are its
children, as always.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support import warm_starts

# The most open files that a request can have.
_MAX_FILES = 32


def read_request(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next request and its open files; None when the tests are over."""
    try:
        head, files, _, _ = socket.recv_fds(link, 8, _MAX_FILES)
    except ConnectionResetError:  # nobody has read that this process can fork
        return None
    if not head:
        return None
    while len(head) < 8:
        head += link.recv(8 - len(head))
    body, size = bytearray(), int.from_bytes(head)
    while len(body) < size:
        body += link.recv(size - len(body))
    return json.loads(body), list(files)


def fork_for_tests(*, new_session: bool) -> int:
    """Fork twice, so that the parent of the new process is the process of the tests, which has asked for that with
    `prctl`. Return the id of the new process once it is in its session; 0 in that process."""
    (held, go), (ids, told_id) = os.pipe(), os.pipe()
    if (between := os.fork()) == 0:
        if os.fork():
            os._exit(0)
        os.close(go)
        os.read(held, 1)  # until the parent is the right one
        if new_session:
            os.setsid()
        os.write(told_id, str(os.getpid()).encode())
        return 0
    os.waitpid(between, 0)
    for file in (held, go, told_id):
        os.close(file)
    new = int(os.read(ids, 20))
    os.close(ids)
    return new


def take_files(files: list[int], numbers: list[int]) -> None:
    """Have these open files under these numbers, from 0 on, and no others."""
    above = max((*files, *numbers)) + 1
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, above) for file in files]
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
    ends = [*sorted(numbers), os.sysconf("SC_OPEN_MAX")]
    for number, next_number in pairwise(ends):
        if number + 1 < next_number:
            os.closerange(number + 1, next_number)


def open_streams() -> None:
    """Open stdin, stdout and stderr anew, as Python does: those that it made at the start were for other files."""
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    for name, file, mode in (("stdin", 0, "rb"), ("stdout", 1, "wb"), ("stderr", 2, "wb")):
        old = getattr(sys, name)
        raw = open(file, mode, 0 if is_unbuffered and file else -1, closefd=False)  # noqa: SIM115  # until the end
        stream = io.TextIOWrapper(
            raw,
            old.encoding,
            old.errors,
            line_buffering=old.line_buffering,
            write_through=is_unbuffered and bool(file),
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def become(request: dict[str, Any], files: list[int], usual_path: list[str], own_server: socket.socket | None) -> None:
    """Be the process that the request asks for, up to the end of its program. `own_server` leads to the fork server for
    what it starts. Raises: whatever the program raises."""
    numbers = list(request["numbers"])
    if own_server is not None:
        files, numbers = [*files, own_server.fileno()], [*numbers, max(numbers) + 1]
    take_files(files, numbers)
    if request["folder"] is not None:
        os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    open_streams()
    if own_server is not None:
        own_server.detach()
        os.set_inheritable(numbers[-1], False)
        warm_starts.start_from(socket.socket(fileno=numbers[-1]), request["starts"])
    target, *arguments = request["command"]
    is_module = request["is_module"]
    first = Path.cwd() if is_module else Path(target).resolve().parent
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [str(first), *map(os.path.abspath, paths), *usual_path]
    importlib.invalidate_caches()
    sys.argv = [target, *arguments]
    sys.orig_argv = [sys.executable, *(["-m"] if is_module else []), target, *arguments]
    sys.warnoptions[:] = [option for option in os.environ.get("PYTHONWARNINGS", "").split(",") if option]
    vars(warnings)["_processoptions"](sys.warnoptions)  # as at a start
    if is_module:
        runpy.run_module(target, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(target, run_name="__main__")


def import_all(names: list[str]) -> None:
    """Import these modules, and of a name that ends with `.*` all modules of the package."""
    for name in names:
        package = importlib.import_module(name.removesuffix(".*"))
        if name.endswith(".*"):
            for module in pkgutil.iter_modules(package.__path__):
                if module.name != "__main__":
                    importlib.import_module(f"{package.__name__}.{module.name}")


def build_models() -> None:
    """Build the validators of the models that are imported. Pydantic would do it when they are first used."""
    from pydantic import BaseModel

    left = BaseModel.__subclasses__()
    while left:
        model = left.pop()
        left += model.__subclasses__()
        if model.__module__.startswith("jupyter_eca."):
            model.model_rebuild(raise_errors=False)


def fork_server_for(files: list[int]) -> tuple[socket.socket, bool]:
    """Fork a fork server for this process, which is about to be a program with these files. Return the link between
    the two, and whether this process is the new fork server."""
    for_program, for_server = socket.socketpair()
    if os.fork():
        for_server.close()
        return for_program, False
    for_program.close()
    for file in files:
        os.close(file)
    return for_server, True


def get_ready(link: socket.socket, names: list[str]) -> None:
    """Import these modules, and tell that this process can fork from now on."""
    import_all(names)
    if "pydantic" in sys.modules:
        build_models()
    # A fork has no other thread, and what one held would stay locked in it.
    assert len([*Path("/proc/self/task").iterdir()]) == 1, names
    gc.collect()
    gc.freeze()
    link.sendall(b"!")


def serve(link: socket.socket, usual_path: list[str]) -> None:
    """Fork for each request, until whoever makes the requests is gone. In a fork, run its program and return."""
    heed_interrupts = signal.signal(signal.SIGINT, signal.SIG_IGN)
    while (request := read_request(link)) is not None:
        wanted, files = request
        if "imports" in wanted:
            if os.fork() == 0:
                link.close()
                link = socket.socket(fileno=files[0])
                get_ready(link, wanted["imports"])
            else:
                os.close(files[0])
            continue
        if new := fork_for_tests(new_session=wanted["new_session"]):
            for file in files:
                os.close(file)
            link.sendall(new.to_bytes(8))
            continue
        link.close()
        own_server = None
        if wanted["starts"]:
            own_server, is_server = fork_server_for(files)
            if is_server:
                link = own_server
                continue
        signal.signal(signal.SIGINT, heed_interrupts)
        become(wanted, files, usual_path, own_server)
        return


def main(number: str, *names: str) -> None:
    del sys.path[0]  # the folder that this module was found in
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    usual_path = [path for path in sys.path if path not in own]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    link = socket.socket(fileno=int(number))
    get_ready(link, list(names))
    serve(link, usual_path)


if __name__ == "__main__":
    main(*sys.argv[1:])
