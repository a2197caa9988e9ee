"""Addresses of what is not in the state itself: pictures, and files as a call found and left them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from jupyter_eca.fronts.ahp.reducers.base import Json, present

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import FileChangeDetails

_PICTURE: Final = re.compile(r"(?P<session>.+)/content/image/(?P<seq>\d{1,18})")
_FILE: Final = re.compile(r"(?P<session>.+)/content/(?P<side>before|after)/(?P<call>[^/]+)")


def picture(session: str, seq: int) -> str:
    return f"{session}/content/image/{seq}"


def is_picture(uri: str) -> tuple[str, int] | None:
    """The session and the number of the event."""
    found = _PICTURE.fullmatch(uri)
    return (found["session"], int(found["seq"])) if found else None


def is_side(uri: str) -> tuple[str, str, str] | None:
    """The session, `before` or `after`, and the id of the call."""
    found = _FILE.fullmatch(uri)
    return (found["session"], found["side"], unquote(found["call"])) if found else None


def edit(session: str, call: str, change: FileChangeDetails, root: Path) -> Json:
    """What a call does to a file. That a file is new is told by the first line of its diff."""
    uri = (root / change.path).as_uri()
    before, after = (
        {"uri": uri, "content": {"uri": f"{session}/content/{side}/{quote(call, safe='')}"}}
        for side in ("before", "after")
    )
    new = change.diff.startswith("--- /dev/null")
    counts = {"added": change.lines_added, "removed": change.lines_removed}
    return present(before=None if new else before, after=after, diff=counts)
