"""Owns the URIs of content that a session's state refers to, and the descriptions of changes that contain such URIs.
Pure. `contents.py` reads the content.

The content is an image, or one of the two sides of a change: the file `before` it or `after` it. A change is made by
one tool call, or by the whole session. Examples, for the session `eca:/ID`:

    eca:/ID/content/image/17                 the image in event 17
    eca:/ID/content/before/CALL              a file before the tool call CALL
    eca:/ID/content/changes/after/CHANGE     a file or cell after all that the session has changed in it
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from jupyter_eca.fronts.ahp.reducers.base import Json, omit_none

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.changes import ChangedText
    from jupyter_eca.protocol.content import FileChangeDetails

# The forms of the three URIs in the docstring of this module, in the same order.
_PICTURE: Final = re.compile(r"(?P<session>.+)/content/image/(?P<seq>\d{1,18})")
_SIDE: Final = re.compile(r"(?P<session>.+)/content/(?P<side>before|after)/(?P<call>[^/]+)")
_CHANGE: Final = re.compile(r"(?P<session>.+)/content/changes/(?P<side>before|after)/(?P<change>[^/]+)")


def make_picture_uri(session: str, seq: int) -> str:
    """Return the URI of the image in the event with this number."""
    return f"{session}/content/image/{seq}"


def parse_picture(uri: str) -> tuple[str, int] | None:
    """Return the URI of the session, and the number of the event with the image. Return None for another URI."""
    match = _PICTURE.fullmatch(uri)
    return (match["session"], int(match["seq"])) if match else None


def parse_side(uri: str) -> tuple[str, str, str] | None:
    """Return the URI of the session, `before` or `after`, and the id of the call. Return None for another URI."""
    match = _SIDE.fullmatch(uri)
    return (match["session"], match["side"], unquote(match["call"])) if match else None


def parse_change(uri: str) -> tuple[str, str, str] | None:
    """Return the URI of the session, `before` or `after`, and the id of the change. Return None for another URI."""
    match = _CHANGE.fullmatch(uri)
    return (match["session"], match["side"], unquote(match["change"])) if match else None


def make_change(session: str, id: str, uri: str, kind: str, text: ChangedText | None) -> Json:
    """Describe what the whole session has changed in a file or cell, as the protocol describes an edit. `id` and `kind`
    are the id and kind of the change, and `uri` is the URI of the file or cell. `text` is None for a file that is not
    text, which has no line counts."""
    before, after = (
        {"uri": uri, "content": {"uri": f"{session}/content/changes/{side}/{quote(id, safe='')}"}}
        for side in ("before", "after")
    )
    return omit_none(
        before=None if kind in {"created", "inserted"} else before,
        after=None if kind == "deleted" else after,
        diff=None if text is None else {"added": text.lines_added, "removed": text.lines_removed},
    )


def make_edit(session: str, call: str, change: FileChangeDetails, root: Path) -> Json:
    """Describe what a tool call changes in a file, as the protocol describes an edit. The first line of the diff shows
    whether the file is new. `call` is the id of the call, `root` the folder that the path of the change is relative
    to."""
    uri = (root / change.path).as_uri()
    before, after = (
        {"uri": uri, "content": {"uri": f"{session}/content/{side}/{quote(call, safe='')}"}}
        for side in ("before", "after")
    )
    new = change.diff.startswith("--- /dev/null")
    counts = {"added": change.lines_added, "removed": change.lines_removed}
    return omit_none(before=None if new else before, after=after, diff=counts)
