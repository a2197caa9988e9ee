"""Decides whether the user reviews a change before it is made, or only afterwards. Pure.

The setting `review` applies only to edits that would need approval just because no approval rule selects them. A rule
that denies or asks still counts: `policy` applies the rules first. The setting never applies to a call that runs
something, deletes something, or changes a protected file, which decides what may run.

A change that was made without approval is *unseen* until the user keeps or undoes it. As long as there is such a
change, a call that may run the changed code needs approval, whatever was approved or allowed before. Otherwise a model
could write code into a cell that the user has not seen, and run it with an approval that was given for other code. The
reason for such a question is `unseen` in `Cause.kind`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import FileChangeDetails, Origin

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import ToolCallDetails

# Files that Python, IPython or Jupyter run as soon as they start in the folder of the file.
_RUN_AT_START: Final = re.compile(
    r"(?:sitecustomize|usercustomize)\.py|.*\.pth|(?:jupyter|ipython)\w*config\w*\.(?:py|json)"
)

# Those of our own tools that do not only read, and still run no code. `spawn_agent` is one of them, because each call
# of the subagent is decided separately.
_RUN_NOTHING: Final = frozenset({"spawn_agent", "bg_job"})


@dataclass(frozen=True, slots=True)
class ReviewSituation:
    """What the decision about one call depends on, besides the call."""

    setting: ReviewTime = ReviewTime.BEFORE
    """The user's setting."""
    is_shown: bool = False
    """Whether the prompt came from a client that shows changes with Keep and Undo, and such a client is connected."""
    is_subagent: bool = False
    """Whether a subagent makes the call. The user did not write the task of a subagent."""
    has_hooks: bool = False
    """Whether programs of the user run during the turn by themselves. They may run what was changed."""


def choose_review_time(
    situation: ReviewSituation,
    tool: ToolSpec,
    targets: CallTargets | None,
    details: ToolCallDetails | None,
    *,
    can_be_undone: bool,
) -> ReviewTime:
    """Return when the user reviews what a call changes.

    `details` are the preview of the change. `can_be_undone` is whether everything that the call changes can be
    saved before the call. Only an edit of cells, or of text files in the workspace, can be reviewed
    afterwards. Its preview must be known. All other calls are reviewed before they run.
    """
    if situation.setting is ReviewTime.BEFORE or not situation.is_shown:
        return ReviewTime.BEFORE
    if situation.is_subagent or situation.has_hooks:
        return ReviewTime.BEFORE
    if not (_is_revertible(tool, targets) and tool.origin is Origin.NATIVE and not tool.definition and can_be_undone):
        return ReviewTime.BEFORE
    if targets is None or not targets.paths or not isinstance(details, FileChangeDetails) or not details.diff:
        return ReviewTime.BEFORE
    if targets.protected or details.loads or not all(map(_is_ordinary_path, targets.paths.values())):
        return ReviewTime.BEFORE
    return situation.setting


def _is_ordinary_path(forms: tuple[str, ...]) -> bool:
    """Return whether a path is in the workspace, is not hidden, and is not a file that a program runs at its start.

    `forms` are all ways to write the path, see `CallTargets.paths`.

    Hidden files often say what other programs run (`.github/workflows`, `.env`), and nobody looks at them.
    """
    inside = [form for form in forms if not form.startswith("/") and not re.match(r"[A-Za-z]:", form)]
    parts = [part for form in inside for part in form.split("/")]
    if not inside or any(part.startswith(".") for part in parts):
        return False
    return not any(_RUN_AT_START.fullmatch(part.casefold()) for part in parts)


def may_run_code(tool: ToolSpec, targets: CallTargets | None) -> bool:
    """Return whether a call may run code that an earlier change has written. A tool that only reads, or whose changes
    can be undone, runs no code."""
    if targets is not None and targets.parts:
        return any(part.tool is not None and _may_run(part.tool) for part in targets.parts)
    return _may_run(tool)


def _may_run(tool: ToolSpec) -> bool:
    """Return whether a call of this tool may run code that an earlier change has written."""
    runs_nothing = tool.origin is Origin.NATIVE and not tool.definition and tool.name in _RUN_NOTHING
    return not (tool.is_read_only or tool.revertible or runs_nothing)


def _is_revertible(tool: ToolSpec, targets: CallTargets | None) -> bool:
    """Return whether a call only edits. If the call does several things, each of them must only edit."""
    if targets is not None and targets.parts:
        return all(part.tool is not None and part.tool.revertible for part in targets.parts)
    return tool.revertible
