"""The judges of what is shown: two Markdown parsers and an HTML parser that are not ours, and texts to torment them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, cast

from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mistune import create_markdown
from nbconvert.filters.markdown_mistune import markdown2html_mistune

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# What Markdown makes of itself; `div` and `span` are nbconvert's highlighting.
TAGS = """a blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr input li ol p pre s span strong
    table tbody td th thead tr ul"""
ATTRIBUTES = {"href", "class", "id", "style", "start", "align", "type", "checked", "disabled"}
LINK = re.compile(r"https?:|mailto:|[^:]*$|[^:]*[/?#]", re.IGNORECASE)

COMMONMARK = MarkdownIt("commonmark", {"html": True})
WITH_TABLES = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MISTUNE = create_markdown(escape=False, plugins=["table", "url", "strikethrough", "task_lists"])
RENDERERS = cast(
    "dict[str, Callable[[str], str]]",
    {
        "markdown-it": COMMONMARK.render,
        "markdown-it, with tables": WITH_TABLES.render,
        "mistune": MISTUNE,
        "nbconvert": markdown2html_mistune,
    },
)

# Enough of everything that opens, closes or nests something in one dialect or another.
PIECES = r"""
    < > & ` `` ``` ```` ~ ~~~ ```python ~~~mermaid [ ] ( ) ! ]( ][ ]: ![ : = | |---| # - * _ > 1. " ' a 0 { } @@0@@
    \ \\ $ $$ \( \) \[ \] \\( \\) \\[ \\] \begin{a} \end{a}
    <script> </script> <img/src=x <a/href= <code> </code> <pre> </pre> </details> <!-- --> <? ]]> onerror= alert(1)
    javascript: data:text/html, //evil.example http://a.example ftp://a.example &lt; &#60; &colon;
"""
BLANKS = [" ", "    ", "\t", "\n", "\n", "\n\n", "\n\n", "\r", "\r\n", "\x0b", "\u2028", "\x00"]
NASTY = st.lists(st.sampled_from(PIECES.split() + BLANKS), max_size=30).map("".join)


class Page(HTMLParser):
    """What a page would do about the HTML: `problems` is what nobody but us may make it do."""

    def __init__(self, html: str, allowed: Iterable[str] = ()) -> None:
        super().__init__()
        self.problems: list[str] = []
        self.text = ""
        self.tags: list[str] = []
        self.links: list[str] = []
        self._allowed = {*TAGS.split(), *allowed}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in self._allowed:
            self.problems.append(f"<{tag}>")
        for name, value in attrs:
            if name == "href":
                self.links.append(value or "")
            if name not in ATTRIBUTES or (name == "href" and not LINK.match(value or "")):
                self.problems.append(f"{tag} {name}={value}")

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        self.problems.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.problems.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.problems.append(f"<?{data}")


def problems(markdown: str, allowed: Iterable[str] = ()) -> dict[str, list[str]]:
    """By renderer, all of which show raw HTML as it is."""
    pages = {name: Page(render(markdown), allowed) for name, render in RENDERERS.items()}
    return {name: page.problems for name, page in pages.items() if page.problems}
