"""Checks that the agent and the variant of a question exist. The engine would use its default for an unknown name, and
then a mistyped `plan` would let the assistant make changes.

It must not know the connection: `magic` passes the setup of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config.schema import ALIASES
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from jupyter_eca.transport.eca_client import ServerSetup


async def check_choice(setup: ServerSetup, model: str, agent: str, variant: str = "") -> None:
    """Refuse an agent or a variant that does not exist. An empty name means the default. Raises: CellError, which lists
    the names that exist.

    `model` is not checked. It is needed because each model has its own variants.
    """
    if not (agent or variant):
        return
    await setup.known.wait()
    if agent and ALIASES.get(agent, agent) not in setup.agents:
        raise CellError(f"There is no agent {agent!r}. Write {_format_options('-b', setup.agents)}.")
    # The variant is checked only if the variants of its model are known here. If no model is set up, only a recorded
    # answer is possible, which has its own model. For a model that is not the selected one, only the engine knows the
    # variants.
    if variant and setup.models and model in {"", setup.model} and variant not in setup.variants:
        advice = f"Write {_format_options('-v', setup.variants)}" if setup.variants else "It has none"
        raise CellError(f"{setup.model or 'The model'} has no variant {variant!r}. {advice}.")


def _format_options(option: str, names: tuple[str, ...]) -> str:
    return " or ".join(f"`{option} {name}`" for name in names)
