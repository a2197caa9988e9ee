r"""Finds what a Markdown cell loads as soon as a page shows it: images, and addresses in HTML, diagrams and formulas.

When a tool inserts or edits a Markdown cell, JupyterLab draws it at once. So each address in it is requested without a
click. A model that was misled could send data away in such an address. So the user sees, before the change, what the
cell would load. Data URLs, attachments, files of Jupyter itself and links (which load only when they are clicked) are
harmless, and are not reported.

The module is pure. It does not parse Markdown and HTML, because its parser and that of the page could disagree. Then
the page could load something that is not found here. Instead, it searches for every place where something could be
loaded, also in code. A place counts as harmless only if its address has a plain form. In the patterns, a repetition
that another one follows has a bound, so that the search in a long cell stays fast.

| in the cell | loads |
|---|---|
| `![a](https://x.org/b)`, `![a][b]` with a definition of `b` | the address |
| `<img src=…>`, `<td background=…>`, `style="…url(…)…"` | the address, or the style |
| `<iframe>`, `<svg>`, `<style>`, `<link>` and other tags that bring content of their own | the tag |
| a Mermaid diagram with HTML, an address or settings in it | the diagram |
| `\style{…}` and other commands that put CSS into a formula | the command |
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

# An address that requests nothing, or only something of Jupyter itself. It has no character that a parser replaces:
# `&#47;`, `\` (a slash in browsers), tabs and line breaks (which browsers leave out).
_HARMLESS: Final = re.compile(
    r"(?:data:image/[\w+.-]+(?:;[\w=-]+)*,[\w+/=%.,-]*|attachment:[\w.%@+()~ -]+"
    r"|(?!//| )[\w./%@+~ -]*(?:[?#][\w./?#=,+~%@-]*)?)",
    re.IGNORECASE,
)
# The beginning of an image: `![alternative text](address)` or `![alternative text][name]`.
_IMAGE: Final = re.compile(r"!\[")
# An alternative text that surely ends at its first bracket: no other brackets, no escapes, code, HTML or formula.
_PLAIN_IMAGE: Final = re.compile(r"!\[[^\[\]\\`<$]{0,500}\]")
# The address and the title that may follow it: `(address "title")`.
_INLINE: Final = re.compile(r"""\(\s{0,9}(<[^<>\n]*>|[^\s()<>]*)\s{0,9}(?:"[^"\\]*"|'[^'\\]*')?\s{0,9}\)""")
# The definition of a name: `[name]: address`.
_DEFINITION: Final = re.compile(r"\]:\s*(<[^<>\n]*>|\S+)")
# An address with a host, in any text: `https://x.org/b`, `//x.org/b`.
_ADDRESS: Final = re.compile(r"(?:[a-z][a-z0-9+.-]{0,20}:)?//[^\s()<>\"']+", re.IGNORECASE)

# The beginning of a tag of HTML: `<img`.
_TAG: Final = re.compile(r"<([a-z][a-z0-9-]*)(?=[\s/>]|$)", re.IGNORECASE)
# Tags that bring content of their own, or change what the addresses of others mean.
_LOADING_TAGS: Final = frozenset(
    {
        *("script", "style", "link", "iframe", "frame", "frameset", "object", "embed", "applet", "meta", "base", "svg"),
        *("portal", "fencedframe"),
    }
)
# The characters of an attribute's value that are read. The beginning of a long value says enough, and keeps the time
# short.
_MAX_VALUE_CHARS: Final = 2000
# An attribute that loads its value in some tag. Each is looked at by itself, also inside of the quotes of another one.
_ATTRIBUTE: Final = re.compile(
    r"(?<![\w-])(?=(src|srcset|imagesrcset|poster|background|lowsrc|dynsrc|style)\s*=\s*"
    rf"(\"[^\"]{{0,{_MAX_VALUE_CHARS}}}\"?|'[^']{{0,{_MAX_VALUE_CHARS}}}'?|[^\s>]{{0,{_MAX_VALUE_CHARS}}}))",
    re.IGNORECASE,
)
# What makes a style suspicious: functions of CSS that load something, addresses, comments, and characters with which
# a parser could read it in another way.
_LOADING_STYLE: Final = re.compile(
    r"(?:url|image|image-set|src|element|cross-fade)\s*\(|//|/\*|[@\\&<>\n]", re.IGNORECASE
)

# A diagram, up to the line that surely closes it: the same fence, indented by at most three spaces, and nothing behind
# it.
_DIAGRAM: Final = re.compile(
    r"(?<![`~])(`{3,}|~{3,})(?:[^\S\n]|\ufeff)*(?:\{[ \t]*)?mermaid\b(.*?)(?:\n {0,3}\1[`~]* *(?=\n|\Z)|\Z)",
    re.IGNORECASE | re.DOTALL,
)
# What makes a diagram suspicious: HTML, addresses, settings, functions of CSS, entities (`#60;` is Mermaid's own form),
# and escapes except for a line break (`\n`).
_LOADING_DIAGRAM: Final = re.compile(
    r"//|\bhttps?:|<(?!br\s*/?>|\w+>>)[a-z!/?]|&#?\w+;|\\(?!n)|%%\{|^[ \t>]*---[ \t]*$"
    r"|url\s*\(|src\s*=|(?:image-set|cross-fade|\bsrc)\("
    r"|^(?![ \t]*(?:style|classDef|linkStyle)[ \t][\w \t,:;#.-]*$).*#\w+;",
    re.IGNORECASE | re.MULTILINE,
)
# A shape with a picture: `A@{ img: "…" }`. The key can be written in many ways, so each word `img` or `icon` behind
# `@{` counts.
_SHAPE: Final = "@{"
_PICTURE: Final = re.compile(r"\b(?:img|icon)\b", re.IGNORECASE)
# Commands of MathJax that write CSS or attributes.
_FORMULA: Final = re.compile(
    r"\\(style|mmlToken|includegraphics)\b|\\(bbox)\s*\[(?:[^\]]{0,200}?(?:\burl\b|\\|&)|[^\]]{200})"
)

# The most addresses that are shown, and the most characters of each.
_MAX_NAMES: Final = 5
_MAX_CHARS: Final = 200


def find_loaded(source: str, before: str = "") -> str | None:
    """Return what a Markdown cell loads when it is shown, in words for the user, such as `https://x.org/a.png, <svg>`.
    Return None when it loads nothing. `before` is the source before the change: what it loaded already does not count.
    """
    known = {text for _, text in _list_loaded(before)}
    names = dict.fromkeys(name for name, text in _list_loaded(source) if text not in known)
    return _join([name if len(name) <= _MAX_CHARS else f"{name[:_MAX_CHARS]}…" for name in names])


def _join(names: list[str]) -> str | None:
    """Return the first names with commas between them, and how many more there are; None for no names."""
    more = [f"{len(names) - _MAX_NAMES} more"] if len(names) > _MAX_NAMES else []
    return ", ".join([*names[:_MAX_NAMES], *more]) or None


def find_loaded_in_file(text: str) -> str | None:
    """Return what the cells and outputs of a notebook load when it is shown, in words; None when they load nothing, or
    when Jupyter cannot open the notebook. `text` is the content of its file.

    All texts in the file are searched, because Jupyter also reads older formats, in which they have other names.
    """
    try:
        values: list[Any] = [json.loads(text.removeprefix("\ufeff"))]
    except (ValueError, RecursionError):
        return None  # Jupyter cannot open it.
    found: dict[str, None] = {}  # used as a set in order
    while values:
        value = values.pop()
        if isinstance(value, str):
            if words := find_loaded(value):
                found[words] = None
        elif isinstance(value, dict):
            values.extend(reversed(cast("dict[str, Any]", value).values()))
        elif isinstance(value, list):
            lines = cast("list[Any]", value)
            is_text = all(isinstance(line, str) for line in lines)
            values.extend(["".join(lines)] if is_text else reversed(lines))
    return _join(list(found))


def _list_loaded(source: str) -> Iterator[tuple[str, str]]:
    """Yield a pair for each thing that is loaded: its name for the user, and the part of the source that loads it."""
    yield from _list_images(source)
    yield from _list_html(source)
    for diagram in _DIAGRAM.finditer(source):
        _, _, shape = diagram[2].partition(_SHAPE)
        if _LOADING_DIAGRAM.search(diagram[2]) or _PICTURE.search(shape):
            yield from _describe("a Mermaid diagram", diagram[2])
    for command in sorted({found[1] or found[2] for found in _FORMULA.finditer(source)}):
        yield from _describe(f"a formula with \\{command}", source)


def _list_images(source: str) -> Iterator[tuple[str, str]]:
    """Yield the images of Markdown. See `_list_loaded` for the pairs."""
    addresses: dict[str, None] = {}
    # Whether some image may take its address from a definition, and whether it is unclear what the address of some
    # image is.
    has_reference = is_uncertain = False
    for found in _IMAGE.finditer(source):
        plain = _PLAIN_IMAGE.match(source, found.start())
        if plain and (inline := _INLINE.match(source, plain.end())):
            addresses[_unwrap(inline[1])] = None
        else:
            has_reference = True
            is_uncertain = is_uncertain or plain is None or source.startswith("(", plain.end())
    if is_uncertain:
        yield from _describe("an image", source)
    if has_reference:
        addresses |= dict.fromkeys(_unwrap(found[1]) for found in _DEFINITION.finditer(source))
    yield from ((address, address) for address in addresses if not _HARMLESS.fullmatch(address))


def _list_html(source: str) -> Iterator[tuple[str, str]]:
    """Yield the tags and attributes that load something. See `_list_loaded` for the pairs."""
    tags = {found[1].lower() for found in _TAG.finditer(source)}
    if not tags:
        return
    for tag in sorted(tags & _LOADING_TAGS):
        yield from _describe(f"<{tag}>", source)
    for found in _ATTRIBUTE.finditer(source):
        name, value = found[1].lower(), found[2].strip("\"'")
        if name == "style":
            if not _is_whole(found[2]) or _LOADING_STYLE.search(value):
                yield from _describe("a style", value)
        elif not _HARMLESS.fullmatch(value) or (name.endswith("srcset") and not _is_whole(found[2])):
            # The beginning of an address says where it leads. But in a `srcset`, other addresses may follow it.
            yield value, value


def _is_whole(value: str) -> bool:
    """Return whether the value of an attribute was found up to its end."""
    if value[:1] in {'"', "'"}:
        return len(value) > 1 and value[-1] == value[0]
    return len(value) < _MAX_VALUE_CHARS


def _describe(kind: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield one pair for a thing that may load something. `kind` names the thing, and the addresses in `text` are
    added."""
    addresses = list(dict.fromkeys(_ADDRESS.findall(text)))
    yield f"{kind} with {' '.join(addresses)}" if addresses else kind, text


def _unwrap(address: str) -> str:
    """Remove the angle brackets that Markdown allows around an address: `<a b.png>` -> `a b.png`."""
    return address[1:-1] if address.startswith("<") else address
