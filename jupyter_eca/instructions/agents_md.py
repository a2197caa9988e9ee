"""`AGENTS.md` of each folder of the workspace (with `includeParentAgentsFiles` also of the folders above), and the
user's own. It knows no rule: `rules` beside it does.

A project's files may name only what is in the workspace, the user's own also what lies beside them: whoever writes a
project must not have other files read. What cannot be included is told once, and where it is named.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import folders
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import text_files

if TYPE_CHECKING:
    from jupyter_eca.instructions.base import InstructionContext

NAME: Final = "AGENTS.md"

# Of all of them together.
MAX_CHARS: Final = 200_000

# As ECA finds them, but not in the middle of a word: an address of mail is none.
_MENTION: Final = re.compile(r"(?<![\w@./])@([^\s)]+\.\w+)")
_FENCE: Final = re.compile(r"[ \t]*(```|~~~)")
_SPAN: Final = re.compile(r"`[^`\n]*`")


async def sections(place: InstructionContext) -> tuple[Section, ...]:
    reading = _Reading(place)
    await asyncio.to_thread(reading.run)
    return tuple(reading.found)


@dataclass
class _Reading:
    place: InstructionContext
    found: list[Section] = field(default_factory=list[Section])
    seen: set[Path] = field(default_factory=set[Path])
    chars: int = 0

    def run(self) -> None:
        roots = tuple(root.resolve() for root in self.place.files.roots)
        for root in roots:
            above = reversed(root.parents) if self.place.config.include_parent_agents_files else ()
            for folder in above:
                self._first(folder / NAME, (*roots, folder))
            self._first(root / NAME, roots)
        own = folders.get_user_folder()
        file = own / NAME
        # Whoever keeps their own as links into another folder keeps what it names there too.
        self._first(file, (*roots, own.resolve(), file.resolve().parent))

    def _first(self, path: Path, may: tuple[Path, ...]) -> None:
        """Read a file that begins a chain. It need not exist, because nobody named it."""
        if not path.is_file():
            return
        if not text_files.within(path, may):
            self.place.warn(f"{path} leads out of the workspace and was not read.")
        elif path.resolve() not in self.seen:
            self._include(path.resolve(), may, (), str(path))

    def _include(self, path: Path, may: tuple[Path, ...], chain: tuple[Path, ...], named: str) -> None:
        """Include a file. `chain` are the files on the way here, `named` is where this one is named."""
        self.seen.add(path)
        try:
            text = text_files.read_text(path)
            if self.chars + len(text) > MAX_CHARS:
                raise ValueError(f"with it there would be more than {MAX_CHARS:,} characters")
        except ValueError as error:
            self.place.warn(f"{named}: left out, {error}.")
            return
        self.chars += len(text)
        shown = self.place.files.shorten(path)
        if text:
            self.found.append(Section(shown, f'<agents-file path="{shown}">\n{text}\n</agents-file>'))
        for number, mention, sure in _mentions(text):
            self._mention(path, mention, f"{path}:{number}: @{mention}", may, (*chain, path), sure=sure)

    def _mention(
        self, path: Path, mention: str, named: str, may: tuple[Path, ...], chain: tuple[Path, ...], *, sure: bool
    ) -> None:
        try:
            real = (path.parent / Path(mention).expanduser()).resolve()
            there = real.exists()
        except (OSError, RuntimeError, ValueError):
            real, there = path, False
        if not there:
            if sure:
                self.place.warn(f"{named}: left out, it is not there.")
        elif not text_files.within(real, may):
            self.place.warn(f"{named}: left out, it is outside of the workspace.")
        elif real in chain:
            self.place.warn(f"{named}: left out, it includes itself.")
        elif real not in self.seen:
            self._include(real, may, chain, named)


def _mentions(text: str) -> list[tuple[int, str, bool]]:
    """Return the mentions with their lines, and whether each is certain: in code an `@` may mean anything."""
    found: list[tuple[int, str, bool]] = []
    fenced = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and fenced in {"", fence[1]}:
            fenced = "" if fenced else fence[1]
            continue
        spans = [span.span() for span in _SPAN.finditer(line)]
        for mention in _MENTION.finditer(line):
            coded = fenced or any(start <= mention.start() < end for start, end in spans)
            found.append((number, mention[1], not coded))
    return found
