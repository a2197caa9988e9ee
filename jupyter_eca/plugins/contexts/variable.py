"""The context of a variable of the live kernel: its type, and as much of its value as the configuration allows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.cell import MAX_OFFERED
from jupyter_eca.plugins.contexts.reading.recent_look import find_best
from jupyter_eca.protocol.context import VariableContext
from jupyter_eca.workspace.kernels.kernel_choice import find_prompt_kernel
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

# The word before the name of a variable in a message.
WORD: Final = "var:"

# The seconds to wait for the kernel. It answers within a fifth of a second, unless it is busy with something else.
PATIENCE: Final = 5.0


class VariablePlug:
    kind = "variable"

    async def query(self, surroundings: Surroundings, query: str) -> list[VariableContext]:
        """Offer the variables with their types, but without their values, because the user has not chosen one yet."""
        names = {variable.name: variable for variable in await surroundings.glances.variables(surroundings)}
        found = find_best(names, query, MAX_OFFERED)
        if query.startswith(WORD) or WORD.startswith(query):
            found += [
                variable for variable in find_best(names, query[len(WORD) :], MAX_OFFERED) if variable not in found
            ]
        return [
            VariableContext(label=f"{WORD}{variable.name}", description=describe_type(variable), name=variable.name)
            for variable in found[:MAX_OFFERED]
        ]

    async def resolve(self, surroundings: Surroundings, context: VariableContext) -> Material:
        kernel = await find_prompt_kernel(surroundings.kernel, surroundings.kernels, surroundings.notebook)
        if kernel is None:
            raise ToolError("There is no live kernel.", "Open a notebook, and run a cell of it.")
        # After a dot comes an attribute in most languages, but in R the dot is a part of the name. So both are tried.
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


def _as_material(variable: Variable, telling: VariablesConfig) -> Material:
    lines = describe(variable, telling)
    if choose_disclosure(variable, telling) is not VariableDetail.FULL:
        lines.append(VALUES_WITHHELD)
    return Material(f"variable {variable.name}", truncate("\n".join(lines)), load_picture(variable, telling))
