"""Owns the completion with Tab after `%eca` and in `%%eca`. It completes our commands and options, `/` commands, and
files after `@` and `#`.

The engine knows the `/` commands and the files, so it is asked for them. Tab must never hang, so an answer that does
not come in time is not shown. In a kernel, the answer can be awaited. In a terminal it cannot, because the event loop
does not run while the user types. There Tab uses names that were requested after the last question.

It must not know how a prompt is answered. `options` lists the commands, and `magic` installs the completion.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.apps.kernel.front_end import get_kernel
from jupyter_eca.apps.kernel.options import CHAT_COMMANDS, COMMANDS, OPTIONS
from jupyter_eca.errors import EcaError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.apps.kernel.cell_session import CellSession
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.transport.eca_client import EcaClient

# Seconds that Tab waits for an answer. After a longer wait the user would think that Tab is broken. In this time the
# engine can build its index of files.
ANSWER_SECONDS: Final = 1.0

# A cell, or a line, that asks the assistant. `%eca?` asks IPython for help instead.
_CELL = re.compile(r"\s*%%eca(?![\w?])")
_LINE = re.compile(r"\s*%eca(?![\w?])")
# A `/` command is at the beginning of the message. A file may be anywhere, and may be in quotes.
_COMMAND = re.compile(r"(?:\s*%%?eca\s(?:\s*-[mbv]\s+\S+|\s*-n)*\s*|\s*)(?P<word>/[\w.:-]*)$")
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<']))[@#](?:"(?P<quoted>[^"\n]*)|(?P<plain>[^\s"'`@#!<>|*?]*))$""")


@dataclass(frozen=True, slots=True)
class TypedWord:
    """The word that is being typed: a `/` command, or a file after `@` or `#`."""

    mark: str
    """`/` for a command, `@` for a file."""
    text: str
    """The text after the mark."""
    start: int
    """The offset of `text` in the code."""
    quoted: bool = False
    """Whether the text is in quotes that are still open."""


def find_word(code: str, cursor: int) -> TypedWord | None:
    """Return the command or the file that ends at the offset `cursor`. Return None if there is none, or if the code
    does not ask the assistant."""
    before = code[:cursor]
    begin = before.rfind("\n") + 1
    line = before[begin:]
    in_cell = _CELL.match(code) is not None
    if not (in_cell or _LINE.match(line)):
        return None
    # Whether nothing was written between the line with the magic and this one: then the message can begin here.
    begins_message = not in_cell or not before.partition("\n")[2].rpartition("\n")[0].strip()
    if begins_message and (match := _COMMAND.match(line)):
        return TypedWord("/", match["word"][1:], begin + match.start("word") + 1)
    if match := _MENTION.search(line):
        group = "plain" if match["quoted"] is None else "quoted"
        return TypedWord("@", match[group], begin + match.start(group), group == "quoted")
    return None


class Completion:
    """The completion of one shell, from `install` to `remove`."""

    def __init__(self, session: CellSession) -> None:
        self._shell = session.shell
        self._session = session
        self._suggestions: dict[str, list[str]] = {}  # for a terminal: the names that Tab shows after each mark
        self._connecting: asyncio.Task[Any] | None = None  # the task that connects to the engine, started by Tab

    def install(self) -> None:
        """Replace the kernel's completion by ours, and add the hooks of `_complete_at_once`."""
        for trigger in (r"%?eca", r"%%eca"):
            self._shell.set_hook("complete_command", self._complete_at_once, re_key=f"^{trigger}.*")
        if (kernel := get_kernel(self._shell)) is not None:
            self._original_do_complete = kernel.do_complete
            kernel.do_complete = self._complete

    def remove(self) -> None:
        """Restore the kernel's own completion. The hooks stay, because IPython cannot remove a hook."""
        if (kernel := get_kernel(self._shell)) is not None:
            kernel.do_complete = self._original_do_complete
        if self._connecting is not None:
            self._connecting.cancel()

    async def _complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Complete commands and files of the assistant. This replaces ipykernel's `do_complete`, and calls it for all
        other words. `cursor_pos` is the offset of the cursor in the code. It returns the content of Jupyter's message
        `complete_reply`."""
        # In the kernel `eca`, a cell without a magic is a prompt. `%%eca` is added here before its text:
        # `prefix_length` is the number of characters that were added.
        add_prompt_magic = getattr(get_kernel(self._shell), "add_prompt_magic", None)
        prompt, prefix_length = add_prompt_magic(code) if add_prompt_magic is not None else (code, 0)
        word = find_word(prompt, cursor_pos + prefix_length)
        if word is None:
            reply = self._original_do_complete(code, cursor_pos)
            return await reply if inspect.isawaitable(reply) else reply
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                names = await self._request_names(await self._wait_for_client(), word)
        except (EcaError, TimeoutError):
            names = []
        return {
            "status": "ok",
            "matches": names,
            "cursor_start": word.start - prefix_length,
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    async def _wait_for_client(self) -> EcaClient:
        """Return the client, and connect it to the engine if needed. If Tab does not wait any longer, the connecting
        continues, so that the next Tab can use the connection."""
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.ensure_future(self._session.connect(unattended=False))
        return await asyncio.shield(self._connecting)

    async def _request_names(self, client: EcaClient, word: TypedWord) -> list[str]:
        """Ask the engine for the names that complete a word."""
        chat = self._session.engine.chat
        if word.mark == "/":
            names = [command.name for command in await client.list_commands(chat, word.text)]
            return [name for name in names if name.startswith(word.text)] or names
        # Relative paths start at the engine's folder, which may not be the kernel's folder.
        folder = self._session.engine.folder
        contexts = await client.list_contexts(chat, word.text)
        return [name for context in contexts if (name := _format_context(context, folder, quoted=word.quoted))]

    async def remember_suggestions(self, client: EcaClient) -> None:
        """In a terminal, request the names that Tab shows until the next question."""
        if get_kernel(self._shell) is None:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    for mark in "/@":
                        self._suggestions[mark] = await self._request_names(client, TypedWord(mark, "", 0))
            except (EcaError, TimeoutError):
                return

    def _complete_at_once(self, _completer: Any, event: Any) -> list[str]:
        """Complete a word without waiting: in a terminal every word, in a kernel only options and our commands. IPython
        calls this hook for lines that begin with `%eca` or `%%eca`. `event` has the line and the symbol that is
        completed."""
        word = find_word(event.line, len(event.line))
        if word is not None:
            return _adapt_to_symbol(self._suggestions.get(word.mark, ()), word, event.symbol)
        words = event.line.split()
        # The word before the one that is being typed decides what can be typed.
        previous_word = words[-1] if event.line.endswith(" ") else (words[-2] if len(words) > 1 else "")
        setup = self._session.engine.setup
        match previous_word:
            case "use" | "-m":
                return list(setup.models if setup else ())
            case "-b" | "--agent":
                return list(setup.agents if setup else ("code", "plan"))
            case "-v":
                return list(setup.variants if setup else ())
            case _:
                return [name.partition(" ")[0] for name in (*COMMANDS, *CHAT_COMMANDS)] + list(OPTIONS)


def _format_context(context: ChatContext, folder: str, *, quoted: bool) -> str:
    """Return how a message names a context, such as a file; empty for a context that only a page can send. `quoted`:
    the user has typed a quotation mark before it."""
    if context.type in {"file", "directory"}:
        return _format_path(getattr(context, "path", ""), folder, quoted=quoted)
    return _format_path(getattr(context, "label", ""), "", quoted=quoted)


def _format_path(path: str, folder: str, *, quoted: bool) -> str:
    """Return a path as the user types it after the mark: relative to the folder, and in quotes if it has spaces.
    `quoted`: the user has typed the quotation mark already."""
    path = path.removeprefix(f"{folder}{os.sep}") if folder else path
    return f'"{path}"' if " " in path and not quoted else path


def _adapt_to_symbol(names: Iterable[str], word: TypedWord, symbol: str) -> list[str]:
    """Return the names in the form that IPython needs. IPython replaces `symbol` by a name. The symbol may begin before
    our word, with the `/`: then each name must begin with the `/`, too. If it begins later, after a `"`, the names are
    returned unchanged."""
    prefix = symbol[: len(symbol) - len(word.text)] if symbol.endswith(word.text) else ""
    return [f"{prefix}{name}" for name in names]
