"""Checks that the agent and the variant of a question exist. An agent is a set of instructions and tools, such as
`code` or `plan`. A variant is a setting of a model, such as how much it thinks. The engine would use its default for an
unknown name, and then a mistyped `plan` would let the assistant make changes.

It must not know the connection: `magic` passes the setup of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.config.schema import AGENT_ALIASES
from jupyter_eca.errors import CellError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.lifecycle import HeldSettings
    from jupyter_eca.transport.eca_client import ServerSetup


async def check_choice(setup: ServerSetup, model: str, agent: str, variant: str = "") -> None:
    """Refuse an agent or a variant that does not exist. An empty name means the default. Raises: CellError, which lists
    the names that exist.

    `model` is its full name, or "" for the default. It is not checked. It is needed because each model has its own
    variants.
    """
    if not (agent or variant):
        return
    await setup.received.wait()  # until the server has sent the names that exist
    # `AGENT_ALIASES` has the earlier names of agents, which still work.
    if agent and AGENT_ALIASES.get(agent, agent) not in setup.agents:
        known = f"There is no agent {agent!r}. Write {_format_options('--agent', setup.agents)}."
        raise CellError(known + _describe_untrusted(agent, setup.untrusted))
    # The variant is checked only if the variants of its model are known here. They are not known in two cases. If no
    # model is set up, only a recorded answer can be replayed, which has its own model. And the server has sent only the
    # variants of the selected model.
    if variant and setup.models and model in {"", setup.model} and variant not in setup.variants:
        advice = f"Write {_format_options('-v', setup.variants)}" if setup.variants else "It has none"
        raise CellError(f"{setup.model or 'The model'} has no variant {variant!r}. {advice}.")


def _describe_untrusted(agent: str, folders: Sequence[HeldSettings]) -> str:
    """Return a sentence about a folder whose settings define this agent, but are not trusted; "" if there is none."""
    for held in folders:
        # The second word of a key such as `agent.NAME` is the name of the agent.
        if any(setting.key.split(".")[1:2] == [agent] for setting in held.settings):
            from jupyter_eca.fronts.eca.trust import HOW_TO_TRUST_ELSEWHERE, describe_held_settings

            return f" {describe_held_settings(held)}{HOW_TO_TRUST_ELSEWHERE.format(folder=held.folder)}"
    return ""


def _format_options(option: str, names: tuple[str, ...]) -> str:
    """Return what a user can write: "`--agent code` or `--agent plan`"."""
    return " or ".join(f"`{option} {name}`" for name in names)
