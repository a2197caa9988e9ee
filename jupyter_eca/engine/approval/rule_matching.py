"""Compares the patterns of an approval rule with the arguments of a tool call. Pure.

It must not decide about a call: its neighbour `policy` does.

Paths are compared with all links followed, so `notes/../.ssh/x` is not a path in `notes`. Command lines are compared
command by command, so `git status.*` does not allow `git status; rm x`. In doubt, a rule that denies or asks matches,
and a rule that allows does not.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.shell_parser import parse_commands
from jupyter_eca.engine.model.request import ApprovalCoverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.approval.shell_parser import ParsedCommand
    from jupyter_eca.engine.model.request import ToolSpec

# The argument of a shell tool that has the command line.
COMMAND_ARGUMENT: Final = "command"

# A pattern that matches only one text, because its special characters are escaped. The button "Always…" writes such
# patterns into the configuration.
_LITERAL: Final = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CallToMatch:
    """A call that is compared with rules."""

    tool: ToolSpec
    """The tool."""
    arguments: Mapping[str, Any]
    """The arguments of the call."""
    targets: CallTargets
    """The files that the call names."""

    @property
    def line(self) -> str | None:
        """The command line that the call runs; None for a tool that runs no command line."""
        return (
            str(self.arguments.get(COMMAND_ARGUMENT, ""))
            if self.tool.approval_covers is ApprovalCoverage.COMMANDS
            else None
        )

    def matches(self, name: str, patterns: tuple[str, ...], *, allows: bool) -> bool:
        """Return whether the argument of this name matches one of the patterns.

        `allows` is True for a rule that allows calls. In doubt, such a rule does not match, and other rules do.
        """
        # The model may have used another name that the tool accepts for the argument.
        text = str(self.tool.rename_arguments(self.arguments).get(name, ""))
        if name == COMMAND_ARGUMENT and self.line is not None:
            return _allows_line(text, patterns) if allows else _matches_any(_list_forms_of_line(text), patterns)
        # The ways to write the path: with links followed, absolute, and relative to folders of the workspace.
        forms = self.targets.paths.get(name, ())
        if not allows:
            return _matches_any((text, *forms), patterns)
        if name in self.tool.paths and forms:
            return _matches_any(forms, patterns)
        # It may be a path that we do not know of. So `a/../b` must match as it is written, and as `b`.
        if ".." in re.split(r"[/\\]", text):
            return _matches_any((text,), patterns) and _matches_any((posixpath.normpath(text),), patterns)
        return _matches_any((text,), patterns)


def _matches_any(texts: Iterable[str], patterns: tuple[str, ...]) -> bool:
    """Return whether one of the patterns matches the whole of one of the texts."""
    return any(re.fullmatch(pattern, text, re.DOTALL) for text in texts for pattern in patterns)


def _allows_line(line: str, patterns: tuple[str, ...]) -> bool:
    """Return whether each command of a line matches one of the patterns.

    A command with a redirection that reads or writes a file does not match, because the author of the pattern did not
    think of it. Such a line is allowed only by a pattern for exactly this line.
    """
    if _matches_any((line,), tuple(filter(_LITERAL.fullmatch, patterns))):
        return True
    commands = parse_commands(line)
    return bool(commands) and all(
        _has_only_harmless_redirects(command) and _matches_any((command.text,), patterns) for command in commands
    )


def _has_only_harmless_redirects(command: ParsedCommand) -> bool:
    """Return whether the command has no redirection that reads or writes a file."""
    return all(redirect.is_harmless for redirect in command.redirects)


def _list_forms_of_line(line: str) -> Iterator[str]:
    """Yield all texts that the author of a rule may have had in mind for a line: the line, and each of its commands,
    with and without its quotes, its redirections and the folder of its program."""
    yield line
    for command in parse_commands(line) or ():
        yield command.text
        yield command.whole_text
        yield command.plain_text
        yield " ".join((command.command.rpartition("/")[2], *command.args))
