"""Makes a text of a model, a tool or a server inert: as Markdown it may be formatted, but it cannot run anything or
load anything. Pure. Every such text that a cell shows goes through this module.

Why this is needed. A cell that the user ran is trusted. So JupyterLab runs the HTML in its Markdown, with the rights of
the page, and nbconvert copies the HTML into its export. A text of a model or a tool must never do that. It must also
not make the page load anything from a foreign server: the address of an image can contain data, so images become links.

How it works. Renderers of Markdown disagree about where code, links and formulas begin and end. So code, links and
formulas that are recognised here are written in the one form that all renderers read in the same way. Every other
character that could begin one of them becomes an entity. Two examples:

- A block of code begins in the first column and is between blank lines. No list, quote or formula of JupyterLab
  extends across a blank line.
- A formula is on one line and cannot end early, because nbconvert searches for the end of an open formula even inside
  code.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.text.code_block import as_code_block
from jupyter_eca.engine.text.exact_text import drop_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterator

# What is written in place of the language `mermaid`, because JupyterLab draws such a diagram at once, and nbconvert
# writes its source into the page as HTML. Every renderer shows a block of the language `text` as it is, and does not
# read the second word, the extension of Mermaid's files. By that word the page finds the diagram, and offers to draw
# it: `labextension/src/answers/code_blocks.ts`.
DIAGRAM: Final = "text mmd"
# The line that begins a block of code: three or more backticks or tildes, and the language: "```python".
_FENCE = re.compile(r"([ \t]*)(?:(`{3,})([^`]*)|(~{3,})(.*))$")
# The address of a link. It has no character with a meaning in Markdown, HTML or TeX. Brackets must be balanced, as in
# addresses of encyclopaedias.
_ADDRESS = r"(?:[\w.~:/?#@!*+,;=%{0}-]|\([\w.~:/?#@!*+,;=%{0}-]*\))+"
# An address without a scheme must not have `&`: mistune decodes entities twice, and could find a scheme in it then.
_WEB = r"(?:https?://|mailto:)" + _ADDRESS.format("&")
# What begins it up to a colon would be a scheme. Only characters of an address are looked at: to look at all characters
# up to the next space took 6.5 s in a text of 20,000 times `[x](`.
_URL = rf"(?:{_WEB}|(?![\w.~@!*+,;=%(-]*:){_ADDRESS.format('')})"
# Everything in a text that must change. The groups, in order: an escaped character, inline code, a formula in a line of
# its own, a formula in a line, a link or image, an address in `<>`, the box of a task, and any other special character.
_TOKEN = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>(?<!`)`+(?!`))(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\$\$(?P<display>(?:\\[^$`\n]|[^$`\\\n]|\n(?![ \t]*\n))+)\$\$(?!\$)"
    r"|(?<!\$)\$(?![\s$])(?P<inline>(?:\\[^$`\n]|[^$`\\\n])+)(?<!\s)\$(?![\d$])"
    rf'|(?P<bangs>!{{0,2}})\[(?P<label>[^\[\]\n]*)\]\([ ]*(?P<url>{_URL})(?:[ ]+"[^"\n]*")?[ ]*\)'
    rf"|<(?P<bare>{_WEB})>"
    r"|(?<=[-*+][ ])(?P<box>\[[ x]\])(?=\s)"
    # Other characters that could begin code, a formula, HTML, a link, a definition, or a link without brackets. Also
    # the quotation mark, which could end an attribute if JupyterLab found a formula in an address.
    r"|(?P<special>[&<`$\\\[\]\"]|~{3,}|!(?=<)|(?<!http)(?<!https):(?=//)|@(?=@))",
    re.IGNORECASE,
)
# What begins or ends an environment of TeX. The groups are the word and the name, which may be missing.
_ENVIRONMENT_MARK = re.compile(r"\\(begin|end)\{(?:([a-z]*\*?)\})?", re.IGNORECASE)
# An open bracket without its partner. The renderer `marked` searches for the partner even in the next block of code.
_UNCLOSED = re.compile(r"\[(?!(?:\\.|[^\[\]\\])*\])")


def as_inert_markdown(text: str) -> str:
    """Return a text as inert Markdown, with its formatting and its blocks of code."""
    blocks: list[str] = []
    paragraph: list[str] = []
    outdent = 0  # how many characters of indentation are removed from the next lines
    lines = iter(re.split(r"\r\n|\r|\n", text))
    for line in lines:
        if fence := _FENCE.match(line):
            outdent = len(fence[1])
            source = "\n".join(_take_until_closed(lines, fence[2] or fence[4], outdent))
            blocks += [
                as_inert_prose("\n".join(paragraph)),
                as_code_block(source, _clean_language(fence[3] or fence[5] or "")),
            ]
            paragraph = []
        else:
            # A block of code is moved to the first column, which ends the list around it. The lines after it must lose
            # their indentation, too, or they would be read as indented code.
            outdent = min(outdent, _measure_indent(line)) if line.strip() else outdent
            paragraph.append(line[outdent:])
    return "\n\n".join(part.strip("\n") for part in [*blocks, as_inert_prose("\n".join(paragraph))] if part.strip())


def as_inert_prose(text: str) -> str:
    """Return a text as inert Markdown, with its formatting. Fences do not begin blocks of code: they are shown."""
    return _TOKEN.sub(_escape_match, drop_control_characters(text))


def as_inline_code(text: str) -> str:
    """Return a text on one line as inline code that the text cannot end."""
    return f"<code>{_as_entities(' '.join(text.split()))}</code>"


def _escape_match(match: re.Match[str]) -> str:
    """Return a match of `_TOKEN` in its inert form."""
    match match.lastgroup:
        case "code":
            # The tag is used and not backticks, because a table splits its cells inside backticks, too.
            return as_inline_code(match["code"])
        case "display" | "inline":
            return _as_formula("$" if match.lastgroup == "inline" else "$$", match[match.lastgroup])
        case "url":
            # An image is written `![label](url)`. It becomes a link, because only marks beyond the first stay.
            label, url = match["label"].strip() or match["url"], match["url"]
            return f"{_as_entities(match['bangs'][1:])}[{as_inert_prose(label)}]({html.escape(url)})"
        case "bare":
            return f"[{as_inert_prose(match['bare'])}]({html.escape(match['bare'])})"
        case "box":
            return match["box"]
        case group:  # an escaped or a special character
            return _as_entities(match[group or 0])


def _as_formula(mark: str, source: str) -> str:
    """Return a formula on one line. Spaces are added, which have no meaning in TeX, so that Markdown finds no links,
    entities or other formulas in it."""
    source = " ".join(source.split())
    # An environment that is not complete makes the formula end at an unexpected place. So it is shown as a text.
    if not _has_whole_environments(source):
        return f"{_as_entities(mark)}{as_inert_prose(source)}{_as_entities(mark)}"
    source = re.sub(r"([!\]\\:])(?=[\[(:/])|(&)(?=[#\w])|(\\)$", r"\g<0> ", source)
    source = source.replace("<", r"\lt ").replace('"', "''")
    return mark + _UNCLOSED.sub(r"\\lbrack ", source) + mark


def _has_whole_environments(source: str) -> bool:
    """Return whether each environment in a formula ends in the formula: `\\begin{matrix} 1 & 2 \\end{matrix}`. What is
    in an environment does not count."""
    open_name: str | None = None
    for mark in _ENVIRONMENT_MARK.finditer(source):
        begins, name = mark[1].lower() == "begin", mark[2] and mark[2].lower()
        if open_name is None:
            if not begins or name is None:
                return False
            open_name = name
        elif not begins and name == open_name:
            open_name = None
    return open_name is None


def _as_entities(text: str) -> str:
    """Return the text in which numeric entities replace all characters except letters, digits and spaces."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


def _clean_language(info: str) -> str:
    """Return the language in the info string of a fence. For a diagram it is `DIAGRAM`."""
    word = "".join(c for c in (info.split() or [""])[0] if c.isalnum() or c in "+-_.#")
    return DIAGRAM if word.lower().startswith("mermaid") else word


def _take_until_closed(lines: Iterator[str], fence: str, indent: int) -> Iterator[str]:
    """Yield the lines of a block of code, without its indentation, until the fence that closes it."""
    for line in lines:
        mark = line.strip()
        if set(mark) == {fence[0]} and len(mark) >= len(fence) and _measure_indent(line) <= indent + 3:
            return
        yield line[min(indent, _measure_indent(line)) :]


def _measure_indent(line: str) -> int:
    """Return how many spaces and tabs a line begins with."""
    return len(line) - len(line.lstrip(" \t"))
