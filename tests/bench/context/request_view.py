"""Reads the body of a request of the Messages API as the model does: its tools, and the texts and images of the user's
side.

It must not know tasks. `tasks/` uses it to decide what the model does next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

# How texts for models name a cell: "cell 26 [c25]".
_NAMED_CELL = re.compile(r"cell (?P<number>\d+) \[(?P<id>[\w-]+)\]")

# The line above the outputs of a cell.
_OUTPUT = "--- output of cell"


class MissingFactError(AssertionError):
    """A request lacks what the model needs for its next step, and the task has no call that finds it out."""


@dataclass(frozen=True, slots=True)
class NamedCell:
    """A cell as the model can name it."""

    number: int
    id: str


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a call of the last answer."""

    tool: str
    arguments: Json
    text: str
    is_error: bool


class RequestView:
    """One request."""

    def __init__(self, body: Json) -> None:
        self.body = body

    @cached_property
    def tools(self) -> dict[str, Json]:
        """The schema of each tool's arguments, by the tool's name."""
        return {tool["name"]: tool.get("input_schema", {}) for tool in self.body.get("tools", ())}

    def offers(self, tool: str) -> bool:
        return tool in self.tools

    @cached_property
    def system(self) -> str:
        system = self.body.get("system", "")
        return system if isinstance(system, str) else "\n".join(block["text"] for block in system)

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the user's side, the newest first: contexts, questions and results of tools."""
        return [
            text
            for message in reversed(self.body["messages"])
            if message["role"] == "user"
            for block in reversed(list_blocks(message))
            for text in _list_texts(block)
        ]

    @property
    def news(self) -> str:
        """All texts of the last message."""
        blocks = list_blocks(self.body["messages"][-1])
        return "\n\n".join(text for block in blocks for text in _list_texts(block))

    @property
    def pictures(self) -> int:
        """How many pictures the last message has."""
        blocks = list_blocks(self.body["messages"][-1])
        inner = [part for block in blocks for part in _list_parts(block)]
        return sum(part["type"] == "image" for part in (*blocks, *inner))

    @property
    def results(self) -> list[Result]:
        """The results in the last message, in the order of the calls."""
        messages = self.body["messages"]
        uses = {block["id"]: block for m in messages for block in list_blocks(m) if block["type"] == "tool_use"}
        blocks = [block for block in list_blocks(messages[-1]) if block["type"] == "tool_result"]
        return [
            Result(
                uses[block["tool_use_id"]]["name"],
                uses[block["tool_use_id"]]["input"],
                "\n".join(_list_texts(block)),
                bool(block.get("is_error")),
            )
            for block in blocks
        ]

    def knows(self, pattern: str) -> bool:
        """Return whether a text matches."""
        return self.search(pattern) is not None

    def knows_file(self, path: str) -> bool:
        """Return whether a text has the content of a file that came with a message."""
        return self.knows(re.escape(f'<context name="{path}">'))

    def knows_skill(self, name: str, occasion: str = "") -> bool:
        """Return whether the model is told of a skill for this occasion and can load it."""
        pattern = rf"^- {re.escape(name)}:[^\n]*{re.escape(occasion)}"
        return self.offers("skill") and re.search(pattern, self.system, re.MULTILINE) is not None

    def search(self, pattern: str) -> re.Match[str] | None:
        """Return the match in the newest text that matches."""
        found = (re.search(pattern, text, re.DOTALL | re.MULTILINE) for text in self.texts)
        return next((match for match in found if match), None)

    def read(self, pattern: str) -> str:
        """Return the first group of the newest match. Raises: MissingFactError."""
        if (match := self.search(pattern)) is None:
            raise MissingFactError(
                f"no text has {pattern!r}; the newest are: {[text[:1500] for text in self.texts[:4]]}"
            )
        return match[1]

    def find_cell(self, fragment: str) -> NamedCell | None:
        """Return the cell whose source has a line that begins so, if a text shows the source behind the number and the
        id of the cell. An output with the line, such as a traceback, is not the source."""
        for text in self.texts:
            for place in re.finditer(rf"^[ \t]*{re.escape(fragment)}", text, re.MULTILINE):
                before = text[: place.start()]
                names = list(_NAMED_CELL.finditer(before))
                if names and _OUTPUT not in before[names[-1].end() :]:
                    return NamedCell(int(names[-1]["number"]), names[-1]["id"])
        return None

    def cell(self, fragment: str) -> NamedCell:
        """See `find_cell`. Raises: MissingFactError."""
        if (found := self.find_cell(fragment)) is None:
            raise MissingFactError(
                f"no text says which cell has {fragment!r}; the newest: {[t[:1500] for t in self.texts[:4]]}"
            )
        return found


def list_blocks(message: Json) -> list[Json]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _list_parts(block: Json) -> list[Json]:
    content: Any = block.get("content")
    return content if isinstance(content, list) else []  # pyright: ignore[reportUnknownVariableType]  # raw JSON


def _list_texts(block: Json) -> Iterator[str]:
    match block["type"]:
        case "text":
            yield block["text"]
        case "tool_result" if isinstance(block.get("content"), str):
            yield block["content"]
        case "tool_result":
            yield from (part["text"] for part in _list_parts(block) if part["type"] == "text")
        case _:
            pass
