"""Builds the sandbox for a command: it may change the workspace and nothing else, sees no keys, and has no network.

The platform makes the sandbox: bubblewrap on Linux, `sandbox-exec` on macOS. This module only decides what is in it. It
must not start a command: its neighbour `shell` does, with the arguments that `Sandbox.build_prefix` returns.

What a command in the sandbox can do:

| place | on Linux | on macOS |
|---|---|---|
| the folders of the workspace, and those of `toolCall.sandbox.writable` | read and change | read and change |
| in them, the files that decide what may run (`protected_paths`), down to `_DEPTH` folders | read | read |
| keys and sign-ins (`_SECRETS`), our own data, and `toolCall.sandbox.hidden` | nothing | nothing |
| `/tmp` | a folder that all commands of this process share | a folder of its own, in `TMPDIR` |
| `/run`, where other programs have their sockets | empty | no sockets |
| the rest of the disk | read | read |
| other processes | nothing | nothing but their names |
| the network | only with `toolCall.sandbox.network` | only with `toolCall.sandbox.network` |

A protected file that does not exist yet can be made, because a mount needs a place: for example `.git/hooks` in a new
repository. A repository that exists is safe: if it has no hooks, the whole `.git` is read-only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval import protected_paths
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.jobs.process_folder import make_process_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

# Below the home folder: the keys and sign-ins of common programs.
_SECRETS: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".git-credentials", ".npmrc"),
    *(".pypirc", ".config/gcloud", ".config/gh", ".config/hub", ".config/eca", ".local/share/keyrings"),
    *(".local/share/jupyter/eca", ".local/share/jupyter/runtime", ".huggingface", ".cache/huggingface/token"),
    *(".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".cargo/credentials.toml"),
    *("Library/Keychains", "Library/Jupyter/eca", "Library/Jupyter/runtime", ".password-store", ".mozilla"),
)
# Variables by which a program finds another one that acts for it.
_SOCKET_VARIABLES: Final = ("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "XDG_RUNTIME_DIR", "DISPLAY")
# In `/proc`, what changes the kernel of this machine. Root may write it without any capability, and bubblewrap leaves
# it writable: a program that is written to `/proc/sys/kernel/core_pattern` would run outside of the sandbox.
_KERNEL_SETTINGS: Final = ("sys", "sysrq-trigger", "mtrr", "fs", "acpi", "scsi", "driver", "dynamic_debug")
# What a repository needs so that git runs no program of a command's: a mount needs a place.
_GIT_FILES: Final = ("hooks", "config")

# How many folders deep protected files are looked for, and how many files and folders are looked at.
_DEPTH: Final = 4
_MOST_ENTRIES: Final = 20_000
_SKIPPED: Final = frozenset({"node_modules", ".venv", "venv", "__pycache__", "site-packages"})

_PROBE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a command may do in the sandbox."""

    roots: tuple[Path, ...]
    """The folders of the workspace. A command may change what is in them."""
    writable: tuple[Path, ...] = ()
    """Other folders that it may change."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that it cannot read, besides the keys that are always hidden."""
    network: bool = False
    """Whether it has the network of this machine."""

    @property
    def is_safe(self) -> bool:
        """Whether nothing that a command changes in it can run outside of it later without somebody's doing. That is
        not so if the home folder is in the workspace: shells run files of the home folder by their names."""
        return not any(Path.home().resolve().is_relative_to(root.resolve()) for root in self.roots)

    def build_prefix(self) -> list[str]:
        """Return the arguments that stand before a command so that it runs in the sandbox. This looks at the disk.

        Raises: ToolError when this machine has no sandbox.
        """
        match find_engine():
            case "":
                raise ToolError(explain_missing(), "The user can install it, or switch `toolCall.sandbox` off.")
            case engine if engine.endswith("sandbox-exec"):
                return [engine, "-p", build_seatbelt_profile(self, Path.home()), *_forget_sockets(("/usr/bin/env",))]
            case engine:
                return [engine, *build_bubblewrap_arguments(self, Path.home(), _make_temporary_folder())]


def explain_missing() -> str:
    """Return a sentence that says why there is no sandbox."""
    if sys.platform == "linux":
        return "There is no sandbox on this machine: bubblewrap (`bwrap`) is not installed, or may not be used here."
    return "There is no sandbox on this machine."


@cache
def find_engine() -> str:
    """Return the path of the program that makes sandboxes, "" if there is none that works. The first call tries it."""
    if sys.platform == "darwin":
        return shutil.which("sandbox-exec") or ""
    found = shutil.which("bwrap") if sys.platform == "linux" else None
    if found is None:
        return ""
    # In many containers it is installed, but may not make namespaces.
    probe = [found, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--", "/bin/true"]
    try:
        tried = subprocess.run(probe, capture_output=True, timeout=_PROBE_SECONDS, check=False)  # noqa: S603  # our own arguments
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found if tried.returncode == 0 else ""


@cache
def _make_temporary_folder() -> Path:
    """Return the folder that is `/tmp` in the sandbox. The first call makes it, and it is deleted with the process."""
    return Path(tempfile.mkdtemp(prefix="sandbox-", dir=make_process_folder()))


def build_bubblewrap_arguments(sandbox: Sandbox, home: Path, temporary: Path) -> list[str]:
    """Return the arguments of bubblewrap. A later one covers what earlier ones show."""
    # Without dropping them, a command of root could unmount what protects the files.
    arguments = [
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--unshare-all",
        *(["--share-net"] if sandbox.network else []),
    ]
    arguments += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]
    for name in _KERNEL_SETTINGS:
        arguments += ["--ro-bind-try", f"/proc/{name}", f"/proc/{name}"]
    if sandbox.network:
        # Where many systems have the addresses of their name servers.
        arguments += ["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"]
    arguments += ["--bind", str(temporary), "/tmp"]  # noqa: S108  # the place in the sandbox
    changeable = _list_existing((*sandbox.roots, *sandbox.writable))
    for path in changeable:
        arguments += ["--bind", str(path), str(path)]
    for path in changeable:
        arguments += _protect(path)
    for path in _list_existing((*(home / name for name in _SECRETS), *_list_own_folders(), *sandbox.hidden)):
        arguments += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
    for name in _SOCKET_VARIABLES:
        arguments += ["--unsetenv", name]
    return [*arguments, "--"]


def _list_existing(paths: tuple[Path, ...]) -> list[Path]:
    """Return the real paths of those that exist, in their order, each once."""
    return list(dict.fromkeys(path.resolve() for path in paths if path.exists()))


def _list_own_folders() -> Iterator[Path]:
    """Yield where our chats, keys and the tokens of Jupyter are, if variables say another place than the usual one."""
    for variable, name in (("JUPYTER_DATA_DIR", "eca"), ("JUPYTER_DATA_DIR", "runtime"), ("XDG_CONFIG_HOME", "eca")):
        if value := os.environ.get(variable):
            yield Path(value) / name
    if value := os.environ.get("JUPYTER_RUNTIME_DIR"):
        yield Path(value)


def _protect(root: Path) -> list[str]:
    """Return the arguments that make the protected files in a folder read-only.

    Each folder is mounted itself: otherwise a command could rename it, and make another one in its place.
    """
    arguments: list[str] = []
    for path in _find_protected(root):
        parts = [path / name for name in _GIT_FILES]
        if path.name == ".git" and path.is_dir() and all(part.exists() for part in parts):
            # git itself must be able to write the rest.
            arguments += ["--bind", str(path), str(path)]
            arguments += [argument for part in parts for argument in ("--ro-bind", str(part), str(part))]
        else:
            arguments += ["--ro-bind", str(path), str(path)]
    return arguments


def _find_protected(root: Path) -> Iterator[Path]:
    """Yield the protected files and folders in a folder, down to `_DEPTH` folders."""
    seen = 0
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            if seen > _MOST_ENTRIES:
                return
            path = Path(entry.path)
            if protected_paths.is_protected(path.relative_to(root).as_posix()):
                # A link leads elsewhere: what it leads to is read-only already, or protected where it is.
                if not entry.is_symlink():
                    yield path
            elif depth < _DEPTH and entry.name not in _SKIPPED and entry.is_dir(follow_symlinks=False):
                waiting.append((path, depth + 1))


def _forget_sockets(env: tuple[str, ...]) -> list[str]:
    return [*env, *(argument for name in _SOCKET_VARIABLES for argument in ("-u", name))]


def build_seatbelt_profile(sandbox: Sandbox, home: Path) -> str:
    """Return the profile for `sandbox-exec`. The last rule that fits decides."""
    changeable = _list_existing((*sandbox.roots, *sandbox.writable))
    protected = [path for root in changeable for path in _find_protected(root)]
    secrets = _list_existing((*(home / name for name in _SECRETS), *_list_own_folders(), *sandbox.hidden))
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write* (subpath "/dev") (subpath "/private/var/folders") (subpath "/private/tmp"))',
        *(f"(allow file-write* (subpath {_quote(path)}))" for path in changeable),
        *(f"(deny file-write* (subpath {_quote(path)}))" for path in protected),
        *(f"(deny file-read* file-write* (subpath {_quote(path)}))" for path in secrets),
        "(deny process-info* (target others))",
        "(deny signal (target others))",
    ]
    return "\n".join(lines if sandbox.network else [*lines, "(deny network*)"])


def _quote(path: Path) -> str:
    """Return a path as a string of the profile's language."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
