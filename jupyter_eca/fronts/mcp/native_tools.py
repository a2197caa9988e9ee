"""Owns the native tools as offers. Their names have the form `PREFIX_CATEGORY_ACTION`; models know them by other names.

It must not run them: `assistant.py` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.policy import is_hidden
from jupyter_eca.engine.model.task_plan import Plan
from jupyter_eca.fronts.mcp.offers_base import Hints, Offer
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.offers_base import OfferCall, ToolAnswer
    from jupyter_eca.host.host import Host
    from jupyter_eca.plugins.tools.base import Tool

# Tools whose own names do not begin with a category. Any other tool keeps its name after the prefix.
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
_CREATING: Final = frozenset({"notebook_create"})


def list_offers(host: Host) -> list[Offer]:
    """List the tools that can work now and that the default agent may use."""
    agent = host.current.resolved.agent()
    # A chat has no plan before its first call.
    context = replace(host.tool_contexts.build("", None), plan=Plan())
    return [
        _make_offer(tool)
        for tool in host.toolbox.list_available(context)
        if tool.spec.origin is Origin.NATIVE
        and (tool.reads or agent.has_tool(tool.spec, reads=tool.reads, agents=tool.agents))
        and not is_hidden(agent.policy, tool.spec)
    ]


def _make_offer(tool: Tool) -> Offer:
    async def run(call: OfferCall[Any], arguments: dict[str, Any], /) -> ToolAnswer:
        return await call.backend.run_tool(tool, call.caller, arguments)

    name = tool.spec.name
    hints = Hints.READS if tool.reads else Hints.CREATES if name in _CREATING else Hints.WRITES
    return Offer(f"eca_{_NAMES.get(name, name)}", tool.spec.description, tool.spec.parameters, hints, run)
