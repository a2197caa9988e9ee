"""Owns the offers of our native tools: how the tools of our own package are offered over MCP. There their names have
the form `PREFIX_CATEGORY_ACTION`, such as `eca_file_read`. Our own models know them by other names, such as
`read_file`, so the names in their descriptions are translated.

It must not run the tools: `assistant.py` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.engine.approval.policy import is_hidden
from jupyter_eca.engine.model.task_plan import Plan
from jupyter_eca.errors import ToolError
from jupyter_eca.fronts.mcp.offers_base import Hints, Offer, RefusedCall
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.fronts.mcp.offers_base import OfferCall, ToolAnswer
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.tools.base import Tool

# New names for the tools whose own names do not begin with a category. Any other tool keeps its name after the prefix.
_NAMES: Final = {
    "ask_user": "user_ask",
    "bg_job": "shell_job",
    "directory_tree": "file_tree",
    "edit_file": "file_edit",
    "grep": "file_search",
    "inspect": "kernel_inspect",
    "move_file": "file_move",
    "preview_file_change": "file_preview",
    "preview_notebook_change": "notebook_preview",
    "read_file": "file_read",
    "run_code": "kernel_run_code",
    "skill": "skill_load",
    "task": "plan_task",
    "variables": "kernel_variables",
    "write_file": "file_write",
}
# The tools that only create something, and never change or remove what exists.
_CREATING: Final = frozenset({"notebook_create"})


@dataclass(frozen=True, slots=True)
class ToolNames:
    """Translates the names of tools in texts that were written for our own models."""

    native: frozenset[str]
    """The names of all native tools."""

    offered: Mapping[str, str]
    """The names over MCP of the tools that are offered, by their native names."""

    def translate(self, text: str, values: frozenset[str] = frozenset()) -> str:
        """Return a text with the names over MCP. Sentences about tools that are not offered are removed.

        A name without `_` is also an English word, so it is not translated. `values` are words that are values of
        arguments in this text, and so are not translated either.
        """
        for name in self.native - values:
            if "_" not in name or name not in text:
                continue
            if name in self.offered:
                text = re.sub(rf"\b{name}\b", self.offered[name], text)
            else:
                text = re.sub(rf"[^.!?\n]*\b{name}\b[^.!?\n]*[.!?]?", "", text)
        return text.strip()

    def translate_schema(self, schema: Any, values: frozenset[str]) -> Any:
        """Return a JSON schema with translated names in its descriptions. See `translate` for `values`."""
        match schema:
            case dict():
                return {
                    key: self.translate(value, values)
                    if key == "description" and isinstance(value, str)
                    else self.translate_schema(value, values)
                    for key, value in cast("dict[str, Any]", schema).items()
                }
            case list():
                return [self.translate_schema(item, values) for item in cast("list[Any]", schema)]
            case _:
                return schema


class NativeOffers:
    """The offers of the native tools of one host. An offer is made once, and again when the names of the tools change,
    because clients need the list at each call."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._names = ToolNames(frozenset(), {})
        # The offers that were made with these names, each with its tool, by the native name of the tool.
        self._made: dict[str, tuple[Tool, Offer]] = {}

    def list_available(self) -> list[Offer]:
        """Return the offers of all native tools that are available now and that the default agent may use."""
        host = self._host
        agent = host.current.resolved.get_agent()
        # The tool `task` is available only in a chat that has a plan. There is no chat before the first call, so an
        # empty plan is passed.
        context = replace(host.tool_contexts.build("", None), plan=Plan())
        tools = [
            tool
            for tool in host.toolbox.list_available(context)
            if tool.spec.origin is Origin.NATIVE
            and (tool.only_reads or agent.has_tool(tool.spec, only_reads=tool.only_reads, agents=tool.agents))
            and not is_hidden(agent.policy, tool.spec)
        ]
        native = frozenset(
            tool.spec.name for tool in host.toolbox.get_tools().values() if tool.spec.origin is Origin.NATIVE
        )
        offered = {tool.spec.name: f"eca_{_NAMES.get(tool.spec.name, tool.spec.name)}" for tool in tools}
        names = ToolNames(native, offered)
        if names != self._names:
            self._names, self._made = names, {}
        return [self._get_offer(tool) for tool in tools]

    def _get_offer(self, tool: Tool) -> Offer:
        """Return the offer of a tool, which is made if there is none yet."""
        made, offer = self._made.get(tool.spec.name, (None, None))
        if made is not tool or offer is None:
            offer = _make_offer(tool, self._names)
            self._made[tool.spec.name] = tool, offer
        return offer


def _make_offer(tool: Tool, names: ToolNames) -> Offer:
    """Make the offer of one tool."""

    async def run(call: OfferCall[Any], arguments: dict[str, Any], /) -> ToolAnswer:
        """Run the tool by the backend, and translate the names of tools in the advice of an error."""
        try:
            return await call.backend.run_tool(tool, call.caller, arguments)
        except RefusedCall:
            raise  # its text uses the names of the approval rules, so it is not translated
        except ToolError as error:
            # The message may quote a text of the user, so only the advice after it, which is ours, is translated.
            raise ToolError(str(error).removesuffix(error.fix).strip(), names.translate(error.fix)) from error

    name = tool.spec.name
    hints = Hints.READS if tool.only_reads else Hints.CREATES if name in _CREATING else Hints.WRITES
    values = _list_enums(tool.spec.parameters)
    description = names.translate(tool.spec.description, values)
    schema = names.translate_schema(tool.spec.parameters, values)
    return Offer(names.offered[name], description, schema, hints, run, starts_turn=True)


def _list_enums(schema: Any) -> frozenset[str]:
    """Return the values that arguments can have, from all enums in a JSON schema. Such a value may look like the name
    of a tool, but must not be translated."""
    match schema:
        case {"enum": [*values]}:
            return frozenset(map(str, values))
        case dict():
            parts = map(_list_enums, cast("dict[str, Any]", schema).values())
        case list():
            parts = map(_list_enums, cast("list[Any]", schema))
        case _:
            parts = iter(())
    return frozenset[str]().union(*parts)
