"""What Tab offers after `%eca` and in `%%eca`: our commands and options, `/` commands, and files after `@` and `#`. It
answers no prompt; `options` lists the commands and `magic` installs it.

The engine is asked for `/` commands and files. A Tab must never hang, so what does not come in time is not offered. In
a kernel, the answer to a Tab can be awaited. In a terminal it cannot, because the loop does not run meanwhile: there
the offers of the last Tab are used.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.options import COMMANDS, OPTIONS
from jupyter_eca.apps.kernel.surroundings import kernel_of
from jupyter_eca.errors import EcaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.apps.kernel.cell_session import CellSession
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.transport.eca_client import EcaClient

# Seconds until a Tab gives up. Longer feels broken, and within this time a file index has been read once.
PATIENCE: Final = 1.0

_CELL = re.compile(r"\s*%%eca(?![\w?])")
_LINE = re.compile(r"\s*%eca(?![\w?])")
# A command stands at the beginning of the message; a file stands anywhere, perhaps in quotes.
_COMMAND = re.compile(r"(?:\s*%%?eca\s(?:\s*-[mbv]\s+\S+|\s*-n)*\s*|\s*)(?P<word>/[\w.:-]*)$")
_POINTED = re.compile(r"""(?:^|(?<=[\s(\[{<']))[@#](?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"'`@#!<>|*?]*))$""")


@dataclass(frozen=True, slots=True)
class Word:
    """The word that is being typed. `mark` is `/` or `@`; `start` is where the text after the mark begins in the
    code."""

    mark: str
    text: str
    start: int
    quoted: bool = False


def word_at(code: str, cursor: int) -> Word | None:
    """Return the command or the file at the cursor, in code that asks the assistant."""
    before = code[:cursor]
    begin = before.rfind("\n") + 1
    line = before[begin:]
    in_cell = _CELL.match(code) is not None
    if not (in_cell or _LINE.match(line)):
        return None
    first = not in_cell or not before.partition("\n")[2].rpartition("\n")[0].strip()
    if first and (match := _COMMAND.match(line)):
        return Word("/", match["word"][1:], begin + match.start("word") + 1)
    if match := _POINTED.search(line):
        group = "plain" if match["quoted"] is None else "quoted"
        return Word("@", match[group], begin + match.start(group), group == "quoted")
    return None


class Completion:
    """The completion of one shell, from `install` to `remove`."""

    def __init__(self, session: CellSession) -> None:
        self._shell = session.shell
        self._session = session
        self._offered: dict[str, list[str]] = {}
        self._connecting: asyncio.Task[Any] | None = None

    def install(self) -> None:
        for trigger in (r"%?eca", r"%%eca"):
            self._shell.set_hook("complete_command", self._names, re_key=f"^{trigger}.*")
        if (kernel := kernel_of(self._shell)) is not None:
            self._before = kernel.do_complete
            kernel.do_complete = self._complete

    def remove(self) -> None:
        """Restore the kernel's Tab. IPython has no way to remove a hook."""
        if (kernel := kernel_of(self._shell)) is not None:
            kernel.do_complete = self._before
        if self._connecting is not None:
            self._connecting.cancel()

    async def _complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Complete our words in place of ipykernel's `do_complete`, which completes the rest."""
        as_prompt = getattr(kernel_of(self._shell), "as_prompt", None)
        prompt, before = as_prompt(code) if as_prompt is not None else (code, 0)
        word = word_at(prompt, cursor_pos + before)
        if word is None:
            reply = self._before(code, cursor_pos)
            return await reply if inspect.isawaitable(reply) else reply
        try:
            async with asyncio.timeout(PATIENCE):
                names = await self._find(await self._client(), word)
        except (EcaError, TimeoutError):
            names = []
        return {
            "status": "ok",
            "matches": names,
            "cursor_start": word.start - before,
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    async def _client(self) -> EcaClient:
        """Return the client. A Tab that gives up does not cancel the connection: the next Tab can use it."""
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.ensure_future(self._session.connect(unattended=False))
        return await asyncio.shield(self._connecting)

    async def _find(self, client: EcaClient, word: Word) -> list[str]:
        chat = self._session.engine.chat
        if word.mark == "/":
            names = [command.name for command in await client.list_commands(chat, word.text)]
            return [name for name in names if name.startswith(word.text)] or names
        # Relative names start at the engine's folder, which may be another one than the kernel's.
        folder = self._session.engine.folder
        contexts = await client.list_contexts(chat, word.text)
        return [name for context in contexts if (name := _name_of(context, folder, quoted=word.quoted))]

    async def learn(self, client: EcaClient) -> None:
        """Remember what a terminal's Tab offers until the next question."""
        if kernel_of(self._shell) is None:
            try:
                async with asyncio.timeout(PATIENCE):
                    for mark in "/@":
                        self._offered[mark] = await self._find(client, Word(mark, "", 0))
            except (EcaError, TimeoutError):
                return

    def _names(self, _completer: Any, event: Any) -> list[str]:
        word = word_at(event.line, len(event.line))
        if word is not None:
            return _same_cut(self._offered.get(word.mark, ()), word, event.symbol)
        words = event.line.split()
        before = words[-1] if event.line.endswith(" ") else (words[-2] if len(words) > 1 else "")
        setup = self._session.engine.setup
        match before:
            case "use" | "-m":
                return list(setup.models if setup else ())
            case "-b":
                return list(setup.agents if setup else ("code", "plan"))
            case "-v":
                return list(setup.variants if setup else ())
            case _:
                return [name.partition(" ")[0] for name in COMMANDS] + list(OPTIONS)


def _name_of(context: ChatContext, folder: str, *, quoted: bool) -> str:
    """Return how a message names it; empty for what only a page can send."""
    if context.type in {"file", "directory"}:
        return _as_typed(getattr(context, "path", ""), folder, quoted=quoted)
    return _as_typed(getattr(context, "label", ""), "", quoted=quoted)


def _as_typed(path: str, folder: str, *, quoted: bool) -> str:
    """Return the path as it is typed after the mark."""
    path = path.removeprefix(f"{folder}{os.sep}") if folder else path
    return f'"{path}"' if " " in path and not quoted else path


def _same_cut(offered: Iterable[str], word: Word, symbol: str) -> list[str]:
    """Prepare the offers for IPython, which replaces `symbol`: it may begin before the word (at the `/`) or after it
    (at a `"`)."""
    prefix = symbol[: len(symbol) - len(word.text)] if symbol.endswith(word.text) else ""
    return [f"{prefix}{name}" for name in offered]
