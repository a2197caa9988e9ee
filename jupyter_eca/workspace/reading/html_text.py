"""Converts HTML to text for a model: to Markdown where markdownify is installed (the extra `web`), else to plain words.

It must not know where a page comes from: `web_fetch.py` fetches it.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any, Final

# Elements without text for a reader, and elements that are the same on every page of a site.
_NOISE: Final = ("script", "style", "noscript", "template", "svg", "iframe", "nav", "header", "footer", "aside", "form")
# Elements that begin and end a line.
_BLOCKS: Final = frozenset(
    (
        *("article", "blockquote", "br", "dd", "div", "dt", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("li", "ol", "p", "pre", "section", "table", "tr", "ul"),
    )
)


def convert_html(html: str) -> str:
    """Return the text of an HTML page. Scripts, menus and other elements of `_NOISE` are left out."""
    try:
        import bs4
        import markdownify
    except ImportError:
        return _extract_words(html)
    try:
        soup: Any = bs4.BeautifulSoup(html, "html.parser")
        for element in soup(_NOISE):
            element.decompose()
        converter: Any = markdownify.MarkdownConverter(heading_style="ATX")
        text = converter.convert_soup(soup.find("main") or soup.find("article") or soup)
    except RecursionError:  # elements may be nested a thousand deep
        return _extract_words(html)
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", str(text)).strip()


def _extract_words(html: str) -> str:
    """Return the text without markup, with a line for each block."""
    words = _WordCollector()
    words.feed(html)
    words.close()
    lines = (" ".join(line.split()) for line in "".join(words.parts).split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _WordCollector(HTMLParser):
    """Collects the text that a reader sees. If an ignored element is never closed, all text after it is ignored,
    because nothing shows where the element should end."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        # The ignored elements that are open, the outermost first.
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002  # HTMLParser's
        if tag in _NOISE:
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)
