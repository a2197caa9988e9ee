"""Builds the sandbox for a command: it may change the workspace and nothing else, sees no keys, and has no network.

The platform makes the sandbox: bubblewrap on Linux, `sandbox-exec` on macOS. This module only decides what is in it. It
must not start a command: its neighbour `shell` does, with the arguments that `Sandbox.prepare` returns.

What a command in the sandbox can do:

| place | on Linux | on macOS |
|---|---|---|
| the folders of the workspace, and those of `toolCall.sandbox.writable` | read and change | read and change |
| in them, the files that decide what may run (`protected_files`), with all of `.git` | read | read |
| in them, the environment and the programs that this process uses | read | read |
| keys and sign-ins (`_SECRETS`), our own data, and `toolCall.sandbox.hidden` | nothing | nothing |
| `/tmp` | a folder that all commands of this process share | a folder of its own, in `TMPDIR` |
| `/run`, and the sockets of other programs | nothing | nothing |
| the rest of the disk | read | read |
| other processes | nothing | nothing but their names |
| the network | only with `toolCall.sandbox.network` | only with `toolCall.sandbox.network` |

All of `.git` is read-only, because git runs the programs that many files in it name, also some that do not exist yet.

The sandbox can only protect paths that exist. So a command can make a protected file that does not exist yet, for
example `.git` in a new folder. When the command has ended, the model and the user are told which protected files it
made or moved (`SandboxRun.describe_changes`).
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

from jupyter_eca.config.schema import SandboxMode
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.jobs.process_folder import make_process_folder
from jupyter_eca.workspace.jobs.protected_files import ProtectedFiles, find_protected_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.config.schema import SandboxConfig

# Below the home folder: the keys and sign-ins of common programs.
_SECRETS: Final = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".pgpass", ".git-credentials", ".npmrc"),
    *(".pypirc", ".config/gcloud", ".config/gh", ".config/hub", ".config/eca", ".local/share/keyrings"),
    *(".local/share/jupyter/eca", ".local/share/jupyter/runtime", ".huggingface", ".cache/huggingface/token"),
    *(".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".cargo/credentials.toml"),
    *("Library/Keychains", "Library/Jupyter/eca", "Library/Jupyter/runtime", ".password-store", ".mozilla"),
)
# Variables by which a program finds another one that acts for it. By `JPY_PARENT_PID` a kernel finds the server, and
# ends when it does not find it: in the sandbox it never does.
_SOCKET_VARIABLES: Final = (
    *("SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST", "XDG_RUNTIME_DIR", "DISPLAY", "JPY_PARENT_PID"),
)
# The entries of `/proc` with which the kernel of this machine is changed. Root may write them without any capability,
# and bubblewrap leaves them writable: a program that is written to `/proc/sys/kernel/core_pattern` would run outside of
# the sandbox.
_KERNEL_SETTINGS: Final = ("sys", "sysrq-trigger", "mtrr", "fs", "acpi", "scsi", "driver", "dynamic_debug")
# The kernel's list of Unix sockets.
_SOCKETS: Final = Path("/proc/net/unix")
# Folders that the sandbox replaces by its own, so sockets in them cannot be reached.
REPLACED: Final = ("/run", "/var/run", "/tmp", "/dev")  # noqa: S108  # names to compare with

# The earlier paths of protected and hidden files that a command moved, and that were not found any more. Their new
# places are neither protected nor hidden. So commands that may change the folders of these paths need approval until
# this process ends.
_LOST: Final[set[Path]] = set()

# How long the check may take whether the program that makes sandboxes works.
_PROBE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What a command may do in the sandbox."""

    roots: tuple[Path, ...]
    """The folders of the workspace. A command may change what is in them."""
    writable: tuple[Path, ...] = ()
    """Other folders that a command may change."""
    hidden: tuple[Path, ...] = ()
    """Files and folders that a command cannot read, besides the keys that are always hidden."""
    network: bool = False
    """Whether a command has the network of this machine."""
    readable: tuple[Path, ...] = ()
    """Files and folders that a command can read although they are in a place that it cannot read otherwise: the script
    or the program that it runs."""
    has_own_session: bool = False
    """Whether a command leads a session of its own. Then it can be sent a signal that does not reach the program which
    makes the sandbox."""

    def explain_unsafe(self) -> str:
        """Return why the sandbox is not safe: a file that a command changes in the sandbox could later run outside of
        it, although nobody started that file. Return "" if the sandbox is safe. This looks at the disk."""
        changeable = self._list_changeable()
        if any(Path.home().resolve().is_relative_to(root) for root in changeable):
            return (
                "Your home folder is in the workspace, and shells run files of it by their names. Start Jupyter in the "
                "folder of a project."
            )
        if any(root.is_relative_to(folder) for folder in _list_program_folders() for root in changeable):
            return "The workspace is in a folder where this program finds other programs."
        if moved := [path for path in _LOST for root in changeable if path.is_relative_to(root)]:
            return f"A protected file was deleted or moved while a command ran in the sandbox: {moved[0]}."
        if not find_protected_files(changeable).is_complete:
            return "The workspace has too many files to find those that decide what may run."
        return ""

    def prepare(self) -> SandboxRun:
        """Look at the disk, and return how a command is started in the sandbox now.

        Raises: ToolError when this machine has no sandbox.
        """
        changeable = self._list_changeable()
        hidden = [path for path in _list_existing(self.hidden) if any(map(path.is_relative_to, changeable))]
        protected = find_protected_files(changeable, hidden)
        match find_sandbox_program():
            case "":
                raise ToolError(explain_missing(), "The user can install it, or switch `toolCall.sandbox` off.")
            case engine if engine.endswith("sandbox-exec") and self.has_own_session:
                raise ToolError("Only on Linux can a kernel run in the sandbox.")
            case engine if engine.endswith("sandbox-exec"):
                profile = build_seatbelt_profile(self, Path.home(), protected)
                prefix = [engine, "-p", profile, *_forget_sockets(("/usr/bin/env",))]
            case engine:
                folder = _make_temporary_folder()
                prefix = [engine, *build_bubblewrap_arguments(self, Path.home(), folder, protected)]
        return SandboxRun(tuple(prefix), tuple(changeable), tuple(hidden), protected)

    def _list_changeable(self) -> list[Path]:
        """Return the folders that a command may change."""
        return _list_existing((*self.roots, *self.writable))


def make_sandbox(config: SandboxConfig, roots: Iterable[Path]) -> Sandbox | None:
    """Return the sandbox that the user wants for commands in these folders of the workspace; None for none."""
    if config.mode is SandboxMode.OFF:
        return None
    writable, hidden = (tuple(Path(name).expanduser() for name in names) for names in (config.writable, config.hidden))
    return Sandbox(tuple(roots), writable, hidden, config.network)


def make_kernel_sandbox(config: SandboxConfig, roots: Iterable[Path]) -> Sandbox | None:
    """Return the sandbox that the user wants for kernels in these folders of the workspace; None for none."""
    if not config.kernels:
        return None
    writable, hidden = (tuple(Path(name).expanduser() for name in names) for names in (config.writable, config.hidden))
    return Sandbox(tuple(roots), writable, hidden, config.network, has_own_session=True)


@dataclass(frozen=True, slots=True)
class SandboxRun:
    """How a command is started in the sandbox, and what was protected at that moment."""

    prefix: tuple[str, ...]
    """The program that makes the sandbox, and its arguments. They come before the command."""
    changeable: tuple[Path, ...]
    """The folders that the command may change."""
    hidden: tuple[Path, ...]
    """The files and folders in `changeable` that the command cannot read."""
    protected: ProtectedFiles
    """The protected and hidden files in `changeable`, as they were before the command started."""

    def describe_changes(self) -> str:
        """Return a note for the model and the user about protected files that were made, deleted or moved since the
        command started; "" if there are none. This looks at the disk."""
        now = find_protected_files(self.changeable, self.hidden)
        # A file that an incomplete search did not find may still be there. Commands need approval then anyway, see
        # `Sandbox.explain_unsafe`.
        is_complete = self.protected.is_complete and now.is_complete
        lost = now.list_lost(self.protected, self.hidden) if is_complete else []
        _LOST.update(lost)
        made = now.list_new(self.protected)
        notes = [_MADE.format(_list_names(made))] * bool(made) + [_MOVED.format(_list_names(lost))] * bool(lost)
        return "\n".join(notes)


# How many files a note names.
_MAX_NAMED: Final = 5
# The notes about files that were made, and about files that were moved. The files are filled in.
_MADE: Final = (
    "[While it ran in the sandbox, files appeared that decide what may run outside of it: {}. Tell the user to look at "
    "them before any program uses them.]"
)
_MOVED: Final = (
    "[While it ran in the sandbox, protected files were deleted or moved: {}. From now on commands in the sandbox need "
    "approval here, until the server is started anew.]"
)


def _list_names(paths: list[Path]) -> str:
    """Return the first paths, and how many more there are."""
    names = ", ".join(map(str, paths[:_MAX_NAMED]))
    return f"{names} and {more} more" if (more := len(paths) - _MAX_NAMED) > 0 else names


def explain_missing() -> str:
    """Return a sentence that says why there is no sandbox."""
    if sys.platform == "linux":
        return "There is no sandbox on this machine: bubblewrap (`bwrap`) is not installed, or may not be used here."
    return "There is no sandbox on this machine."


@cache
def find_sandbox_program() -> str:
    """Return the path of the program that makes sandboxes, "" if there is none that works. The first call tries it."""
    if sys.platform == "darwin":
        return shutil.which("sandbox-exec") or ""
    found = shutil.which("bwrap") if sys.platform == "linux" else None
    if found is None:
        return ""
    # In many containers bubblewrap is installed, but may not make namespaces.
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


def build_bubblewrap_arguments(sandbox: Sandbox, home: Path, temporary: Path, protected: ProtectedFiles) -> list[str]:
    """Return the arguments of bubblewrap. Each mounts something, and a later mount covers what earlier ones show.
    `temporary` is the folder that becomes `/tmp` in the sandbox."""
    # All capabilities are dropped. Otherwise a command of root could unmount what protects the files.
    arguments = [
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--unshare-all",
        *(["--share-net"] if sandbox.network else []),
        *(["--new-session"] if sandbox.has_own_session else []),
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
    # Each protected folder gets a mount of its own: otherwise a command could rename it, and make another one in its
    # place.
    for path in _list_read_only(changeable, protected):
        arguments += ["--ro-bind", str(path), str(path)]
    for path in _list_sockets(changeable):
        arguments += ["--ro-bind", "/dev/null", str(path)]
    for path in _list_existing((*(home / name for name in _SECRETS), *_list_own_folders(), *sandbox.hidden)):
        arguments += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
    for path in _list_existing(sandbox.readable):
        arguments += ["--ro-bind", str(path), str(path)]
    for name in _SOCKET_VARIABLES:
        arguments += ["--unsetenv", name]
    return [*arguments, "--"]


def _list_existing(paths: tuple[Path, ...]) -> list[Path]:
    """Return the real paths of the files and folders that exist, in the given order and each once. A path in a folder
    that this user may not enter counts as missing."""
    return list(dict.fromkeys(path.resolve() for path in paths if os.path.exists(path)))  # noqa: PTH110  # Path.exists raises


def _list_own_folders() -> Iterator[Path]:
    """Yield the folders with our chats, our keys and the tokens of Jupyter, if environment variables name other folders
    than the usual ones."""
    for variable, name in (("JUPYTER_DATA_DIR", "eca"), ("JUPYTER_DATA_DIR", "runtime"), ("XDG_CONFIG_HOME", "eca")):
        if value := os.environ.get(variable):
            yield Path(value) / name
    if value := os.environ.get("JUPYTER_RUNTIME_DIR"):
        yield Path(value)


def _list_read_only(changeable: list[Path], protected: ProtectedFiles) -> list[Path]:
    """Return the files and folders that a command cannot change although they are in a folder that it may change. A
    link is followed: the file that it leads to is read-only too."""
    paths = _list_existing((*protected.found, *_list_program_folders()))
    return [path for path in paths if any(path.is_relative_to(root) and path != root for root in changeable)]


def _list_program_folders() -> list[Path]:
    """Return the folder of the Python environment of this process, and the folders in which it finds programs. It
    starts programs and kernels from there, outside of the sandbox."""
    return _list_existing((Path(sys.prefix), *map(Path, filter(os.path.isabs, os.get_exec_path()))))


def _list_sockets(changeable: list[Path]) -> list[Path]:
    """Return the paths of Unix sockets at which other programs of this machine wait, and to which this user may
    connect. Without a mount over them, a command in the sandbox could connect too, even without a network."""
    try:
        lines = _SOCKETS.read_text(errors="surrogateescape").splitlines()[1:]
    except OSError:
        return []
    rows = [line.split(maxsplit=7) for line in lines]  # the path comes last, and most sockets have none
    paths = dict.fromkeys(Path(row[7]) for row in rows if len(row) > 7 and row[7].startswith("/"))
    visible = (  # in the sandbox
        path
        for path in paths
        if not any(map(path.is_relative_to, REPLACED)) or any(map(path.is_relative_to, changeable))
    )
    return [path for path in visible if os.access(path, os.W_OK) and path.is_socket()]


def _forget_sockets(env: tuple[str, ...]) -> list[str]:
    """Return the beginning of a command that starts another program without the variables in `_SOCKET_VARIABLES`.
    `env` is the path of the program `env`, and options for it, if there are any."""
    return [*env, *(argument for name in _SOCKET_VARIABLES for argument in ("-u", name))]


def build_seatbelt_profile(sandbox: Sandbox, home: Path, protected: ProtectedFiles) -> str:
    """Return the profile for `sandbox-exec`: rules in its own language, of which the last one that fits decides."""
    changeable = _list_existing((*sandbox.roots, *sandbox.writable))
    secrets = _list_existing((*(home / name for name in _SECRETS), *_list_own_folders(), *sandbox.hidden))
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write* (subpath "/dev") (subpath "/private/var/folders") (subpath "/private/tmp"))',
        *(f"(allow file-write* (subpath {_quote(path)}))" for path in changeable),
        *(f"(deny file-write* (subpath {_quote(path)}))" for path in _list_read_only(changeable, protected)),
        *(f"(deny file-read* file-write* (subpath {_quote(path)}))" for path in secrets),
        *(f"(allow file-read* (literal {_quote(path)}))" for path in _list_existing(sandbox.readable)),
        "(deny process-info* (target others))",
        "(deny signal (target others))",
    ]
    return "\n".join(lines if sandbox.network else [*lines, "(deny network*)"])


def _quote(path: Path) -> str:
    """Return a path as a string of the profile's language."""
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
