"""Owns the placeholders in the strings of a configuration, for example `${env:NAME}` (ECA, "dynamic string contents").

It must not know any key. `layers` is its neighbour: it reads the strings.

`${python}` is ours: the Python that the assistant runs in. If Jupyter was not started from an activated environment,
the `python` on its PATH is another one, or missing. A project could not name its own tool server otherwise.

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

    from jupyter_eca.config.schema import State

# A password manager may ask its owner. A command that takes longer than this waits for an answer that never comes.
COMMAND_SECONDS = 30.0

_DYNAMIC = re.compile(r"\$\{(?:(env|file|netrc|cmd|classpath):([^}]*)|python)\}")
# A command may contain braces (`awk '{print $1}'`) if it is the whole string.
_COMMAND = re.compile(r"\$\{cmd:(.*)\}", re.DOTALL)


@dataclass
class ReadingNotes:
    """What was found while the configuration is read."""

    warnings: list[str] = field(default_factory=list[str])
    """Sentences for the user."""
    watched: dict[str, State | None] = field(default_factory=dict[str, "State | None"])
    """The state of each file that was read or looked for."""
    commands: dict[str, str] = field(default_factory=dict[str, str])
    """The output of each command, so that it runs only once."""

    def watch(self, path: Path) -> None:
        """Remember the state of a path. Call this before the path is read, so that no change is missed."""
        self.watched.setdefault(str(path), read_file_state(path))


@dataclass(frozen=True)
class Layer:
    """Fills in the placeholders of one layer, within the limits of that layer."""

    where: str
    """The name of the layer in warnings."""
    folder: Path
    """Where relative paths start."""
    environment: Mapping[str, str]
    found: ReadingNotes
    own: bool = False
    """Whether this is the user's own configuration. Only that may run commands."""
    within: Path | None = None
    """The folder that a project's configuration may not leave, because somebody else may have written it."""

    def fill(self, value: Any, netrc_file: str | None = None) -> Any:
        """Return the value with the placeholders in all its strings filled in."""
        match value:
            case str():
                if command := _COMMAND.fullmatch(value):
                    return _register_secret(self._command(command[1]))
                return _DYNAMIC.sub(lambda part: self._fill_part(part[1], part[2], netrc_file), value)
            case dict():
                return {name: self.fill(item, netrc_file) for name, item in cast("dict[str, Any]", value).items()}
            case list():
                return [self.fill(item, netrc_file) for item in cast("list[Any]", value)]
            case _:
                return value

    def path(self, text: str) -> Path:
        """Return a path. A relative path starts at the folder of the layer; `~` is the user's home."""
        home = self.environment.get("HOME")
        return self.folder / (home + text[1:] if home and text.startswith("~/") else Path(text).expanduser())

    def _fill_part(self, kind: str | None, argument: str, netrc_file: str | None) -> str:
        match kind:
            case None:
                return sys.executable
            case "env":
                name, _, default = argument.partition(":")
                redaction.register_named_secret(name, self.environment.get(name, ""))
                return self.environment.get(name) or default
            case "file":
                return _register_secret(self._file(argument))
            case "netrc":
                return _register_secret(self._netrc(argument, netrc_file))
            case "cmd":
                return _register_secret(self._command(argument))
            case _:
                return ""  # a resource of ECA's own program: an empty value selects our own text

    def _warn(self, sentence: str) -> str:
        self.found.warnings.append(f"{self.where}: {sentence}")
        return ""

    def _file(self, name: str) -> str:
        try:
            path = self.path(name).resolve()
            if self.within is not None and not path.is_relative_to(self.within.resolve()):
                return self._warn(f"${{file:{name}}} is outside of the project and was not read.")
            self.found.watch(path)
            return front_matter.decode_text(read_resolved(path, MAX_TEXT_BYTES)).replace("\r\n", "\n").strip()
        except (OSError, ValueError, RuntimeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            return self._warn(f"${{file:{name}}} cannot be read: {reason}.")

    def _netrc(self, argument: str, netrc_file: str | None) -> str:
        from netrc import NetrcParseError, netrc

        machine, _, wanted = argument.partition("/")
        user, _, machine = machine.rpartition("@")
        home = Path(self.environment.get("HOME") or Path.home())
        files = [self.path(netrc_file)] if netrc_file else [home / ".netrc", home / "_netrc"]
        file = next((file for file in files if file.is_file()), files[0])
        self.found.watch(file)
        try:
            read_regular(file, MAX_TEXT_BYTES)  # `netrc` would wait for ever for the end of a pipe
            login, account, password = netrc(str(file)).hosts[machine]
        except (OSError, NetrcParseError, UnicodeError):
            return self._warn(f"${{netrc:{argument}}}: {file} cannot be read.")
        except KeyError:
            return self._warn(f"${{netrc:{argument}}}: {file} has no such machine.")
        if user and user != login:
            return self._warn(f"${{netrc:{argument}}}: {file} has another login for that machine.")
        return {"login": login, "account": account}.get(wanted, password) or ""

    def _command(self, command: str) -> str:
        if not self.own:
            return self._warn("${cmd:...} runs only from your own configuration (~/.config/eca); it was left empty.")
        if command not in self.found.commands:
            self.found.commands[command] = self._run(command)
        return self.found.commands[command]

    def _run(self, command: str) -> str:
        # The warning does not quote stderr, which may contain the secret.
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
    """Register a value as a secret, unless it looks like a text or a path. A prompt may be in a file too."""
    if not (re.search(r"\s", value) or value.startswith(("/", "~", "http"))):
        redaction.register_secret(value)
    return value


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill a process and its children. A child that survives would keep the pipe open that we read to its end."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
