"""An agent written as Markdown: YAML between two lines of dashes, then its prompt. Pure."""

from __future__ import annotations

import re
from typing import Any, cast

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)(.*)", re.DOTALL | re.MULTILINE)

# Their names here; `tools` is a short form of `toolCall.approval`.
_RENAMED = {"model": "defaultModel", "steps": "maxSteps"}


def agent(text: str) -> dict[str, Any]:
    """As an entry of the key `agent`. Raises: ValueError, in words for the reader."""
    import yaml  # 15 ms, and only needed by those who have such a file

    found = _FRONT.match(text)
    try:
        front: Any = yaml.safe_load(found[1]) if found else None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"its front matter is not YAML{f' (line {mark.line + 2})' if mark else ''}") from None
    if front is not None and not isinstance(front, dict):
        raise ValueError("its front matter must hold `name: value` lines")
    written = {_RENAMED.get(str(name), str(name)): value for name, value in cast("dict[Any, Any]", front or {}).items()}
    tools: Any = written.pop("tools", None)
    if isinstance(tools, dict):
        written["toolCall"] = {"approval": _rules(cast("dict[Any, Any]", tools))}
    body = (found[2] if found else text).strip()
    return {**written, "prompt": body} if body else written


def _rules(tools: dict[Any, Any]) -> dict[str, Any]:
    """Lists of names become rules without matchers."""
    return {
        str(kind): {str(name): {} for name in cast("list[Any]", names)} if isinstance(names, list) else names
        for kind, names in tools.items()
    }
