"""Whether the patterns of a rule match an argument of a call. Pure.

A path is compared with every link followed, so that `notes/../.ssh/x` is not a path in `notes`. A command line is
compared command by command, so that `git status.*` does not allow `git status; rm x`. Rules that deny or ask match in
doubt, rules that allow do not. It must not decide anything: `policy` does.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.shell_parser import parse_commands
from jupyter_eca.engine.model.request import Remembers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.shell_parser import ParsedCommand
    from jupyter_eca.engine.model.request import ToolSpec

COMMAND: Final = "command"

# A pattern that stands for one text: what "Always…" writes.
_LITERAL: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ReviewedCall:
    """A call about which rules are asked."""

    tool: ToolSpec
    arguments: Mapping[str, Any]
    targets: CallTargets

    @property
    def line(self) -> str | None:
        """The command line that it runs; None for a tool that runs none."""
        return str(self.arguments.get(COMMAND, "")) if self.tool.remembers is Remembers.COMMANDS else None

    def matches(self, name: str, patterns: tuple[str, ...], *, allows: bool) -> bool:
        """Return whether an argument matches one of the patterns. `allows`: for a rule that allows the call."""
        text = str(self.arguments.get(name, ""))
        if name == COMMAND and self.line is not None:
            return _allows_line(text, patterns) if allows else _any_match(_list_texts(text), patterns)
        forms = self.targets.paths.get(name, ())
        if not allows:
            return _any_match((text, *forms), patterns)
        if name in self.tool.paths and forms:
            return _any_match(forms, patterns)
        if ".." in re.split(r"[/\\]", text):
            return _any_match((text,), patterns) and _any_match((posixpath.normpath(text),), patterns)
        return _any_match((text,), patterns)


def _any_match(texts: Iterable[str], patterns: tuple[str, ...]) -> bool:
    return any(re.fullmatch(pattern, text, re.DOTALL) for text in texts for pattern in patterns)


def _allows_line(line: str, patterns: tuple[str, ...]) -> bool:
    """Return whether each command of a line matches. A redirection into a file is no part of a command that a pattern
    was written for; only a pattern for this very line allows it."""
    if _any_match((line,), tuple(filter(_LITERAL.fullmatch, patterns))):
        return True
    commands = parse_commands(line)
    return bool(commands) and all(_is_plain(one) and _any_match((one.text,), patterns) for one in commands)


def _is_plain(command: ParsedCommand) -> bool:
    return all(redirect.is_harmless for redirect in command.redirects)


def _list_texts(line: str) -> Iterator[str]:
    """Yield all texts in which a rule may have meant a line: the line, and each of its commands, with and without its
    quotes, its redirections and the folder of its program."""
    yield line
    for command in parse_commands(line) or ():
        yield command.text
        yield command.whole_text
        yield command.plain_text
        yield " ".join((command.command.rpartition("/")[2], *command.args))
