"""The user's custom tools: command lines in the configuration (ECA's key `customTools`), whose arguments a model fills
in. For example, the command `git log -n {{count}}` has the argument `count`.

This module must not parse a command line: `engine.text.shell_template` does. `shell` runs the command.
"""

from __future__ import annotations

import shlex
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.engine.text import shell_template
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Plain
from jupyter_eca.plugins.tools.shell import ShellCommandRun, find_sandbox
from jupyter_eca.protocol.content import SandboxState, ShellCommandDetails, ShellCommandPart
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from jupyter_eca.config import Config
    from jupyter_eca.config.custom_tools import CustomToolConfig
    from jupyter_eca.plugins.tools.base import Preview, Tool, ToolContext

# The bytes of a command line. Linux allows 128 KiB for one argument of a program. The line is one argument, and quoting
# makes it longer.
_MAX_LINE_BYTES: Final = 60_000

# The Python types of each type of a JSON schema.
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


# The keys of a schema that say what a value is.
_TYPE_KEYS: Final = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})


def make_tools(config: Config) -> dict[str, Tool]:
    """Return the custom tools of a configuration by name."""
    return {
        name: CustomTool(_make_spec(name, tool_config), tool_config)
        for name, tool_config in config.custom_tools.items()
    }


def _make_spec(name: str, config: CustomToolConfig) -> ToolSpec:
    """Return the tool as the model knows it. An argument without a type is a string. Any argument may be a path, so the
    rules for paths apply to all (`paths`). If the user changes the command, an approval of the tool for the session no
    longer counts (`definition`)."""
    arguments = config.parameters
    properties = {
        name: schema if schema.keys() & _TYPE_KEYS else {"type": "string", **schema}
        for name, schema in arguments.properties.items()
    }
    schema = {"type": "object", "properties": properties, "required": list(arguments.required)}
    return ToolSpec(
        name,
        config.description,
        schema,
        summary=f"Running {name}",
        paths=tuple(properties),
        definition=config.command,
    )


@dataclass(frozen=True, slots=True)
class CustomTool(Plain):
    """A custom tool. Implements `Tool`. Nobody knows what it does, so it counts as a tool that changes things."""

    spec: ToolSpec
    """The tool as the model knows it."""
    config: CustomToolConfig
    """The tool as the user has configured it."""

    @property
    def preview(self) -> Preview:
        """The function that returns the command line, which the user sees before the approval."""
        return self._preview

    async def _preview(self, context: ToolContext, arguments: dict[str, Any]) -> ShellCommandDetails:
        """Return the command line of a call, and whether it would run in the sandbox. The present settings decide about
        the sandbox: without `shown_details`, `find_sandbox` does not look at what was shown before."""
        # Nothing was shown yet, so the settings of now decide about the sandbox.
        state, _ = await find_sandbox(replace(context, shown_details=None))
        return _make_details(self._build_line(arguments), state)

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Run the command line in the first folder of the workspace. It runs with bash, because users write such lines
        for bash. Raises: ToolError."""
        line = self._build_line(arguments)
        folder = await run_read(context.files.resolve, ".")
        bash = shutil.which("bash")
        if bash is None:
            raise ToolError("There is no bash here, which custom tools need.")
        # ECA's variables, by which a program finds out that an agent runs it, and in which chat.
        environment = f"export ECA_AGENT=1 ECA_CHAT_ID={shlex.quote(context.chat)}"
        command = f"{environment}; exec {shlex.quote(bash)} -c {shlex.quote(line)}"
        state, sandbox = await find_sandbox(context)
        seconds, variables = self.config.timeout_seconds, context.get_environment()
        run = await ShellCommandRun(command, folder, variables, seconds, sandbox=sandbox).finish()
        return ToolResult(run.text, error=run.error, details=_make_details(line, state))

    def _build_line(self, arguments: dict[str, Any]) -> str:
        """Return the command line with the arguments filled in. Raises: ToolError when they do not fit."""
        _check_arguments(self.config, arguments)
        names = self.config.parameters.properties
        try:
            line = shell_template.fill(shell_template.parse(self.config.command, names), arguments)
        except ValueError as error:
            raise ToolError(f"The arguments do not fit: {error}.", "Call the tool again without that.") from error
        if len(line.encode(errors="replace")) > _MAX_LINE_BYTES:
            raise ToolError("The arguments are too long for a command line.", "Write them to a file, and name that.")
        return line


def _make_details(line: str, sandbox: SandboxState | None) -> ShellCommandDetails:
    """Return what clients show of a call: the command line as one command."""
    return ShellCommandDetails(commands=(ShellCommandPart(command=line),), line=line, sandbox=sandbox)


def _fits(value: Any, type: Any) -> bool:
    """Return whether a value has the `type` of a JSON schema. The command itself checks the rest of the schema."""
    if type is None:
        return True
    kinds: list[str] = cast("list[str]", type) if isinstance(type, list) else [type]
    if isinstance(value, bool):  # in Python it is an integer too
        return "boolean" in kinds
    return any(isinstance(value, _TYPES[kind]) for kind in kinds)


def _check_arguments(config: CustomToolConfig, arguments: dict[str, Any]) -> None:
    """Check the arguments of a call. Raises: ToolError, which names each argument that does not fit the schema."""
    known = config.parameters.properties
    wrong = [f"{name}: there is no such argument" for name in arguments if name not in known]
    wrong += [f"{name}: it is required" for name in config.parameters.required if arguments.get(name) is None]
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
