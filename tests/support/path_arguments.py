"""Finds the arguments of tools that name files or folders, but are not declared as `paths`. Approval rules about paths
do not hold for such an argument.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jupyter_eca.plugins.tools.base import Tool

# `source` is not among these words, because for most tools it is the source of a cell.
_PATH = re.compile(r"(?:\w+_)?(?:path|file|filename|folder|dir|directory|destination|notebook)s?")


def find_undeclared(tool: Tool) -> list[str]:
    """Return the arguments of a tool that look like paths by their names, without those that it declares."""
    arguments = tool.spec.parameters.get("properties", {})
    return [name for name in arguments if _PATH.fullmatch(name) and name not in tool.spec.paths]
