"""Checks that the model, the agent and the variant of a question exist. The engine uses its default in place of an
unknown one, and a user who mistyped `plan` must not have changes made instead. It knows no connection; `magic` gives it
the server's setup."""

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
    # Without a model, only a recorded answer is possible, and it says which model it was asked with. Only the engine
    # knows the variants of models other than the selected one.
    if variant and setup.models and model in {"", setup.model} and variant not in setup.variants:
        advice = f"Write {_options('-v', setup.variants)}" if setup.variants else "It has none"
        raise CellError(f"{setup.model or 'The model'} has no variant {variant!r}. {advice}.")


def _options(option: str, names: tuple[str, ...]) -> str:
    return " or ".join(f"`{option} {name}`" for name in names)
