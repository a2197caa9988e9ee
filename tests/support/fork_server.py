"""A Python that has imported what the processes of tests import, and waits: it forks for each process that a test
starts. `warm_starts.py` starts it, and says why.

    python tests/support/warm_process.py SOCKET MODULE...

It reads requests from the socket, which it has inherited under this number. It has one thread, so a fork of it is
whole. A fork takes over the arguments, the environment, the folder and the open files of the request, and then does
what `python -m MODULE` or `python SCRIPT` does.
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
import socket
import sys
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

# The most open files that a request can have.
_MAX_FILES = 32


def read_request(link: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Return the next request and its open files; None when the tests are over."""
    head, files, _, _ = socket.recv_fds(link, 8, _MAX_FILES)
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


def become(request: dict[str, Any], files: list[int], usual_path: list[str]) -> None:
    """Be the process that the request asks for, up to the end of its program. Raises: whatever the program raises."""
    take_files(files, request["numbers"])
    if request["folder"] is not None:
        os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    open_streams()
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


def main(number: str, *names: str) -> None:
    own = {str(Path(__file__).parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    usual_path = [path for path in sys.path if path not in own]
    sys.path.remove(str(Path(__file__).parent))
    link = socket.socket(fileno=int(number))
    import_all(list(names))
    if "pydantic" in sys.modules:
        build_models()
    gc.collect()
    gc.freeze()
    link.sendall(b"!")  # it can fork from now on
    while (request := read_request(link)) is not None:
        wanted, files = request
        if (new := fork_for_tests(new_session=wanted["new_session"])) == 0:
            link.detach()
            become(wanted, files, usual_path)
            return
        for file in files:
            os.close(file)
        link.sendall(new.to_bytes(8))


if __name__ == "__main__":
    main(*sys.argv[1:])
