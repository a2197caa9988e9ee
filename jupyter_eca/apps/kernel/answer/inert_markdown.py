"""Text of others as inert Markdown: it may be formatted, but it cannot act. Pure. Everything that a cell shows of a
model, a tool or a server passes through it.

A cell that the user ran is trusted, so JupyterLab runs what HTML its Markdown holds, with the rights of the page; and
nbconvert passes it on to whoever opens the export. What a model or a tool says must never get there, and must not make
the page ask a foreign server for anything: an image's address can carry data away, so images become links.

Dialects disagree about where code, links and mathematics begin and end. So nothing is left for them to disagree about:
code, links and formulas that are recognised here are rewritten in the one form that all dialects read alike, and every
other character that could begin one is an entity. Blocks of code stand at the first column between blank lines, which
no container and no formula of JupyterLab's reaches across; a formula stands on one line and cannot end early, since
nbconvert looks for the end of an open one even inside of code.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.answer.exact_text import drop_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = re.compile(r"([ \t]*)(?:(`{3,})([^`]*)|(~{3,})(.*))$")
# Label and address of a link: no character that Markdown, HTML or TeX could act on; balanced brackets, as
# encyclopaedias have them.
_PLACE = r"(?:[\w.~:/?#@!*+,;=%{0}-]|\([\w.~:/?#@!*+,;=%{0}-]*\))+"
# There is no `&` without a scheme: mistune decodes entities twice, and so would find a scheme where there was none.
_WEB = r"(?:https?://|mailto:)" + _PLACE.format("&")
_URL = rf"(?:{_WEB}|(?![^\s/?#)]*:){_PLACE.format('')})"
_TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>(?<!`)`+(?!`))(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\$\$(?P<display>(?:\\[^$`\n]|[^$`\\\n]|\n(?![ \t]*\n))+)\$\$(?!\$)"
    r"|(?<!\$)\$(?![\s$])(?P<inline>(?:\\[^$`\n]|[^$`\\\n])+)(?<!\s)\$(?![\d$])"
    rf'|(?P<bangs>!{{0,2}})\[(?P<label>[^\[\]\n]*)\]\([ ]*(?P<url>{_URL})(?:[ ]+"[^"\n]*")?[ ]*\)'
    rf"|<(?P<bare>{_WEB})>"
    r"|(?<=[-*+][ ])(?P<box>\[[ x]\])(?=\s)"
    # Other characters that could begin code, a formula, HTML, a link, a definition, or a link without brackets; and the
    # quote that would end an attribute, if JupyterLab took it for part of a formula in an address.
    r"|(?P<special>[&<`$\\\[\]\"]|~{3,}|!(?=<)|(?<!http)(?<!https):(?=//)|@(?=@))",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"\\begin\{([a-z]*\*?)\}.*?\\end\{\1\}", re.IGNORECASE)
# marked looks for the partner of a bracket even in the next block of code.
_UNCLOSED = re.compile(r"\[(?!(?:\\.|[^\[\]\\])*\])")


def inert(text: str) -> str:
    """Return the text with its formatting and its blocks of code."""
    out: list[str] = []
    paragraph: list[str] = []
    outdent = 0
    lines = iter(re.split(r"\r\n|\r|\n", text))
    for line in lines:
        if fence := _FENCE.match(line):
            outdent = len(fence[1])
            source = "\n".join(_until_closed(lines, fence[2] or fence[4], outdent))
            out += [prose("\n".join(paragraph)), block(source, _language(fence[3] or fence[5] or ""))]
            paragraph = []
        else:
            # A block ends the list that it stood in; what followed it in there would be taken for indented code.
            outdent = min(outdent, _indent(line)) if line.strip() else outdent
            paragraph.append(line[outdent:])
    return "\n\n".join(part.strip("\n") for part in [*out, prose("\n".join(paragraph))] if part.strip())


def prose(text: str) -> str:
    """Return the text with its formatting; fences are shown as they are written."""
    return _TOKEN.sub(_escape_found, drop_control_characters(text))


def block(text: str, language: str = "") -> str:
    """Return a fenced block that the text cannot end. What follows must stand after a blank line."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"\n\n{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """Return one line as inline code that the text cannot end."""
    return f"<code>{_entities(' '.join(text.split()))}</code>"


def _escape_found(match: re.Match[str]) -> str:
    match match.lastgroup:
        case "code":
            # Inside of backticks this would not work: a table splits its cells there, and then they are no code.
            return code(match["code"])
        case "display" | "inline":
            return _formula("$" if match.lastgroup == "inline" else "$$", match[match.lastgroup])
        case "url":
            label, url = match["label"].strip() or match["url"], match["url"]
            return f"{_entities(match['bangs'][1:])}[{prose(label)}]({html.escape(url)})"
        case "bare":
            return f"[{prose(match['bare'])}]({html.escape(match['bare'])})"
        case "box":
            return match["box"]
        case group:
            return _entities(match[group or 0])


def _formula(mark: str, source: str) -> str:
    """Return a formula on one line. Spaces mean nothing to TeX, and keep Markdown from seeing links, entities or other
    formulas in it."""
    source = " ".join(source.split())
    if re.search(r"\\(begin|end)\{", _ENVIRONMENT.sub("", source)):
        return f"{_entities(mark)}{prose(source)}{_entities(mark)}"
    source = re.sub(r"([!\]\\:])(?=[\[(:/])|(&)(?=[#\w])|(\\)$", r"\g<0> ", source)
    source = source.replace("<", r"\lt ").replace('"', "''")
    return mark + _UNCLOSED.sub(r"\\lbrack ", source) + mark


def _entities(text: str) -> str:
    """Return the text with every character that means something to Markdown or HTML as a number."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


def _language(info: str) -> str:
    """Return the language of a fence; a reader has no use for the rest of its info string. Diagrams are left out:
    nbconvert hands their source to the page as HTML."""
    word = "".join(c for c in (info.split() or [""])[0] if c.isalnum() or c in "+-_.#")
    return "" if word.lower().startswith("mermaid") else word


def _until_closed(lines: Iterator[str], fence: str, indent: int) -> Iterator[str]:
    for line in lines:
        mark = line.strip()
        if set(mark) == {fence[0]} and len(mark) >= len(fence) and _indent(line) <= indent + 3:
            return
        yield line[min(indent, _indent(line)) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))
