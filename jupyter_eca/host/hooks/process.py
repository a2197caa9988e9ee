"""Runs the program of a hook: writes its input, reads its output, and ends it after its timeout.

It must not know what the output means: `hook_replies` reads it. `runner` decides which hooks run.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.host.hooks.hook_replies import HookReply
from jupyter_eca.workspace.jobs import shell
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config.hooks import Action, Hook
    from jupyter_eca.workspace.jobs.sandbox import Sandbox

# The bytes that are read of each output stream. A tool result that a hook replaces can be long. A program that writes
# more than this probably writes without end.
MAX_BYTES: Final = 1_048_576

# The most bytes that are read at once.
_CHUNK_BYTES: Final = 65_536

TIMED_OUT: Final = "It did not end in {:g} s and was ended."
TOO_MUCH_OUTPUT: Final = f"It wrote more than {MAX_BYTES // 1_048_576} MiB and was ended."


@dataclass(frozen=True, slots=True)
class HookRun:
    """A program that has ended."""

    status: int
    """The exit status."""
    output: str
    """What it wrote to standard output."""
    error: str
    """What it wrote to standard error."""
    note: str = ""
    """Why we ended the program, for the user. Empty if it ended by itself."""

    def as_reply(self, hook: Hook, name: str) -> HookReply:
        """Return the reply of the hook. A program that we ended has failed, whatever it has written."""
        error = "\n".join(part for part in (self.error.strip(), self.note) if part)
        return HookReply(name, 1 if self.note else self.status, self.output, error, hook.visible)


async def run(
    hook: Hook,
    action: Action,
    input: bytes,
    folder: Path,
    environment: Mapping[str, str],
    sandbox: Sandbox | None = None,
) -> HookRun:
    """Run a program in a folder, with these variables, and these bytes on its standard input. It runs in the sandbox,
    if that is given.

    When this is cancelled, the program and all processes that it started are ended.
    """
    try:
        script = None if action.shell else await asyncio.to_thread(_find_script, hook, action.file or "", folder)
        command = _build_script_command(script) if script else action.shell or ""
        prepared = None
        if sandbox is not None:
            # The script may be in the user's own folder of the assistant, which is hidden in the sandbox.
            hook_sandbox = replace(sandbox, readable=(script,) if script else ())
            prepared = await asyncio.to_thread(hook_sandbox.prepare)
        process = await shell.start(
            command,
            folder,
            environment,
            separate_errors=True,
            input_data=input,
            shell=shutil.which("bash") or "",
            sandbox=prepared,
        )
    except ToolError as error:
        return HookRun(1, "", str(error))
    ended = await _read_output(process, hook.get_timeout_seconds(action))
    # A note about protected files, such as scripts that run later without a question, that the program has changed.
    changes = await asyncio.to_thread(prepared.describe_changes) if prepared else ""
    return replace(ended, error=f"{ended.error}\n{changes}") if changes else ended


async def _read_output(process: shell.ShellProcess, seconds: float) -> HookRun:
    """Read both output streams until the program ends. End it after `seconds`."""
    output, errors = _BoundedReader(process), _BoundedReader(process)
    readers = [asyncio.ensure_future(output.read(process.output))]
    if process.errors is not None:
        readers.append(asyncio.ensure_future(errors.read(process.errors)))
    note = ""
    try:
        async with asyncio.timeout(seconds):
            await process.exited.wait()
    except TimeoutError:
        note = TIMED_OUT.format(seconds)
    finally:
        await run_to_end(_end(process, readers))
    note = TOO_MUCH_OUTPUT if output.is_full or errors.is_full else note
    return HookRun(process.code or 0, output.text, errors.text, note)


async def _end(process: shell.ShellProcess, readers: list[asyncio.Task[None]]) -> None:
    """Close the streams, which the tasks `readers` read, and kill the program if it still runs. A program that ended by
    itself may leave processes running on purpose: they are not killed."""
    if not process.exited.is_set():
        await process.kill()
    await process.close(*readers)


class _BoundedReader:
    """Reads one output stream up to `MAX_BYTES`, and kills the program that writes more."""

    def __init__(self, process: shell.ShellProcess) -> None:
        self._process = process
        self._bytes = bytearray()
        self.is_full = False
        """Whether the program wrote `MAX_BYTES` or more, and was killed."""

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read a stream to its end. What comes after `MAX_BYTES` is dropped."""
        while data := await stream.read(_CHUNK_BYTES):
            self._bytes += data[: MAX_BYTES - len(self._bytes)]
            if len(self._bytes) >= MAX_BYTES and not self.is_full:
                self.is_full = True
                await self._process.kill()

    @property
    def text(self) -> str:
        """The text that was read, with a replacement character for each control character."""
        text = self._bytes.decode("utf-8", errors="replace")
        return text if text.isprintable() else "".join(map(_replace_control, text))


def _replace_control(character: str) -> str:
    """Return the replacement character for a control character, which could change a terminal that shows the text."""
    is_plain = character in "\n\t\r" or unicodedata.category(character) != "Cc"
    return character if is_plain else "\N{REPLACEMENT CHARACTER}"


def _find_script(hook: Hook, file: str, folder: Path) -> Path:
    """Return the script of a hook. Blocks.

    It is looked up in the folder of the configuration file that names it, and then in the workspace. Raises: ToolError
    if it is not found.
    """
    try:
        name = Path(file).expanduser()
        places = (Path(hook.folder) / name, folder / name) if hook.folder else (folder / name,)
        path = next((place for place in places if place.is_file()), None)
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"Its file {file!r} cannot be found: {error}.") from error
    if path is None:
        raise ToolError(f"There is no file {file!r}.")
    return path


def _build_script_command(path: Path) -> str:
    """Return the shell command that runs a script. A script that is not executable is run by the shell, as in ECA."""
    quoted = shlex.quote(str(path))
    return quoted if os.access(path, os.X_OK) else f'"${{BASH:-sh}}" {quoted}'
