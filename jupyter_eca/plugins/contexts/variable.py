"""The context of a variable of the live kernel: its type, and as much of its value as the configuration allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.cell import MAX_OFFERED
from jupyter_eca.plugins.contexts.reading.kernel_variables import read_variables, render_variable
from jupyter_eca.plugins.contexts.reading.recent_look import find_best
from jupyter_eca.protocol.context import VariableContext
from jupyter_eca.workspace.reading.variable_text import describe_type

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Material, Surroundings

# The word before the name of a variable in a message.
WORD: Final = "var:"


class VariablePlug:
    """The plug: `query` offers the variables of the kernel, and `resolve` reads the chosen one. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "variable"

    async def query(self, surroundings: Surroundings, query: str) -> list[VariableContext]:
        """Offer the variables with their types, but without their values, because the user has not chosen one yet."""
        names = {variable.name: variable for variable in await surroundings.recent_looks.read_variables(surroundings)}
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
        """Read the variable. Raises: ToolError when the kernel has none of this name."""
        # After a dot comes an attribute in most languages, but in R the dot is a part of the name. So both are tried.
        found = await read_variables(surroundings, *dict.fromkeys((context.name, context.name.partition(".")[0])))
        if not found:
            raise ToolError(f"The kernel has no variable {context.name}.")
        return await render_variable(found[0], surroundings.variables_config)


CONTEXT = VariablePlug()
