"""Text that others wrote, made inert Markdown: it may be formatted, it cannot act.

A cell that the user ran is trusted, so JupyterLab runs what HTML its Markdown holds, with the rights of the page; and
nbconvert passes it on to whoever opens the export. What a model or a tool says must never get there. So outside of
code every `<` and `&` is an entity, and inside of code nothing can end the code early: fences stand at the first
column, where every dialect sees them alike, and a code span with `<` in it is written in entities.
"""

from __future__ import annotations

import html
import re

_FENCE = re.compile(r" {0,3}(?:(`{3,})([^`]*)|(~{3,})(.*))$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
# Schemes that act when a reader clicks; a zero-width space makes them a dead relative address.
_SCHEME = re.compile(r"(?i)(j\s*a\s*v\s*a\s*s\s*c\s*r\s*i\s*p\s*t|v\s*b\s*s\s*c\s*r\s*i\s*p\s*t)(\\?:)")


def inert(text: str) -> str:
    out: list[str] = []
    fence = ""
    indent = 0
    for line in re.split(r"\r\n|\r|\n", text):
        if fence:
            if _closes(line, fence):
                out.append(fence)
                fence = ""
            else:
                out.append(_dedent(line, indent))
        elif found := _FENCE.match(line):
            fence = found[1] or found[3]
            indent = len(line) - len(line.lstrip(" "))
            # The blank line ends any list or quote that would claim the fence for itself.
            out += ["", fence + _word(found[2] or found[4] or "")]
        else:
            out.append(_prose(line))
    return "\n".join([*out, fence] if fence else out)


def block(text: str, language: str = "") -> str:
    """Text as a fenced block that it cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n\n{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """One line of text as inline code that it cannot end."""
    return f"<code>{_entities(' '.join(text.split()))}</code>"


def _prose(line: str) -> str:
    parts: list[str] = []
    end = 0
    for span in _SPAN.finditer(line):
        # Always in entities: a backtick of another line may pair with one of these, and then this is no code.
        parts += [_text(line[end : span.start()]), f"<code>{_entities(span[2].strip())}</code>"]
        end = span.end()
    return "".join([*parts, _text(line[end:])])


def _text(text: str) -> str:
    return _SCHEME.sub("\\1\u200b\\2", html.escape(text, quote=False).replace("&gt;", ">"))


def _entities(text: str) -> str:
    """Every character that could mean something to Markdown or HTML as a number."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


def _word(info: str) -> str:
    """The language of a fence; the rest of its info string has no use for a reader."""
    return "".join(c for c in info.split()[0] if c.isalnum() or c in "+-_.#") if info.split() else ""


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(line) - len(line.lstrip(" ")) <= 3 and len(mark) >= len(fence) and set(mark) == {fence[0]}


def _dedent(line: str, indent: int) -> str:
    return line[min(indent, len(line) - len(line.lstrip(" "))) :]
