"""Writes the sources of an answer as Markdown: links to web pages, and pages of documents. Pure. The readers of answers
(`events` of each API) use it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Brackets and white space, which are replaced by one blank.
_BRACKETS_AND_SPACE = re.compile(r"[\[\]\s]+")


def describe_source(source: Mapping[str, Any]) -> str:
    """Return the Markdown for a web page or for pages of a document, "" for a source in another form."""
    match source:
        case {"url": str(url)} if url.startswith(("https://", "http://")):
            title = source.get("title")
            return make_link(title if isinstance(title, str) else "", url)
        case {"document_title": str(title), "start_page_number": int(first), "end_page_number": int(end)}:
            # In the API of Anthropic, `end_page_number` is the page after the last one.
            pages = f"p. {first}" if end - 1 <= first else f"pp. {first}-{end - 1}"
            return f"[{_plain(title)}, {pages}]"
        case {"document_title": str(title)}:
            return f"[{_plain(title)}]"
        case _:
            return ""


def make_link(title: str, url: str) -> str:
    """Return a Markdown link."""
    address = re.sub(r"[\s()<>]", lambda found: f"%{ord(found[0]):02X}", url)
    return f"[{_plain(title) or address}]({address})"


def _plain(title: str) -> str:
    """Return a title without brackets and line breaks, which could end the link that the title is in."""
    return _BRACKETS_AND_SPACE.sub(" ", title).strip()
