"""Fills in the placeholders in the strings of a configuration, such as `${env:NAME}`. The placeholders are those of
ECA.

A configuration has several *layers*: the user's file, the file of each project, and others. What a placeholder may do
depends on its layer: only the user's own file may run commands. This module must not know any key. `layers` is its
neighbour: it reads the layers.

`${python}` is ours: the path of the Python that runs the assistant. If Jupyter was not started from an activated
environment, the `python` on its PATH is another one, or does not exist. Without this placeholder, a project could not
name a tool server that is installed beside the assistant.

A placeholder without a value becomes empty, with a warning. The warning names the layer, and never a value, because
most values are keys.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca import redaction
from jupyter_eca.config import front_matter
from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular, read_resolved
from jupyter_eca.config.schema import read_file_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config.schema import FileState

# A command may be a password manager, which asks its owner. After this time, nobody is going to answer.
COMMAND_SECONDS = 30.0

# A placeholder: `${env:NAME}`, `${python}` and others.
_PLACEHOLDER = re.compile(r"\$\{(?:(env|file|netrc|cmd|classpath):([^}]*)|python)\}")
# A command may contain braces (`awk '{print $1}'`) if it is the whole string.
_COMMAND = re.compile(r"\$\{cmd:(.*)\}", re.DOTALL)


@dataclass
class ReadLog:
    """Collects warnings and files while a configuration is read."""

    warnings: list[str] = field(default_factory=list[str])
    """Sentences for the user."""
    watched: dict[str, FileState | None] = field(default_factory=dict[str, "FileState | None"])
    """The state of each file that was read, or that did not exist."""
    commands: dict[str, str] = field(default_factory=dict[str, str])
    """The output of each command, so that each command runs only once."""

    def watch(self, path: Path) -> None:
        """Remember the state of a file. Call this before the file is read, so that no change is missed."""
        self.watched.setdefault(str(path), read_file_state(path))


@dataclass(frozen=True)
class Layer:
    """Fills in the placeholders of one layer, within the limits of that layer."""

    label: str
    """The name of the layer in warnings: the path of its file, or a few words."""
    folder: Path
    """The folder that relative paths start at."""
    environment: Mapping[str, str]
    """The variables for `${env:NAME}`."""
    read_log: ReadLog
    """Collects the warnings, and the files that are read."""
    is_own: bool = False
    """Whether this is the user's own configuration. Only the user's own may run commands."""
    within: Path | None = None
    """For a project's configuration: the folder outside of which no file is read, because somebody else may have
    written the configuration. None for no such limit."""

    def fill(self, value: Any, netrc_file: str | None = None) -> Any:
        """Return the value with the placeholders in all its strings filled in, at any depth.

        `netrc_file` is the file for `${netrc:machine}`; None for `~/.netrc`.
        """
        match value:
            case str():
                if command := _COMMAND.fullmatch(value):
                    return _register_secret(self._run_once(command[1]))
                return _PLACEHOLDER.sub(lambda part: self._fill_part(part[1], part[2], netrc_file), value)
            case dict():
                return {name: self.fill(item, netrc_file) for name, item in cast("dict[str, Any]", value).items()}
            case list():
                return [self.fill(item, netrc_file) for item in cast("list[Any]", value)]
            case _:
                return value

    def resolve_path(self, text: str) -> Path:
        """Return an absolute path. A relative one starts at the folder of the layer; `~` is the user's home."""
        home = self.environment.get("HOME")
        return self.folder / (home + text[1:] if home and text.startswith("~/") else Path(text).expanduser())

    def _fill_part(self, kind: str | None, argument: str, netrc_file: str | None) -> str:
        """Return the value of one placeholder. `kind` is None for `${python}`."""
        match kind:
            case None:
                return sys.executable
            case "env":
                name, _, default = argument.partition(":")
                redaction.register_named_secret(name, self.environment.get(name, ""))
                return self.environment.get(name) or default
            case "file":
                return _register_secret(self._read_file(argument))
            case "netrc":
                return _register_secret(self._read_netrc(argument, netrc_file))
            case "cmd":
                return _register_secret(self._run_once(argument))
            case _:
                return ""  # `classpath` is a resource of ECA's own program; an empty value selects our own text

    def _warn(self, sentence: str) -> str:
        """Add a warning, and return the empty value of the placeholder."""
        self.read_log.warnings.append(f"{self.label}: {sentence}")
        return ""

    def _read_file(self, name: str) -> str:
        """Return the text of a file for `${file:name}`; empty, with a warning, when it cannot or must not be read."""
        try:
            path = self.resolve_path(name).resolve()
            if self.within is not None and not path.is_relative_to(self.within.resolve()):
                return self._warn(f"${{file:{name}}} is outside of the project and was not read.")
            self.read_log.watch(path)
            return front_matter.decode_text(read_resolved(path, MAX_TEXT_BYTES)).replace("\r\n", "\n").strip()
        except (OSError, ValueError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            return self._warn(f"${{file:{name}}} cannot be read: {reason}.")

    def _read_netrc(self, argument: str, netrc_file: str | None) -> str:
        """Return a value from a netrc file. The argument is `[USER@]MACHINE[/login|/account|/password]`."""
        from netrc import NetrcParseError, netrc

        machine, _, entry = argument.partition("/")
        user, _, machine = machine.rpartition("@")
        home = Path(self.environment.get("HOME") or Path.home())
        files = [self.resolve_path(netrc_file)] if netrc_file else [home / ".netrc", home / "_netrc"]
        file = next((file for file in files if file.is_file()), files[0])
        self.read_log.watch(file)
        try:
            read_regular(file, MAX_TEXT_BYTES)  # `netrc` would wait forever for the end of a pipe
            login, account, password = netrc(str(file)).hosts[machine]
        except (OSError, NetrcParseError, UnicodeError):
            return self._warn(f"${{netrc:{argument}}}: {file} cannot be read.")
        except KeyError:
            return self._warn(f"${{netrc:{argument}}}: {file} has no such machine.")
        if user and user != login:
            return self._warn(f"${{netrc:{argument}}}: {file} has another login for that machine.")
        return {"login": login, "account": account}.get(entry, password) or ""

    def _run_once(self, command: str) -> str:
        """Return the output of a command, which runs only once for each configuration."""
        if not self.is_own:
            return self._warn("${cmd:...} runs only from your own configuration (~/.config/eca); it was left empty.")
        if command not in self.read_log.commands:
            self.read_log.commands[command] = self._run_command(command)
        return self.read_log.commands[command]

    def _run_command(self, command: str) -> str:
        """Run a command in a shell, and return its output; empty, with a warning, when it fails."""
        # The warning does not quote stderr, which may contain a secret.
        process = subprocess.Popen(  # noqa: S602  # the user's own words in the user's own file
            command, shell=True, text=True, encoding="utf-8", errors="replace", env=dict(self.environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        with process:
            try:
                output, _ = process.communicate(timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                _kill(process)
                return self._warn(f"a ${{cmd:...}} did not end in {COMMAND_SECONDS:g} s and was stopped.")
        if process.returncode != 0:
            return self._warn(f"a ${{cmd:...}} ended with status {process.returncode}.")
        return output.strip()


def _register_secret(value: str) -> str:
    """Register a value as a secret, and return it. A value that looks like a text or a path is not registered, because
    a placeholder may also stand for a prompt in a file."""
    if not (re.search(r"\s", value) or value.startswith(("/", "~", "http"))):
        redaction.register_secret(value)
    return value


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and its children. A child that survives would keep the pipe open, and we would read it forever."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
