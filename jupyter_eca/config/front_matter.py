"""Owns the parsing of Markdown with front matter: YAML between two lines of dashes, then the text.

It is pure. Agents, rules, skills and commands are written so. `folders` is its neighbour: it finds the files.
"""

from __future__ import annotations

import re
from typing import Any, cast

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)", re.DOTALL | re.MULTILINE)

# A line of front matter whose value is plain text.
_PLAIN = re.compile(r"^(?P<name>[A-Za-z][\w-]*):[ \t]+(?P<value>[^\s\"'\[{|>&*!#%@`].*?)[ \t]*$", re.MULTILINE)

# Keys of front matter with another name in the configuration. `tools` is a short form of `toolCall.approval`.
_RENAMED = {"model": "defaultModel", "steps": "maxSteps"}


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the front matter (empty when there is none) and the text below it. Raises: ValueError that names the
    line."""
    import yaml  # 15 ms, and only needed by those who have such a file

    match = _FRONT.match(text)
    try:
        front: Any = yaml.safe_load(match[1]) if match else None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"its front matter is not YAML{f' (line {mark.line + 2})' if mark else ''}") from None
    if front is not None and not isinstance(front, dict):
        raise ValueError("its front matter must hold `name: value` lines")
    named = {str(name): value for name, value in cast("dict[Any, Any]", front or {}).items()}
    return named, (match[2] if match else text).strip()


def split_lenient_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the same as `headed`, but also accept a value that contains `: `. People write it, and it is not YAML.

    Raises: ValueError that names the line.
    """
    try:
        return split_front_matter(text)
    except ValueError:
        match = _FRONT.match(text)
        if match is None:
            raise
        quoted = _PLAIN.sub(_quote_value, match[1])
        if quoted == match[1]:
            raise
        try:
            return split_front_matter(f"---\n{quoted}---\n{match[2]}")
        except ValueError:
            pass
        raise


def _quote_value(line: re.Match[str]) -> str:
    value = line["value"]
    return (
        f"{line['name']}: '{value.replace(chr(39), chr(39) * 2)}'" if ": " in value or value.endswith(":") else line[0]
    )


def decode_text(data: bytes, errors: str = "strict") -> str:
    """Decode a file. `errors` is that of `bytes.decode`. Raises: ValueError that names the line, when it is not
    text."""
    try:
        text = data.decode("utf-8-sig", errors)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"it is not UTF-8 text (line {line})") from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"it is binary (line {line})")
    return text


def agent(text: str) -> dict[str, Any]:
    """Parse an agent's file into an entry of the key `agent`. Raises: ValueError with a message for the user."""
    front, body = split_front_matter(text)
    written = {_RENAMED.get(name, name): value for name, value in front.items()}
    tools: Any = written.pop("tools", None)
    if isinstance(tools, dict):
        written["toolCall"] = {"approval": _rules(cast("dict[Any, Any]", tools))}
    return {**written, "prompt": body} if body else written


def _rules(tools: dict[Any, Any]) -> dict[str, Any]:
    """Turn lists of names into rules without matchers."""
    return {
        str(kind): {str(name): {} for name in cast("list[Any]", names)} if isinstance(names, list) else names
        for kind, names in tools.items()
    }
