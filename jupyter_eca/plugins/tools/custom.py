"""The user's own tools: command lines of the key `customTools` (ECA's), whose arguments a model fills in. `shell`
runs them.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.engine.text import shell_template
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Plain
from jupyter_eca.plugins.tools.shell import run_to_end
from jupyter_eca.protocol.content import ShellCommandDetails, ShellCommandPart
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from jupyter_eca.config import Config
    from jupyter_eca.config.custom_tools import CustomToolConfig
    from jupyter_eca.plugins.tools.base import Preview, Tool, ToolContext

# Linux takes 128 KiB for one argument of a program, and the line is one, quoted once more.
_MAX_LINE: Final = 60_000

_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


# Keys of a schema by which it says what a value is.
_TYPED: Final = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})


def tools(config: Config) -> dict[str, Tool]:
    return {name: CustomTool(_spec(name, one), one) for name, one in config.custom_tools.items()}


def _spec(name: str, written: CustomToolConfig) -> ToolSpec:
    arguments = written.parameters
    properties = {
        name: one if one.keys() & _TYPED else {"type": "string", **one} for name, one in arguments.properties.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(arguments.required)}
    return ToolSpec(
        name,
        written.description,
        schema,
        summary=f"Running {name}",
        paths=tuple(properties),
        definition=written.command,
    )


@dataclass(frozen=True, slots=True)
class CustomTool(Plain):
    """A tool of the user: a `Tool`. What it does is unknown, so it is taken to change things."""

    spec: ToolSpec
    written: CustomToolConfig

    @property
    def preview(self) -> Preview:
        return self._preview

    async def _preview(self, _context: ToolContext, arguments: dict[str, Any]) -> ShellCommandDetails:
        return _details(self._line(arguments))

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run the line in the first folder of the workspace, by bash, which such lines are written for. Raises:
        ToolError."""
        line = self._line(arguments)
        folder = await run_read(context.files.resolve, ".")
        bash = shutil.which("bash")
        if bash is None:
            raise ToolError("There is no bash here, which custom tools need.")
        about = f"export ECA_AGENT=1 ECA_CHAT_ID={shlex.quote(context.chat)}"
        whole = f"{about}; exec {shlex.quote(bash)} -c {shlex.quote(line)}"
        done = await run_to_end(whole, folder, self.written.timeout_seconds)
        return ToolResult(done.text, error=done.error, details=_details(line))

    def _line(self, arguments: dict[str, Any]) -> str:
        _check(self.written, arguments)
        names = self.written.parameters.properties
        try:
            line = shell_template.fill(shell_template.parse(self.written.command, names), arguments)
        except ValueError as error:
            raise ToolError(f"The arguments do not fit: {error}.", "Call the tool again without that.") from error
        if len(line.encode(errors="replace")) > _MAX_LINE:
            raise ToolError("The arguments are too long for a command line.", "Write them to a file, and name that.")
        return line


def _details(line: str) -> ShellCommandDetails:
    return ShellCommandDetails(commands=(ShellCommandPart(command=line),), line=line)


def _fits(value: Any, type: Any) -> bool:
    """Whether a value has the `type` of the JSON schema. The command checks everything else."""
    if type is None:
        return True
    kinds: list[str] = cast("list[str]", type) if isinstance(type, list) else [type]
    return any(isinstance(value, _TYPES[kind]) and isinstance(value, bool) <= (kind == "boolean") for kind in kinds)


def _check(written: CustomToolConfig, arguments: dict[str, Any]) -> None:
    known = written.parameters.properties
    wrong = [f"{name}: there is no such argument" for name in arguments if name not in known]
    wrong += [f"{name}: it is required" for name in written.parameters.required if arguments.get(name) is None]
    for name, value in arguments.items():
        schema = known.get(name, {})
        if value is not None and not _fits(value, schema.get("type")):
            wrong.append(f"{name}: it must be of type {schema['type']}")
        elif isinstance(schema.get("enum"), list) and value not in schema["enum"]:
            wrong.append(f"{name}: it must be one of {schema['enum']}")
    if wrong:
        raise ToolError(
            f"The arguments do not fit: {'; '.join(wrong)}.", "Call the tool again with arguments of its schema."
        )
