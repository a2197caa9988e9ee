"""A server of OpenAI's two APIs on this machine, which says what it is given. For tests.

    with LoopbackOpenAI([stream, ...], faults) as server: server.url

Each request is answered by the next stream, and the last one again when there are no more; faults as in `loopback`, and
taken before. A stream is a recording: see `Stream`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.plugins.providers.scripted import Script
from tests.support.anthropic_server import Fault, Json, LoopbackAnthropic, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "sse"


@dataclass(frozen=True, slots=True)
class Stream:
    """The events, the line that ends them (none when there is none), and after how many bytes each packet is cut."""

    events: tuple[Any, ...]
    ends: str = ""
    packets: int = 0

    def sent(self) -> list[tuple[float, bytes]]:
        lines = [f"event: {event['type']}\n" if "type" in event else "" for event in self.events]
        said = [json.dumps(event, ensure_ascii=False) for event in self.events]
        events = [f"{line}data: {one}\n\n" for line, one in zip(lines, said, strict=True)]
        whole = "".join([*events, f"data: {self.ends}\n\n" if self.ends else ""]).encode()
        size = self.packets or len(whole)
        return [(0.0, whole[at : at + size]) for at in range(0, len(whole), size)]


def recording(dialect: str, name: str) -> tuple[Stream, Json]:
    """A stream, and all that its file says of it. `dialect` is its folder; OpenAI's are known without."""
    folder = dialect if (RECORDINGS / dialect).is_dir() else f"openai/{dialect}"
    file: Json = json.loads((RECORDINGS / folder / f"{name}.json").read_text("utf-8"))
    ends = file.get("ends", "[DONE]" if folder == "openai/chat" else "")
    return Stream(tuple(file["events"]), ends, file.get("packets", 0)), file


def refusal(status: int, said: str, code: str | None = None, **headers: str) -> Fault:
    """As OpenAI itself refuses."""
    error = {"error": {"message": said, "type": "some_error", "code": code, "param": None}}
    return Fault(status, json.dumps(error), plain=True, headers=headers)


class LoopbackOpenAI(LoopbackAnthropic):
    def __init__(
        self, streams: Iterable[Stream], faults: Iterable[Fault | None] = (), models: Iterable[str] = (), key: str = ""
    ) -> None:
        """`models` are those it lists; with `key`, only to whoever has it."""
        super().__init__(Script(rules=()), faults, key=key)
        self._streams = list(streams)
        self.models = tuple(models)

    @property
    def asked_for(self) -> list[Json]:
        """The bodies of the requests for an answer."""
        return [asked.body for asked in self.requests if not asked.path.endswith("/models")]

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if asked.path.endswith("/models"):
            if self._key and asked.key != self._key:
                return refusal(401, f"Incorrect API key provided: {asked.key}", "invalid_api_key"), ()
            return Fault(said=json.dumps({"data": [{"id": name} for name in self.models]}), plain=True), ()
        fault = (self.faults.popleft() if self.faults else None) or Fault()
        stream = self._streams.pop(0) if len(self._streams) > 1 else self._streams[0]
        return fault, () if fault.status != 200 else stream.sent()
