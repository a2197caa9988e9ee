"""Reads variables of the kernel in which the user asked, and renders one of them for a model.

This module must not choose which variables are meant: `variable.py` and `table.py`, which own the contexts, do.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.schema import VariableDetail
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.workspace.kernels.kernel_choice import find_prompt_kernel
from jupyter_eca.workspace.reading.text import truncate
from jupyter_eca.workspace.reading.variable_text import (
    VALUES_WITHHELD,
    choose_disclosure,
    describe,
    load_picture,
)

if TYPE_CHECKING:
    from jupyter_eca.config.schema import VariablesConfig
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.notebook import Variable

# The seconds to wait for the kernel. It answers within a fifth of a second, unless it is busy with something else.
ANSWER_SECONDS: Final = 5.0


async def read_variables(surroundings: Surroundings, *names: str) -> tuple[Variable, ...]:
    """Return the variables with these names, without those that do not exist. Without names, return all variables.

    Raises: ToolError when there is no kernel, or when it is busy.
    """
    kernel = await find_prompt_kernel(surroundings.kernel, surroundings.kernels, surroundings.notebook)
    if kernel is None:
        raise ToolError("There is no live kernel.", "Open a notebook, and run a cell of it.")
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return (await kernel.variables(surroundings.chat, names)).variables
    except TimeoutError:
        raise ToolError(f"The kernel did not answer in {ANSWER_SECONDS:g} seconds: it is busy.") from None


async def render_variable(variable: Variable, variables_config: VariablesConfig) -> Material:
    """Return a variable as the model gets it, with as much of its value as the configuration allows."""
    return await asyncio.to_thread(_make_material, variable, variables_config)


def _make_material(variable: Variable, variables_config: VariablesConfig) -> Material:
    """Do the work of `render_variable`. Blocks, because a picture may have to be made smaller."""
    lines = describe(variable, variables_config)
    if choose_disclosure(variable, variables_config) is not VariableDetail.FULL:
        lines.append(VALUES_WITHHELD)
    return Material(f"variable {variable.name}", truncate("\n".join(lines)), load_picture(variable, variables_config))
