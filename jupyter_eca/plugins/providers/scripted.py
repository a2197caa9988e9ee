"""The provider of scripted models, whose answers are in a file: for tests, tours and documentation. The format of the
file is public and stable.

This provider must not call a model. A model is configured as `providers.scripted.models.NAME.script = FILE` (relative
to the configuration's folder), and is named `scripted/NAME`. The file is one JSON object:

    {"rules": [
       {"message": "hello",                        # regex, searched in the last user message
        "reply": [{"reasoning": "A greeting."},    # shown as the model's thoughts
                  {"text": "Hi there!", "chunk": 4, "delay": 0.02}]},   # 4 characters at a time, 20 ms apart
       {"message": "load",
        "reply": [{"text": "Let me run it."}, {"tool": "run_code", "arguments": {"code": "x = 1"}}]},
       {"result": "rejected", "tool": "run_code",  # regex, searched in the last tool result (of that tool)
        "reply": [{"text": "Then I leave it."}]},
       {"result": "", "reply": [{"text": "Done."}]},
       {"message": "busy", "times": 2,             # answers only twice; after that the later rules answer
        "reply": [{"error": "overloaded", "status": 529, "retryAfter": 1}]},
       {"message": "", "reply": [{"error": "I have no answer to that."}]}]}

The first rule that matches answers. After an error with a temporary status (429, 500 and more) the request is sent
again, if the reply has nothing before the error. `message` rules are for replies to a user, `result` rules for replies
to a tool. A rule with both is for replies to a tool, and its `message` must match the message before.

With `"window": N` beside the rules, the model has a context window of N tokens with four characters each, and refuses a
longer request. In texts and arguments `{message}` is the last user message, `{result}` the last tool result, and
`$name` a named group of the rule's regex. The last user message is the question together with all that was added to it,
such as the contents of a file that it names: `^` and `$` in a regex are the ends of this whole text. If several texts
come after the last reply, the last of these counts.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from jupyter_eca.config.disk.regular_file import read_regular
from jupyter_eca.engine.model.compaction import estimate_tokens
from jupyter_eca.engine.model.context_window import CHARS_PER_TOKEN
from jupyter_eca.engine.model.delta import Delta, ReasoningDelta, ReasoningEnd, TextDelta, ToolCallDelta, UsageDelta
from jupyter_eca.engine.model.request import TextPart, ToolResultPart, ToolUsePart
from jupyter_eca.errors import FailureKind, ProviderError, UnknownModel
from jupyter_eca.plugins.providers.connection.failures import classify_status
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.engine.model.request import ModelRequest


# The bytes of the largest script. A script may have whole notebooks in it, with their outputs.
MAX_SCRIPT_BYTES = 100_000_000


class ReplyPart(Model):
    """A part of a reply. It has exactly one of `text`, `reasoning`, `tool` and `error`."""

    text: str | None = None
    """Text of the answer."""
    reasoning: str | None = None
    """Thoughts of the model."""
    tool: str | None = None
    """The name of a tool that is called."""
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The arguments of the tool call."""
    error: str | None = None
    """The message of an error."""
    status: int | None = None
    """The HTTP status of the error. Not set: 400."""
    retry_after: float | None = None
    """The seconds after which the server wants to be asked again."""
    chunk: int = Field(default=0, ge=0)
    """The characters of each delta. 0: all at once."""
    delay: float = Field(default=0.0, ge=0)
    """The seconds before each delta."""


class ScriptRule(Model):
    """A rule of a script: when it matches, and the reply."""

    message: str | None = None
    """A regex for the last user message."""
    result: str | None = None
    """A regex for the last tool result. Only set in rules for replies to a tool."""
    tool: str | None = None
    """The tool whose result it must be. Not set: any tool."""
    times: int | None = Field(default=None, gt=0)
    """How often the rule can answer. Not set: always."""
    reply: tuple[ReplyPart, ...]
    """The parts of the reply, in their order."""


class Script(Model):
    """The content of a script file."""

    rules: tuple[ScriptRule, ...]
    """The rules. The first one that matches answers."""
    window: int | None = Field(default=None, gt=0)
    """The context window of the model in tokens. Not set: no limit."""

    def answer(self, request: ModelRequest, answer_counts: Counter[int]) -> tuple[ReplyPart, ...]:
        """Return the reply of the first rule that matches, with its placeholders filled in. `answer_counts` counts how
        often each rule has answered, by the index of the rule.

        Raises: ProviderError when no rule matches.
        """
        question = _Question.from_request(request)
        for index, rule in enumerate(self.rules):
            if rule.times is not None and answer_counts[index] >= rule.times:
                continue
            if (match := question.match(rule)) is not None:
                answer_counts[index] += 1
                return tuple(_fill_in(part, question, match) for part in rule.reply)
        raise ProviderError(f"The script has no rule for {question.text[:200]!r}. Add one to it.")


@dataclass(frozen=True, slots=True)
class _Question:
    """The part of a request that rules are compared with."""

    message: str
    """The last user message."""
    result: str | None
    """The last tool result, if it comes after that message."""
    tool: str
    """The tool that has returned it, "" for none."""

    @property
    def text(self) -> str:
        """The text that the model must reply to."""
        return self.message if self.result is None else self.result

    @staticmethod
    def from_request(request: ModelRequest) -> _Question:
        """Return the question of a request."""
        last = request.messages[-1]
        texts = [part.text for part in last.parts if isinstance(part, TextPart)]
        results = [part for part in last.parts if isinstance(part, ToolResultPart)]
        user_texts = (message.text for message in reversed(request.messages) if message.role == "user")
        message = next((text for text in user_texts if text), "")
        if texts or not results:
            return _Question(texts[-1] if texts else "", None, "")
        parts = (part for earlier in request.messages for part in earlier.parts)
        uses = (part for part in parts if isinstance(part, ToolUsePart))
        tool = next((use.name for use in uses if use.id == results[-1].id), "")
        return _Question(message, results[-1].text, tool)

    def match(self, rule: ScriptRule) -> re.Match[str] | None:
        """Return the match of a rule, None if the rule is not for this question."""
        if self.result is None:
            return None if rule.message is None or rule.result is not None else re.search(rule.message, self.message)
        if rule.result is None or rule.tool not in {None, self.tool}:
            return None
        if rule.message is not None and not re.search(rule.message, self.message):
            return None
        return re.search(rule.result, self.result)


def _fill_in(part: ReplyPart, question: _Question, match: re.Match[str]) -> ReplyPart:
    """Return a part of a reply with its placeholders filled in."""
    values = {"message": question.message, "result": question.result or ""}

    def fill(text: str) -> str:
        """Return a text with its placeholders filled in."""
        text = re.sub(r"\{(message|result)\}", lambda placeholder: values[placeholder[1]], text)
        return re.sub(r"\$(\w+)", lambda name: match.groupdict().get(name[1]) or name[0], text)

    return part.model_copy(
        update={
            "text": part.text and fill(part.text),
            "arguments": {
                name: fill(value) if isinstance(value, str) else value for name, value in part.arguments.items()
            },
        }
    )


def load(path: Path) -> Script:
    """Load a script. Raises: ProviderError that names the file."""
    try:
        return Script.model_validate_json(read_regular(path, MAX_SCRIPT_BYTES))
    except OSError as error:
        raise ProviderError(f"The script {path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ProviderError(f"The script {path} is not valid: {place}: {first['msg']}.") from error


def make_deltas(part: ReplyPart, index: int) -> Iterator[Delta]:
    """Yield the pieces in which a reply part is streamed. `index` is its place in the reply. Raises: ProviderError for
    an `error` part."""
    if part.error is not None:
        kind, temporary = classify_status(part.status or 400)
        raise ProviderError(
            part.error, status=part.status, kind=kind, retryable=temporary, retry_after=part.retry_after
        )
    for piece in _split(part.text or "", part.chunk):
        yield TextDelta(piece)
    for piece in _split(part.reasoning or "", part.chunk):
        yield ReasoningDelta(piece)
    if part.reasoning is not None:
        yield ReasoningEnd()
    if part.tool is not None:
        yield ToolCallDelta(index, name=part.tool)
        for piece in _split(json.dumps(part.arguments), part.chunk):
            yield ToolCallDelta(index, arguments_text=piece)


def _split(text: str, size: int) -> list[str]:
    """Return a text in pieces of `size` characters; 0 for one piece. An empty text has no pieces."""
    length = size or len(text) or 1
    return [text[start : start + length] for start in range(0, len(text), length)]


class ScriptedProvider:
    """The provider plug `scripted`. It answers with the replies of a script. The class implements `base.Provider`."""

    # The name that users write before the model: `scripted/MODEL`.
    name = "scripted"
    # Its models never become the default model by themselves.
    rank = None
    # All its models cost nothing.
    free = True
    # What answers in place of a real model. The report of `doctor` begins a sentence with this text.
    stand_in = "A script"

    def __init__(self) -> None:
        # How often each rule has answered, by the file of its script and its index.
        self._answer_counts: dict[Path, Counter[int]] = {}

    async def models(self, settings: ProviderConfig) -> tuple[str, ...]:
        """Return the configured models."""
        return tuple(settings.models)

    async def stream(self, model: str, request: ModelRequest, settings: ProviderConfig) -> AsyncGenerator[Delta]:
        """Read the script, and yield the pieces of the reply of its first rule that matches. Raises: ProviderError."""
        file = settings.models[model].script if model in settings.models else None
        if file is None:
            raise UnknownModel(
                f"There is no script for scripted/{model}. Set providers.scripted.models.{model}.script."
            )
        path = Path(settings.folder) / file
        answer_counts = self._answer_counts.setdefault(path, Counter())
        script = await asyncio.to_thread(load, path)
        input_tokens, written_chars = estimate_tokens(request.messages), 0
        if script.window is not None and input_tokens > script.window:
            raise ProviderError(
                f"The chat is too long for this model: {input_tokens} of {script.window} tokens.",
                kind=FailureKind.CONTEXT,
            )
        for index, part in enumerate(script.answer(request, answer_counts)):
            for delta in make_deltas(part, index):
                await asyncio.sleep(part.delay)
                written_chars += len(getattr(delta, "text", ""))
                yield delta
        yield UsageDelta(input_tokens, written_chars // CHARS_PER_TOKEN, cost=0.0, context_limit=script.window or 0)


PROVIDER = ScriptedProvider()
