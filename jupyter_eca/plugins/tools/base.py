"""Owns the protocol of a tool, and `@tool`, which makes a tool of an async function: the types of its parameters are
the schema, and its docstring is the text that explains the tool to the model. This module must not know a tool: each
subject has a module beside it. `workspace/tool_result.py` has the result of a tool.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from dataclasses import dataclass, field
from enum import StrEnum
from string import Formatter
from time import monotonic
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, get_type_hints, runtime_checkable

from pydantic import AliasChoices, BaseModel, ConfigDict, ValidationError, create_model

from jupyter_eca.config.schema import VariablesConfig
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.errors import LocalError, ToolError
from jupyter_eca.plugins.loader import check_plug
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.known_versions import KnownVersions
from jupyter_eca.workspace.tool_result import ToolResult, ignore_report

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

    from jupyter_eca.engine.approval.approval_scope import ApprovalScope
    from jupyter_eca.engine.chat.subagents import SubagentTask
    from jupyter_eca.engine.model.task_plan import Plan
    from jupyter_eca.instructions.skills import SkillRegistry
    from jupyter_eca.protocol.content import FileChangeDetails, SubagentDetails, ToolCallDetails
    from jupyter_eca.workspace.jobs.sandbox import Sandbox
    from jupyter_eca.workspace.ports import (
        Checkpointer,
        Editor,
        Files,
        Jobs,
        Kernel,
        Kernels,
        Notebooks,
        PathRules,
        QuestionAsker,
        StoredOutputs,
    )
    from jupyter_eca.workspace.tool_result import Report


# How a JSON schema of pydantic names a nested model.
_DEFINITIONS: Final = "#/$defs/"
_REFERENCE: Final = re.compile(rf'"{re.escape(_DEFINITIONS)}([^"]+)"')


class Need(StrEnum):
    """A field of `ToolContext` that a tool needs. After a dot comes an ability that the `capabilities` of this field
    must have. If several needs are separated by `|`, one of them is enough. A field that is true or false must be
    true."""

    KERNEL = "kernel"
    KERNEL_CONTROL = "can_control_kernels"
    NOTEBOOKS = "notebooks"
    CELL_RUNS = "can_run_cells"
    QUESTIONS = "questions"
    EDITOR = "editor"
    DIAGNOSTICS = "notebooks|editor.diagnostics"
    """Live notebooks, or an editor that can report problems."""
    DEFINITION = "editor.definition"
    """An editor that can find where a name is defined."""
    REFERENCES = "editor.references"
    """An editor that can find where a name is used."""
    JOBS = "jobs"
    PLAN = "plan"
    RULES = "rules"
    SKILLS = "skills"
    SPAWNER = "spawner"
    OUTPUTS = "outputs"


class Spawner(Protocol):
    """Starts subagents for a call of this chat."""

    async def describe_call(self, call: str, task: SubagentTask) -> SubagentDetails | None:
        """Return the details of the call before it runs; None when there is no such agent."""
        ...

    async def spawn(self, call: str, task: SubagentTask, report: Callable[[Report], None]) -> ToolResult:
        """Run the task in a subagent, to its end. Raises: ToolError."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may use while it runs. An optional field is None if the chat has no such thing. A tool names such a
    field in its `needs`, and is then only offered in chats that have it."""

    chat: str
    """The id of the chat."""
    files: Files
    """The folders of the workspace. Every path goes through `files.resolve`."""
    call: str = ""
    """The id of the tool call."""
    kernel: Kernel | None = None
    """The kernel that the chat belongs to."""
    kernels: Kernels | None = None
    """The kernels of notebooks."""
    notebooks: Notebooks | None = None
    """The live notebooks."""
    notebook: str = ""
    """The path of the notebook in which the user asked, "" for none. It stays the same for the whole turn, even if the
    user looks at another notebook. Tools of notebooks and kernels use it when the call has no path."""
    direct: bool = False
    """Whether a program calls the tool, for example over MCP, so that no user has asked in a notebook. `notebook` is
    then the one that is active at the moment of the call."""
    questions: QuestionAsker | None = None
    """Asks the user; present when a client of the chat can answer."""
    editor: Editor | None = None
    """The user's editor; present when a client of the chat has one."""
    jobs: Jobs | None = None
    """Commands that run in the background."""
    checkpointer: Checkpointer | None = None
    """Makes checkpoints: copies of files and cells with which a change can be undone. It must be called before a file
    is changed."""
    plan: Plan | None = None
    """The chat's list of tasks."""
    rules: PathRules | None = None
    """The user's rules for certain files; present if the system prompt of the chat lists any."""
    skills: SkillRegistry | None = None
    """The skills that can be loaded."""
    spawner: Spawner | None = None
    """Starts subagents."""
    nested: bool = False
    """Whether a subagent makes the call, in the chat that spawned it."""
    outputs: StoredOutputs | None = None
    """Outputs of tools of this chat that were too long for the model."""
    previews: ShownPreviews | None = None
    """The changes that were shown in plan mode. The model names one by its id."""
    remembered: frozenset[ApprovalScope] = frozenset()
    """The approvals of the user for the session."""
    shown_details: ToolCallDetails | None = None
    """The details of the call as the chat showed them before it ran; None if it showed none. The tool compares them
    with what it would do now, because it must not do anything else than what the user saw."""
    earlier_calls: tuple[ToolCallDetails, ...] = ()
    """For a preview: the details of the calls before this one in the same reply. None of them has run yet."""
    from_cell: bool = False
    """Whether a cell of the kernel waits for the answer, because the user has asked in it with `%%eca`."""
    can_run_cells: bool = False
    """Whether cells of notebooks can run: a client has notebooks open, or the host finds their kernels. Where the host
    is itself in the kernel, its kernel is busy with the cell that asks."""
    can_control_kernels: bool = False
    """Whether a kernel can be interrupted and restarted. That of the cell that asks cannot."""
    is_unattended: bool = False
    """Whether a program such as nbclient runs the notebook. It has the notebook in memory, so no tool of live notebooks
    is offered."""
    marks_cells: bool = False
    """Whether the metadata of cells says that the assistant has written in them."""
    variables_config: VariablesConfig = field(default_factory=VariablesConfig)
    """The setting that limits how much a model learns about a variable."""
    known: KnownVersions = field(default_factory=KnownVersions)
    """The versions of files and cells that the model knows. A tool that shows a file or cell adds its version here, and
    a tool that replaces one checks the version first."""
    report: Callable[[Report], None] = ignore_report
    """Shows the progress of the call. It can be called often: it never waits and never raises."""
    moved_to_background: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the user moves the call to the background."""
    steered: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a message of the user waits until the model can read it, which is after this call."""
    sandbox: Sandbox | None = None
    """The sandbox for commands; None if the user wants none."""
    trusts_sandbox: bool = False
    """Whether commands in the sandbox need no approval, unless a rule says so."""
    clock: Callable[[], float] = monotonic
    """The clock by which a call waits, in seconds."""
    get_environment: Callable[[], Mapping[str, str]] = inherit_environment
    """Returns the variables of a program that a tool starts."""

    def has(self, need: Need) -> bool:
        """Return whether the context fulfils a need."""
        if need is Need.NOTEBOOKS and self.is_unattended:
            return False
        return any(self._has(*alternative.partition(".")) for alternative in need.split("|"))

    def _has(self, field: str, _: str, ability: str) -> bool:
        """Return whether a field is present and has an ability, "" for any. `_` is the dot between them."""
        value = getattr(self, field)
        return value is not None and value is not False and (not ability or getattr(value.capabilities, ability))


class ShownPreviews(Protocol):
    """The changes that the chat has shown in plan mode."""

    async def find(self, id: str) -> FileChangeDetails | None:
        """Return the changes that were shown under this id; None for an unknown one."""
        ...


class ToolFunction(Protocol):
    """The function of a native tool."""

    def __call__(self, context: ToolContext, /, *args: Any, **kwargs: Any) -> Awaitable[str | ToolResult]:
        """Run a call with the arguments that the model has written. A text is a result that only has this text."""
        ...


class Preview(Protocol):
    """A function that returns what a call would change, which the user sees before the approval. It changes nothing,
    and returns None if there is nothing to show.

    If it raises `ToolError`, the call fails and the user is not asked about it. But if a call before it in the same
    answer may still make it work, the user is asked, without details. After a `StaleSourceError` the call always fails.
    """

    def __call__(self, context: ToolContext, arguments: dict[str, Any], /) -> Awaitable[ToolCallDetails | None]: ...


class DefaultNotebook(Protocol):
    """Finds the notebook that is meant by a call without a path, so that the rules for approvals can be decided by this
    notebook."""

    def __call__(self, context: ToolContext, /) -> Awaitable[str]:
        """Return its path; "" when there is none."""
        ...


@runtime_checkable
class _Runnable(Protocol):
    """What every tool of a plug must have, see `Tool`. A tool without the other fields of `Tool` may be an old one: its
    calls fail, and the other tools still work."""

    @property
    def spec(self) -> ToolSpec:
        """What the model reads about the tool."""
        ...

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool with the arguments of the model."""
        ...


class Tool(Protocol):
    """A tool: a native one (`@tool`), a custom one, one of an MCP server, or one that a client offers and runs
    itself."""

    @property
    def spec(self) -> ToolSpec:
        """The name, description and schema of the tool, as the engine and the model know it."""
        ...

    @property
    def only_reads(self) -> bool:
        """Whether the tool only reads, and so changes nothing. Plan mode has only such tools."""
        ...

    @property
    def needs(self) -> frozenset[Need]:
        """What must be present in the context. Otherwise the tool is not offered."""
        ...

    @property
    def agents(self) -> frozenset[str]:
        """The agents that may use it; empty for all."""
        ...

    @property
    def makes_checkpoints(self) -> bool:
        """Whether it makes checkpoints of files or cells before it changes them, so that its changes can be undone."""
        ...

    @property
    def runs_on_replay(self) -> bool:
        """Whether its calls run again when a locked answer is replayed. This is needed if the effect of a call exists
        only in the memory of the kernel or of the chat. Calls of other tools only return their recorded results."""
        ...

    @property
    def preview(self) -> Preview | None:
        """The function that previews a call, None for none."""
        ...

    @property
    def default_notebook(self) -> DefaultNotebook | None:
        """Finds the notebook that is meant when the argument `path` is empty; None for a tool without such a
        default."""
        ...

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run a call. Raises: ToolError, which goes back to the model."""
        ...


class Plain:
    """The base class of tools that are not native, with the defaults: such a tool needs nothing, all agents may use it,
    it may change things, and it makes no checkpoints. See `Tool` for the fields."""

    __slots__ = ()
    only_reads: bool = False
    needs: frozenset[Need] = frozenset()
    agents: frozenset[str] = frozenset()
    makes_checkpoints: bool = False
    runs_on_replay: bool = False

    @property
    def preview(self) -> Preview | None:
        """None: there is no preview."""
        return None

    @property
    def default_notebook(self) -> DefaultNotebook | None:
        """None: no notebook is meant if the call names none."""
        return None


@dataclass(frozen=True, slots=True)
class NativeTool:
    """A tool made of a Python function by `@tool`. See `Tool` for the other fields."""

    spec: ToolSpec
    arguments: type[BaseModel]
    """The model of its arguments, which checks them."""
    function: ToolFunction
    """The function that runs a call."""
    only_reads: bool
    needs: frozenset[Need]
    agents: frozenset[str]
    makes_checkpoints: bool
    preview: Preview
    runs_on_replay: bool = False
    default_notebook: DefaultNotebook | None = None

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run the function. Raises: ToolError for arguments that do not fit the schema; TypeError when the function
        returns something else than it should; all that the function raises."""
        result = await self.function(context, **validate(self.arguments, arguments))
        # The function may be a plug's, whose types nobody has checked.
        if not isinstance(result, str | ToolResult):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"the tool must return a str or a ToolResult, and returned {type(result).__name__}")
        return ToolResult(result) if isinstance(result, str) else result


def check_tools(plug: Any) -> None:
    """Check the constant `TOOLS` of a plug. Raises: TypeError."""
    wanted = "a tuple of tools, such as `TOOLS = (count_words,)`, whose functions are below `@tool`"
    check_plug(plug, (tuple, list), wanted)
    for tool in plug:
        check_plug(tool, _Runnable, wanted)


def tool(
    *,
    reads: bool = False,
    needs: Iterable[Need] = (),
    agents: Iterable[str] = (),
    makes_checkpoints: bool = False,
    summary: str = "",
    approval_covers: ApprovalCoverage = ApprovalCoverage.TOOL,
    preview: Preview | None = None,
    runs_on_replay: bool = False,
    revertible: bool = False,
    paths: Iterable[str] = (),
    code: Iterable[str] = (),
    default_notebook: DefaultNotebook | None = None,
    parts: Mapping[str, NativeTool] | None = None,
    replaced_by: str = "",
    about_sandbox: Iterable[str] = (),
) -> Callable[[Callable[..., Any]], NativeTool]:
    """Make a tool of `async def name(context: ToolContext, argument: Annotated[str, Field(description=...)])`.

    `reads` is the field `only_reads` of `Tool`: the tool changes nothing. `summary` is the line that clients show for a
    call; `{argument}` in it is replaced by the value of an argument.
    `paths` are the arguments that name files or folders, and `code` those with source that a kernel runs. If the
    argument `path` may be left out, `default_notebook` finds the notebook that is meant then. The rules for approvals
    use all three: see `engine/approval/call_targets.py`. `revertible` is for a tool that only edits cells or
    text files, so that the user may review its changes afterwards. `parts`, `replaced_by` and `about_sandbox` are those
    of `ToolSpec`. See `Tool` for the others.

    Raises: LocalError when the function is not `async`, or the summary has another placeholder than a plain
    `{argument}` of this tool.
    """

    def make(function: Callable[..., Any]) -> NativeTool:
        """Return the tool that runs this function."""
        if not inspect.iscoroutinefunction(function):
            raise LocalError(f"A tool must be an async function: write `async def {function.__name__}`.")
        model = make_arguments_model(function)
        _check_summary(summary, model.model_fields)
        description = inspect.getdoc(function) or ""
        spec = ToolSpec(
            function.__name__,
            description,
            make_schema(model),
            summary=summary,
            approval_covers=approval_covers,
            paths=tuple(paths),
            code=tuple(code),
            other_names=_find_other_names(model),
            read_only_hint=reads,
            revertible=revertible,
            parts={kind: part.spec for kind, part in (parts or {}).items()},
            replaced_by=replaced_by,
            about_sandbox=tuple(about_sandbox),
        )
        checked = _make_checked_preview(model, preview)
        return NativeTool(
            spec,
            model,
            function,
            reads,
            frozenset(needs),
            frozenset(agents),
            makes_checkpoints,
            checked,
            runs_on_replay,
            default_notebook,
        )

    return make


def _make_checked_preview(model: type[BaseModel], preview: Preview | None) -> Preview:
    """Return the preview of a tool, which first checks the arguments and raises ToolError if they do not fit."""

    async def check(context: ToolContext, arguments: dict[str, Any]) -> ToolCallDetails | None:
        """Check the arguments, and return what the preview returns; None without a preview."""
        validate(model, arguments)
        return None if preview is None else await preview(context, arguments)

    return check


def make_arguments_model(function: Callable[..., Any], *, skip: int = 1) -> type[BaseModel]:
    """Return a pydantic model of the parameters of a function. The first `skip` parameters are left out, so their types
    may be imported for type checkers only."""
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    # A copy of the function with only these annotations, so that `get_type_hints` does not evaluate the others.
    bare = FunctionType(function.__code__, function.__globals__, closure=function.__closure__)
    bare.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    hints = get_type_hints(bare, include_extras=True)
    fields: dict[str, Any] = {
        parameter.name: (hints[parameter.name], ... if parameter.default is parameter.empty else parameter.default)
        for parameter in parameters
    }
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def make_schema(arguments: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of the arguments. Each request to a model has it, so it is short: it has no titles, which
    only repeat the names, and no empty defaults. The schemas of nested models are written where they are used."""
    schema = arguments.model_json_schema()
    definitions: dict[str, Any] = schema.pop("$defs", {})
    if any(_is_recursive(name, definitions) for name in definitions):
        return {**_shorten_schema(schema, {}), "$defs": definitions}
    return _shorten_schema(schema, definitions)


def _is_recursive(name: str, definitions: Mapping[str, Any]) -> bool:
    """Return whether a definition contains itself."""
    reached: set[str] = set()
    new = {name}
    while new:
        found = {match for other in new for match in _REFERENCE.findall(json.dumps(definitions[other]))}
        reached, new = reached | found, found - reached
    return name in reached


def _shorten_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without titles and empty defaults. A reference is replaced by its definition, if there is one.
    Null is left out where it is the default: an argument that is not needed can be left out."""
    if (name := str(schema.get("$ref", "")).removeprefix(_DEFINITIONS)) in definitions:
        schema = {**definitions[name], **{key: value for key, value in schema.items() if key != "$ref"}}
    is_null_by_default = schema.get("default", "") is None
    short: dict[str, Any] = {}
    for key, value in schema.items():
        match key, value:
            # The pattern 0 matches False too. `minLength` 1 is left out, because the argument is required anyway.
            case ("title", str()) | ("default", None | "" | 0 | []) | ("minLength", 1):
                pass
            case "anyOf", list() if is_null_by_default:
                kept = [choice for choice in cast("list[dict[str, Any]]", value) if choice != {"type": "null"}]
                short |= _shorten_schema(kept[0] if len(kept) == 1 else {"anyOf": kept}, definitions)
            case "properties", dict():
                properties = cast("dict[str, dict[str, Any]]", value)
                short[key] = {name: _shorten_schema(nested, definitions) for name, nested in properties.items()}
            case (("items" | "additionalProperties"), dict()):
                short[key] = _shorten_schema(cast("dict[str, Any]", value), definitions)
            case (("anyOf" | "oneOf" | "allOf" | "prefixItems"), list()):
                short[key] = [_shorten_schema(nested, definitions) for nested in cast("list[dict[str, Any]]", value)]
            case _:
                short[key] = value
    return short


def validate(model: type[BaseModel], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments as the model parses them. Raises: ToolError, which says which argument does not fit."""
    try:
        parsed = model.model_validate(arguments)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors(include_url=False)
        )
        names = ", ".join(model.model_fields) or "none"
        raise ToolError(
            f"The arguments do not fit: {problems}.", f"Call the tool again with arguments of its schema: {names}."
        ) from None
    return {name: getattr(parsed, name) for name in type(parsed).model_fields}


def _find_other_names(model: type[BaseModel]) -> dict[str, tuple[str, ...]]:
    """Return the other names that arguments may have, because models write those too. The keys are the own names."""
    return {
        name: tuple(str(other) for other in field.validation_alias.choices if other != name)
        for name, field in model.model_fields.items()
        if isinstance(field.validation_alias, AliasChoices)
    }


def _check_summary(summary: str, fields: Collection[str]) -> None:
    """Check that a summary has only plain placeholders, such as `{path}`. A model may send values of any type, so that
    `{n:d}` or `{path[0]}` could raise an error in a turn. Raises: LocalError."""
    for _, name, spec, conversion in Formatter().parse(summary):
        if name is not None and (name not in fields or spec or conversion):
            raise LocalError(f"The summary {summary!r} may hold {{argument}} only, of {', '.join(fields) or 'none'}.")
