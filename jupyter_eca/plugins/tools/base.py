"""`@tool`: a typed async function becomes a tool; its signature is the schema and its docstring the prompt."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass, field, replace
from enum import StrEnum
from string import Formatter
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from jupyter_eca.config.schema import VariablesConfig
from jupyter_eca.engine.model.request import Remembers, ToolSpec
from jupyter_eca.errors import LocalError, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from jupyter_eca.engine.chat.subagents import Task
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart
    from jupyter_eca.engine.model.task_plan import Plan
    from jupyter_eca.instructions.skills import Shelf
    from jupyter_eca.protocol.content import SubagentDetails, ToolCallDetails, UrlContent
    from jupyter_eca.workspace.ports import (
        Editor,
        Files,
        Jobs,
        Keeper,
        KeptOutputs,
        Kernel,
        Kernels,
        Notebooks,
        PathRules,
        Questions,
    )

# What one result may put into a model's context; the same cap as ECA's (3.9, layer one).
MAX_RESULT_CHARS = 50_000


class Need(StrEnum):
    """A field of the context without which a tool is not offered, or something that what is there `can`; of several
    with `|` between, any one will do."""

    KERNEL = "kernel"
    NOTEBOOKS = "notebooks"
    QUESTIONS = "questions"
    EDITOR = "editor"
    DIAGNOSTICS = "notebooks|editor.diagnostics"
    DEFINITION = "editor.definition"
    REFERENCES = "editor.references"
    JOBS = "jobs"
    PLAN = "plan"
    RULES = "rules"
    SKILLS = "skills"
    SPAWNER = "spawner"
    OUTPUTS = "outputs"


@dataclass(frozen=True, slots=True)
class Report:
    """How far a call has come, in place of what it said before: `text` as a terminal would show it, `done` of `total`
    in whatever unit. `background`: it goes on there as soon as `ToolContext.away` is set."""

    text: str = ""
    done: float | None = None
    total: float | None = None
    background: bool = False


def unheard(_report: Report) -> None:
    """Where nobody looks on."""


class Spawner(Protocol):
    """Has other agents do something for a call of this chat."""

    async def details(self, call: str, task: Task) -> SubagentDetails | None:
        """None when there is no such agent."""
        ...

    async def spawn(self, call: str, task: Task, report: Callable[[Report], None]) -> ToolResult:
        """Returns when it has ended. Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may touch. `call` is the id of its call; `kernel` is the one the chat belongs to, `kernels` those of
    notebooks; `questions` and `editor` are there when a client of the chat can answer. `keeper` must be told of a file
    before it is changed; `plan` is the chat's list of tasks, `outputs` are those of its tools that were too long for
    the model; `rules` are there when the chat was told of rules for some files; `spawner` has other agents at hand.
    `nested`: the call is a subagent's, in the chat that spawned it; `remembered` what the user approved for the
    session. `announced` is what was told of this call before it was approved. `from_cell`: a cell of the kernel waits
    for the answer. `telling` says how much of a variable a model is told. `report` shows how far the call is, as often
    as one likes: it never waits and never raises; `away` is set when the user wants to wait for it no longer."""

    chat: str
    files: Files
    call: str = ""
    kernel: Kernel | None = None
    kernels: Kernels | None = None
    notebooks: Notebooks | None = None
    questions: Questions | None = None
    editor: Editor | None = None
    jobs: Jobs | None = None
    keeper: Keeper | None = None
    plan: Plan | None = None
    rules: PathRules | None = None
    skills: Shelf | None = None
    spawner: Spawner | None = None
    nested: bool = False
    outputs: KeptOutputs | None = None
    remembered: frozenset[str] = frozenset()
    announced: ToolCallDetails | None = None
    from_cell: bool = False
    telling: VariablesConfig = field(default_factory=VariablesConfig)
    report: Callable[[Report], None] = unheard
    away: asyncio.Event = field(default_factory=asyncio.Event)

    def has(self, need: Need) -> bool:
        return any(self._has(*one.partition(".")) for one in need.split("|"))

    def _has(self, field: str, _: str, ability: str) -> bool:
        found = getattr(self, field)
        return found is not None and (not ability or getattr(found.can, ability))


@dataclass(frozen=True, slots=True)
class ToolResult:
    """`interrupted`: the user ended it by hand, and means the whole turn. `images` are shown, and sent to the model, as
    `documents` are; `links` are shown, and of the model's business only as far as `text` has them. `whole` is how many
    characters were kept of a text that was too long; a tool gives all of it."""

    text: str
    error: bool = False
    details: ToolCallDetails | None = None
    images: tuple[ImagePart, ...] = ()
    links: tuple[UrlContent, ...] = ()
    interrupted: bool = False
    whole: int | None = None
    documents: tuple[DocumentPart, ...] = ()
    rule: str = ""
    """The id of the user's rule whose text this is."""


class ToolFunction(Protocol):
    def __call__(self, context: ToolContext, /, *args: Any, **kwargs: Any) -> Awaitable[str | ToolResult]: ...


class Preview(Protocol):
    """What a call would do, told before anybody approves it. Changes nothing; None when there is nothing to show.
    It may raise: then the call is announced without."""

    def __call__(self, context: ToolContext, arguments: dict[str, Any], /) -> Awaitable[ToolCallDetails | None]: ...


class Tool(Protocol):
    """`reads` tools change nothing, so plan mode keeps them; one without its `needs` is not offered; one with `agents`
    only to those. One that `keeps` files before it changes them can be taken back. What `lives` in memory alone, of the
    kernel or the chat, is made again when a locked answer is replayed; what is on disk stays as it is."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def reads(self) -> bool: ...

    @property
    def needs(self) -> frozenset[Need]: ...

    @property
    def agents(self) -> frozenset[str]: ...

    @property
    def keeps(self) -> bool: ...

    @property
    def lives(self) -> bool: ...

    @property
    def preview(self) -> Preview | None: ...

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Raises: ToolError, which goes back to the model."""
        ...


class Plain:
    """What a tool is that says nothing else: any agent's, anywhere; it is taken to change things, and keeps nothing."""

    __slots__ = ()
    reads: bool = False
    needs: frozenset[Need] = frozenset()
    agents: frozenset[str] = frozenset()
    keeps: bool = False
    lives: bool = False

    @property
    def preview(self) -> Preview | None:
        return None


@dataclass(frozen=True, slots=True)
class NativeTool:
    """A tool that is a function of ours."""

    spec: ToolSpec
    arguments: type[BaseModel]
    function: ToolFunction
    reads: bool
    needs: frozenset[Need]
    agents: frozenset[str]
    keeps: bool
    preview: Preview | None
    lives: bool = False

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Raises: ToolError for arguments that do not fit the schema, and whatever the function raises."""
        result = await self.function(context, **validated(self.arguments, arguments))
        return ToolResult(result) if isinstance(result, str) else result


def tool(
    *,
    reads: bool = False,
    needs: Iterable[Need] = (),
    agents: Iterable[str] = (),
    keeps: bool = False,
    summary: str = "",
    remembers: Remembers = Remembers.TOOL,
    preview: Preview | None = None,
    lives: bool = False,
) -> Callable[[Callable[..., Any]], NativeTool]:
    """Make a tool of `async def name(context: ToolContext, argument: Annotated[str, Field(description=...)])`.

    Raises: LocalError when the summary holds more than plain `{argument}`s of this tool.
    """

    def make(function: Callable[..., Any]) -> NativeTool:
        model = arguments_of(function)
        _check(summary, model.model_fields)
        description = inspect.getdoc(function) or ""
        spec = ToolSpec(function.__name__, description, schema_of(model), summary=summary, remembers=remembers)
        return NativeTool(spec, model, function, reads, frozenset(needs), frozenset(agents), keeps, preview, lives)

    return make


def arguments_of(function: Callable[..., Any], *, behind: int = 1) -> type[BaseModel]:
    """Its parameters behind the first one, whose type need not be there at run time."""
    parameters = list(inspect.signature(function).parameters.values())[behind:]
    bare = FunctionType(function.__code__, function.__globals__, closure=function.__closure__)
    bare.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    hints = get_type_hints(bare, include_extras=True)
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is one.empty else one.default) for one in parameters
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """Without the titles, which say the names again."""
    schema = arguments.model_json_schema()
    schema.pop("title", None)
    for argument in schema.get("properties", {}).values():
        argument.pop("title", None)
    return schema


def validated(model: type[BaseModel], arguments: dict[str, Any]) -> dict[str, Any]:
    """Raises: ToolError that says what does not fit."""
    try:
        given = model.model_validate(arguments)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_url=False))
        raise ToolError(
            f"The arguments do not fit: {problems}.", "Call the tool again with arguments of its schema."
        ) from None
    return {name: getattr(given, name) for name in type(given).model_fields}


def _check(summary: str, fields: Collection[str]) -> None:
    """The summary is filled in with what a model wrote, of any type: `{n:d}` or `{path[0]}` would raise in a turn."""
    for _, name, spec, conversion in Formatter().parse(summary):
        if name is not None and (name not in fields or spec or conversion):
            raise LocalError(f"The summary {summary!r} may hold {{argument}} only, of {', '.join(fields) or 'none'}.")


def capped(result: ToolResult) -> ToolResult:
    """The head and the tail of a text that is too long, for those who have no place where the whole could be kept."""
    if len(result.text) <= MAX_RESULT_CHARS:
        return result
    head, tail = shortened(result.text, MAX_RESULT_CHARS)
    left_out = len(result.text) - len(head) - len(tail)
    return replace(result, text=f"{head}\n\n[... {left_out} characters left out ...]\n\n{tail}")


def shortened(text: str, size: int, lines: int | None = None) -> tuple[str, str]:
    """Head and tail of a text that has more characters, or more lines: errors stand at the end."""
    head, tail = text[: size // 2], text[-(size // 2) :]
    if lines is not None:
        head = "".join(head.splitlines(keepends=True)[: max(lines // 2, 1)])
        tail = "".join(tail.splitlines(keepends=True)[-max(lines // 2, 1) :])
    return head, tail
