"""Parses Markdown with front matter: YAML between two lines of dashes, then the text. Pure.

Agents, rules, skills and commands are written in this way. This module also decodes the bytes of these files. It must
not read a file: its neighbour `folders` finds the files, and its callers read them. The callers put the name of the
file before the message of an error, so "it" and "its" in a message mean the file.
"""

from __future__ import annotations

import re
from typing import Any, cast

# The groups are the front matter and the text below it.
_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)", re.DOTALL | re.MULTILINE)

# A line of front matter whose value is plain text.
_PLAIN = re.compile(r"^(?P<name>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s\"'\[{|>&*!#%@`].*?)[ \t]*$", re.MULTILINE)

# Keys of front matter with another name in the configuration. `tools` is a short form of `toolCall.approval`.
_RENAMED = {"model": "defaultModel", "steps": "maxSteps"}


def parse_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter (empty when there is none) and the text below it.

    Raises: ValueError with the line, when the front matter is not YAML.
    """
    import yaml  # imported here because it takes 15 ms, and many users have no such file

    match = _FRONT.match(text)
    try:
        front: Any = yaml.safe_load(match[1]) if match else None
    except (yaml.YAMLError, RecursionError) as error:
        # `mark.line` is counted from 0, and begins below the first line of dashes.
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"its front matter is not YAML{f' (line {mark.line + 2})' if mark else ''}") from None
    if front is not None and not isinstance(front, dict):
        raise ValueError("its front matter must hold `name: value` lines")
    named = {str(name): value for name, value in cast("dict[Any, Any]", front or {}).items()}
    return named, (match[2] if match else text).strip()


def split_into_parts(text: str) -> tuple[str, str, str, str]:
    """Return the four parts of a text, for a caller that changes one part and joins them again: the first line of
    dashes, the front matter, the second line of dashes, and the text below it. If the text has no front matter, both
    lines of dashes are added, and the front matter is empty."""
    if match := _FRONT.match(text):
        return text[: match.start(1)], match[1], text[match.end(1) : match.start(2)], match[2]
    return "---\n", "", "---\n", text


def parse_lenient_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Parse as `parse_front_matter` does, but also accept values that contain `: `. People write them, although they
    are not valid YAML: `description: For data: how to clean it`.

    Raises: ValueError with the line, when the front matter still cannot be read.
    """
    try:
        return parse_front_matter(text)
    except ValueError:
        match = _FRONT.match(text)
        if match is None:
            raise
        quoted = _PLAIN.sub(_quote_value, match[1])
        if quoted == match[1]:
            raise
        try:
            return parse_front_matter(f"---\n{quoted}---\n{match[2]}")
        except ValueError:
            pass
        raise  # the error of the text as it is written, whose line is right


def _quote_value(line: re.Match[str]) -> str:
    """Return a line of front matter, with quotes around its value if the value contains `: ` or ends with a colon."""
    value = line["value"]
    return (
        f"{line['name']}: '{value.replace(chr(39), chr(39) * 2)}'" if ": " in value or value.endswith(":") else line[0]
    )


def decode_text(data: bytes, errors: str = "strict") -> str:
    """Decode the content of a file. `errors` is the argument of `bytes.decode`.

    Raises: ValueError with the line, when the content is not text.
    """
    try:
        text = data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"it is not UTF-8 text (line {line})") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"it is binary (line {line})")
    return text


def parse_agent(text: str) -> dict[str, Any]:
    """Parse the file of an agent into an entry of the key `agent`. Raises: ValueError with a message for the user."""
    front, body = parse_front_matter(text)
    written = {_RENAMED.get(name, name): value for name, value in front.items()}
    tools: Any = written.pop("tools", None)
    if isinstance(tools, dict):
        written["toolCall"] = {"approval": _make_rules(cast("dict[Any, Any]", tools))}
    return {**written, "prompt": body} if body else written


def _make_rules(tools: dict[Any, Any]) -> dict[str, Any]:
    """Convert the short form of approval rules, which is lists of names, into rules without matchers:
    `{"deny": ["grep"]}` -> `{"deny": {"grep": {}}}`. A value that is not a list stays as it is: the schema checks
    it."""
    return {
        str(kind): {str(name): {} for name in cast("list[Any]", names)} if isinstance(names, list) else names
        for kind, names in tools.items()
    }
