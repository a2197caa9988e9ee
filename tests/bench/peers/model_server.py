"""The model that all peers ask: OpenAI's interface for chats on this machine, in a process of its own.

`python -m tests.bench.peers.model_server` prints its url and serves until it is stopped. A word in the last message of
a request chooses the answer: `STREAM` one of many pieces, `CLOCK` one that begins with the time at which it was sent,
and anything else a short one, as for the title of a chat. Pages may ask it, too: it allows every origin.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.plugins.providers.scripted import Script
from tests.support.anthropic_server import Fault, LoopbackAnthropic, Recorded

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

MODEL: Final = "loopback-model"
PIECES: Final = 2000
# As long as the pieces of the vendors usually are, and prose with lines in it, as answers are.
PIECE: Final = "some words, "
LINE: Final = "some words.\n\n"
PIECES_IN_A_LINE: Final = 20
STREAM: Final = "tell-all"
CLOCK: Final = "tell-time"
END: Final = "That-is-the-end."
MORE: Final = 20
MORE_SECONDS: Final = 0.01
_OPEN: Final = {f"Access-Control-Allow-{name}": "*" for name in ("Origin", "Headers", "Methods")}


def make_pieces(question: str) -> Iterator[tuple[float, str]]:
    """Return the pieces of an answer, each with the seconds before it."""
    if STREAM in question:
        for number in range(1, PIECES):
            yield 0, PIECE if number % PIECES_IN_A_LINE else LINE
        yield 0, END
    elif CLOCK in question:
        # The clock that pages have, too. More follows as models speak: the first words must not wait for it.
        yield 0, f"clock{time.time() * 1000:.0f}clock "
        for _ in range(MORE):
            yield MORE_SECONDS, "word "
        yield MORE_SECONDS, END
    else:
        yield 0, "Hello."


class ModelServer(LoopbackAnthropic):
    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if not asked.body:  # a list of the models, or a page that asks whether it may ask
            models = {"object": "list", "data": [{"id": MODEL, "object": "model"}]}
            return Fault(said=json.dumps(models), plain=True, headers=_OPEN), ()
        question = json.dumps(asked.body["messages"][-1])
        if asked.body.get("stream"):
            return Fault(headers=_OPEN), _stream(question)
        whole = _whole(question)
        # It takes as long as a stream would. All who ask do so one after the other, so nobody else waits.
        time.sleep(sum(delay for delay, _ in make_pieces(question)))
        return Fault(said=json.dumps(whole), plain=True, headers=_OPEN), ()


def _stream(question: str) -> Iterator[tuple[float, bytes]]:
    yield 0, _chunk({"role": "assistant", "content": ""})
    for delay, text in make_pieces(question):
        yield delay, _chunk({"content": text})
    yield 0, _chunk({}, "stop")
    yield 0, b"data: [DONE]\n\n"


def _chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return f"data: {json.dumps(_completion('chat.completion.chunk', choice))}\n\n".encode()


def _whole(question: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": "".join(text for _, text in make_pieces(question))}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return _completion("chat.completion", choice) | {"usage": usage}


def _completion(kind: str, choice: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chat-1", "object": kind, "created": 1, "model": MODEL, "choices": [choice]}


@contextmanager
def running_model() -> Generator[str]:
    """Give the url of a model's server, to which `/v1` is added."""
    command = [sys.executable, "-m", "tests.bench.peers.model_server"]
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


if __name__ == "__main__":
    with ModelServer(Script(rules=())) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
