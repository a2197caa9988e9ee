"""Reads the `AGENTS.md` of each root folder of the workspace, and the one in the folder of the user's own files for the
assistant (usually `~/.config/eca`). In these files, people write instructions for assistants. With the setting
`includeParentAgentsFiles` it also reads those of the folders above the root folders.

A file can include other files by `@path`. A file of the project may include only files of the workspace, because the
author of a project must not make us read other files. The user's own file may also include files of its own folder. If
a file cannot be included, the user gets one warning, which says where the file is mentioned.

The module must not know rules: `rules.py` beside it does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import folders
from jupyter_eca.engine.model.texts import Section
from jupyter_eca.instructions import text_files
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.config import Config
    from jupyter_eca.instructions.instruction_context import InstructionContext
    from jupyter_eca.workspace.ports import Files

# The name of the files that this module reads.
NAME: Final = "AGENTS.md"

# The largest number of characters of all files together. Each request of a chat contains them.
MAX_CHARS: Final = 200_000

# A mention of a file, as in ECA: `@docs/style.md`. Unlike in ECA, it does not begin in the middle of a word, so that an
# e-mail address is no mention.
_MENTION: Final = re.compile(r"(?<![\w@./])@([^\s)]+\.\w+)")
# Code in Markdown: the line that begins or ends a block, and a part of a line.
_FENCE: Final = re.compile(r"[ \t]*(```|~~~)")
_SPAN: Final = re.compile(r"`[^`\n]*`")


async def list_sections(context: InstructionContext) -> tuple[Section, ...]:
    """Return a section for each file that was read."""
    reader = _AgentsFileReader(context.files, context.config, context.warn)
    await run_read(reader.run)
    return tuple(reader.sections)


def list_files_to_protect(files: Files, config: Config) -> frozenset[Path]:
    """Return the real paths of the files that are read, and of the files that are mentioned but do not exist: who
    writes one of these changes the instructions of the model. So a tool call that writes one needs an approval. This
    blocks.
    """
    # The user gets the warnings when the files are read for a turn.
    reader = _AgentsFileReader(files, config, lambda _: None)
    reader.run()
    return frozenset(reader.seen | reader.missing)


@dataclass
class _AgentsFileReader:
    """Reads the files of one turn."""

    files: Files
    """The files of the workspace."""
    config: Config
    """The configuration, which says whether files above the root folders are read."""
    warn: Callable[[str], None]
    """Shows a warning to the user."""
    sections: list[Section] = field(default_factory=list[Section])
    """The sections so far, one for each file."""
    seen: set[Path] = field(default_factory=set[Path])
    """The real paths of the files that were read. Each file is included once."""
    missing: set[Path] = field(default_factory=set[Path])
    """The paths that are mentioned and do not exist."""
    chars: int = 0
    """The number of characters so far."""

    def run(self) -> None:
        """Read all files, and store them in `sections`. This blocks."""
        roots = tuple(root.resolve() for root in self.files.roots)
        for root in roots:
            above = reversed(root.parents) if self.config.include_parent_agents_files else ()
            for folder in above:
                self._include_agents_file(folder / NAME, (*roots, folder))
            self._include_agents_file(root / NAME, roots)
        user_folder = folders.get_user_folder()
        file = user_folder / NAME
        # The user's file may be a link into another folder. The files that it mentions are then in that folder too.
        self._include_agents_file(file, (*roots, user_folder.resolve(), file.resolve().parent))

    def _include_agents_file(self, path: Path, allowed: tuple[Path, ...]) -> None:
        """Include an `AGENTS.md`. `allowed` are the folders that it and the files that it mentions may lie in. If there
        is no such file, no warning is needed, because no file mentions it."""
        if not path.is_file():
            return
        if not text_files.is_within(path, allowed):
            self.warn(f"{path} leads out of the workspace and was not read.")
        elif path.resolve() not in self.seen:
            self._include(path.resolve(), allowed, (), str(path))

    def _include(self, path: Path, allowed: tuple[Path, ...], chain: tuple[Path, ...], mention_place: str) -> None:
        """Include a file and the files that it mentions.

        `allowed` are the folders that files may lie in. `chain` are the files that led here by their mentions.
        `mention_place` says in a warning where this file is mentioned.
        """
        self.seen.add(path)
        try:
            text = text_files.read_text(path, allowed)
            if self.chars + len(text) > MAX_CHARS:
                raise ValueError(f"with it there would be more than {MAX_CHARS:,} characters")
        except ValueError as error:
            self.warn(f"{mention_place}: left out, {error}.")
            return
        self.chars += len(text)
        short_path = self.files.shorten(path)
        if text:
            self.sections.append(Section(short_path, f'<agents-file path="{short_path}">\n{text}\n</agents-file>'))
        for number, mention, certain in _find_mentions(text):
            self._include_mention(
                path, mention, f"{path}:{number}: @{mention}", allowed, (*chain, path), certain=certain
            )

    def _include_mention(
        self,
        path: Path,
        mention: str,
        mention_place: str,
        allowed: tuple[Path, ...],
        chain: tuple[Path, ...],
        *,
        certain: bool,
    ) -> None:
        """Include the file that `path` mentions. Without `certain`, a missing file is no error. See `_include`."""
        try:
            real = (path.parent / Path(mention).expanduser()).resolve()
            exists = real.exists()
        except (OSError, RuntimeError, ValueError):
            # The mention is no valid path.
            real, exists = None, False
        if real is None or not exists:
            if real is not None and text_files.is_within(real, allowed):
                self.missing.add(real)
            if certain:
                self.warn(f"{mention_place}: left out, it does not exist.")
        elif not text_files.is_within(real, allowed):
            self.warn(f"{mention_place}: left out, it is outside of the workspace.")
        elif real in chain:
            self.warn(f"{mention_place}: left out, it includes itself.")
        elif real not in self.seen:
            self._include(real, allowed, chain, mention_place)


def _find_mentions(text: str) -> list[tuple[int, str, bool]]:
    """Return the line number of each mention, its path, and whether it is certainly a mention. In code it is not
    certain, because an `@` may mean something else there."""
    found: list[tuple[int, str, bool]] = []
    fenced = ""  # the fence of the block of code that is open; empty for none
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and fenced in {"", fence[1]}:
            fenced = "" if fenced else fence[1]
            continue
        spans = [span.span() for span in _SPAN.finditer(line)]
        for mention in _MENTION.finditer(line):
            is_code = fenced or any(start <= mention.start() < end for start, end in spans)
            found.append((number, mention[1], not is_code))
    return found
