"""A hook's program: what it is given, what it says, and that it ends. Nothing here waits for longer than it may."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.host.hooks.effects import HookReply
from jupyter_eca.workspace.jobs import shell
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from jupyter_eca.config.hooks import Action, Hook

# Bytes of each of its streams. A result that it replaces can be long; what writes more does not know where to end.
MAX_BYTES: Final = 1_048_576

_CHUNK: Final = 65_536

LATE: Final = "It did not end in {:g} s and was ended."
FLOODED: Final = f"It wrote more than {MAX_BYTES // 1_048_576} MiB and was ended."


@dataclass(frozen=True, slots=True)
class HookRun:
    """What a program left. It was ended by us if there is a `note`."""

    status: int
    output: str
    error: str
    note: str = ""

    def reply(self, hook: Hook, name: str) -> HookReply:
        error = "\n".join(part for part in (self.error.strip(), self.note) if part)
        return HookReply(name, 1 if self.note else self.status, self.output, error, hook.visible)


async def run(hook: Hook, action: Action, given: bytes, folder: Path) -> HookRun:
    """In a folder, with these bytes on its standard input. Who cancels this ends the program with all it started."""
    try:
        command = action.shell or await asyncio.to_thread(_script, hook, action.file or "", folder)
        process = await shell.start(
            command, folder, separate_errors=True, input_data=given, shell=shutil.which("bash") or ""
        )
    except ToolError as error:
        return HookRun(1, "", str(error))
    return await _read_output(process, hook.get_timeout_seconds(action))


async def _read_output(process: shell.ShellProcess, seconds: float) -> HookRun:
    output, errors = _Kept(process), _Kept(process)
    readers = [asyncio.ensure_future(output.read(process.output))]
    if process.errors is not None:
        readers.append(asyncio.ensure_future(errors.read(process.errors)))
    note = ""
    try:
        async with asyncio.timeout(seconds):
            await process.exited.wait()
    except TimeoutError:
        note = LATE.format(seconds)
    finally:
        await run_to_end(_end(process, readers))
    note = FLOODED if output.flooded or errors.flooded else note
    return HookRun(process.code or 0, output.text, errors.text, note)


async def _end(process: shell.ShellProcess, readers: list[asyncio.Task[None]]) -> None:
    """What it left running on purpose when it ended by itself is the user's business."""
    if not process.exited.is_set():
        await process.kill()
    await process.close(*readers)


class _Kept:
    def __init__(self, process: shell.ShellProcess) -> None:
        self._process = process
        self._bytes = bytearray()
        self.flooded = False

    async def read(self, stream: asyncio.StreamReader) -> None:
        while data := await stream.read(_CHUNK):
            self._bytes += data[: MAX_BYTES - len(self._bytes)]
            if len(self._bytes) >= MAX_BYTES and not self.flooded:
                self.flooded = True
                await self._process.kill()

    @property
    def text(self) -> str:
        """Without what is for a terminal, or is no text at all."""
        text = self._bytes.decode("utf-8", errors="replace")
        return text if text.isprintable() else "".join(map(_replace_control, text))


def _replace_control(character: str) -> str:
    plain = character in "\n\t\r" or unicodedata.category(character) != "Cc"
    return character if plain else "\N{REPLACEMENT CHARACTER}"


def _script(hook: Hook, file: str, folder: Path) -> str:
    """Beside the configuration that names it, else in the workspace. One that is not executable is read by the shell,
    as ECA has it. Blocks."""
    try:
        name = Path(file).expanduser()
        places = (Path(hook.folder) / name, folder / name) if hook.folder else (folder / name,)
        path = next((place for place in places if place.is_file()), None)
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"Its file {file!r} cannot be found: {error}.") from error
    if path is None:
        raise ToolError(f"There is no file {file!r}.")
    quoted = shlex.quote(str(path))
    return quoted if os.access(path, os.X_OK) else f'"${{BASH:-sh}}" {quoted}'
