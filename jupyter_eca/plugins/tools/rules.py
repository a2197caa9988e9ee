"""The tool with which the model fetches the user's rules for the files that it works on. `host/turn/path_rules.py` has
the rules of a chat, and `instructions/rules.py` reads their files.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, ToolResult, tool

# The types of the arguments, with their descriptions for the model.
Id = Annotated[str, Field(description="The exact id of the rule, as it is listed.")]
Path = Annotated[str, Field(description="The absolute path of the file or folder that you are about to work on.")]


@tool(reads=True, needs=[Need.RULES], summary="Fetching the rule {id}", paths=["path"])
async def fetch_rule(context: ToolContext, id: Id, path: Path) -> ToolResult:
    """Get the text of a rule of the user's that is for some files only, before you work on one of them.

    Once for each rule: what you were given holds for all files that it matches.
    """
    if context.rules is None:
        raise ToolError("There are no rules for paths here.")
    fetched = await context.rules.fetch(id, path)
    return ToolResult(fetched.text, fetched_rule=id if fetched.new else "")


TOOLS = (fetch_rule,)
