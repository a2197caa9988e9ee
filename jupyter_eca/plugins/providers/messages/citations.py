"""Where an answer has something from, as Markdown for its reader. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_BRACKETS = re.compile(r"[\[\]\s]+")


def describe_source(source: Mapping[str, Any]) -> str:
    """Describe a web page or a place in a document, in either form of the API; empty for another form."""
    match source:
        case {"url": str(url)} if url.startswith(("https://", "http://")):
            title = source.get("title")
            return link(title if isinstance(title, str) else "", url)
        case {"document_title": str(title), "start_page_number": int(first), "end_page_number": int(end)}:
            # The API's end is the page after the last.
            pages = f"p. {first}" if end - 1 <= first else f"pp. {first}-{end - 1}"
            return f"[{_plain(title)}, {pages}]"
        case {"document_title": str(title)}:
            return f"[{_plain(title)}]"
        case _:
            return ""


def link(title: str, url: str) -> str:
    address = re.sub(r"[\s()<>]", lambda found: f"%{ord(found[0]):02X}", url)
    return f"[{_plain(title) or address}]({address})"


def _plain(title: str) -> str:
    """Escape a title: a stranger wrote it, and it must not end the link that it is in."""
    return _BRACKETS.sub(" ", title).strip()
