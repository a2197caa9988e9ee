"""Whether what a question is to be answered with is there. The engine takes its default for what it does not know, and
somebody who mistyped `plan` must not have things done instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config.schema import ALIASES
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from jupyter_eca.transport.eca_client import ServerSetup


async def check(setup: ServerSetup, model: str, agent: str, variant: str = "") -> None:
    """Refuse a model, an agent or a variant that does not exist; empty means the default. Raises: CellError, which
    lists those that exist."""
    if not (agent or variant):
        return
    await setup.known.wait()
    if agent and ALIASES.get(agent, agent) not in setup.agents:
        raise CellError(f"There is no agent {agent!r}. Write {_options('-b', setup.agents)}.")
    # Where there is no model, only a recorded answer can come of it, and that says what it was asked with. The variants
    # of other models than the selected one are the engine's to know.
    if variant and setup.models and model in {"", setup.model} and variant not in setup.variants:
        advice = f"Write {_options('-v', setup.variants)}" if setup.variants else "It has none"
        raise CellError(f"{setup.model or 'The model'} has no variant {variant!r}. {advice}.")


def _options(option: str, names: tuple[str, ...]) -> str:
    return " or ".join(f"`{option} {name}`" for name in names)
