"""The context of a variable of the live kernel: its type, and as much of its value as the configuration allows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.cell import MOST
from jupyter_eca.plugins.contexts.reading.recent_look import find_best
from jupyter_eca.protocol.context import VariableContext
from jupyter_eca.workspace.kernels.nearest import find_prompt_kernel
from jupyter_eca.workspace.reading.text import truncate
from jupyter_eca.workspace.reading.variable_text import (
    VALUES_WITHHELD,
    choose_disclosure,
    describe,
    describe_type,
    load_picture,
)

if TYPE_CHECKING:
    from jupyter_eca.config.schema import VariablesConfig
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.notebook import Variable

# Before its name, in a message.
WORD: Final = "var:"

# Seconds. A kernel looks at one within a fifth of a second, or is busy with something else.
PATIENCE: Final = 5.0


class VariablePlug:
    kind = "variable"

    async def query(self, surroundings: Surroundings, query: str) -> list[VariableContext]:
        """Offer the variables with their types, never with their values: nobody has pointed at one yet."""
        names = {one.name: one for one in await surroundings.glances.variables(surroundings)}
        found = find_best(names, query, MOST)
        if query.startswith(WORD) or WORD.startswith(query):
            found += [one for one in find_best(names, query[len(WORD) :], MOST) if one not in found]
        return [
            VariableContext(label=f"{WORD}{one.name}", description=describe_type(one), name=one.name)
            for one in found[:MOST]
        ]

    async def resolve(self, surroundings: Surroundings, context: VariableContext) -> Material:
        kernel = await find_prompt_kernel(surroundings.kernel, surroundings.kernels, surroundings.notebook)
        if kernel is None:
            raise ToolError("There is no live kernel.", "Open a notebook, and run a cell of it.")
        # what stands behind a dot is an attribute in most languages, and a part of the name in R
        names = dict.fromkeys((context.name, context.name.partition(".")[0]))
        try:
            async with asyncio.timeout(PATIENCE):
                found = await kernel.variables(surroundings.chat, tuple(names))
        except TimeoutError:
            raise ToolError(f"The kernel did not answer in {PATIENCE:g} seconds: it is busy.") from None
        if not found.variables:
            raise ToolError(f"The kernel has no variable {context.name}.")
        return await asyncio.to_thread(_as_material, found.variables[0], surroundings.telling)


CONTEXT = VariablePlug()


def _as_material(one: Variable, telling: VariablesConfig) -> Material:
    lines = describe(one, telling)
    if choose_disclosure(one, telling) is not VariableDetail.FULL:
        lines.append(VALUES_WITHHELD)
    return Material(f"variable {one.name}", truncate("\n".join(lines)), load_picture(one, telling))
