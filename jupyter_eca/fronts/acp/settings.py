"""Owns what the user of a session can choose: the agent, the model and the variant of the model. In the Agent Client
Protocol (ACP), the agents are the modes of a session, and all three are options. What the user has chosen is a
`Choice`. An outside agent has options of its own in place of the model and the variant.

It must not know the session or the connection.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import EcaError, RemoteError
from jupyter_eca.host.chat.live_chat import Choice
from jupyter_eca.host.turn.setup import choose_model
from jupyter_eca.protocol.acp.requests import ModeState, SessionMode
from jupyter_eca.protocol.acp.updates import SelectOption, SelectValue
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.lifecycle import AgentOption

# The ids of the options.
MODE: Final = "mode"
MODEL: Final = "model"
VARIANT: Final = "variant"

# The value of the option `variant` with which the model decides itself how much it thinks.
_NO_VARIANT: Final = "default"


def describe_modes(host: Host, choice: Choice) -> ModeState:
    """Return the modes of a session, which are the agents, and the id of the current mode."""
    resolved = host.current.resolved
    modes = tuple(
        SessionMode(id=name, name=name.capitalize(), description=resolved.agents[name].description or None)
        for name in resolved.list_selectable()
    )
    return ModeState(current_mode_id=resolved.get_agent(choice.agent).name, available_modes=modes)


async def describe_options(host: Host, choice: Choice, chat: str) -> tuple[SelectOption, ...]:
    """Return the options of the session of a chat, with their current values. Options without any value are left out.
    The search for models may take half a second."""
    modes = describe_modes(host, choice)
    mode = SelectOption(
        id=MODE,
        name="Mode",
        description="Which agent answers.",
        category="mode",
        current_value=modes.current_mode_id,
        options=tuple(
            SelectValue(value=mode.id, name=mode.name, description=mode.description) for mode in modes.available_modes
        ),
    )
    options = [mode]
    if is_outside(host, choice):
        return mode, *map(_describe_agent_option, _list_agent_options(host, chat))
    model = await choose_model(host.current.resolved, host.catalog, choice)
    if model:
        models, _ = await host.catalog.list_models()
        names = models if model in models else (model, *models)
        values = tuple(SelectValue(value=name, name=name.partition("/")[2] or name) for name in names)
        options.append(SelectOption(id=MODEL, name="Model", category="model", current_value=model, options=values))
    if variants := host.catalog.variants(model):
        chosen = host.setups.fill_defaults(choice).variant or _NO_VARIANT
        values = tuple(SelectValue(value=name, name=name.capitalize()) for name in (_NO_VARIANT, *variants))
        options.append(
            SelectOption(
                id=VARIANT,
                name="Reasoning",
                description="How much the model thinks before it answers.",
                category="thought_level",
                current_value=chosen if chosen in variants else _NO_VARIANT,
                options=values,
            )
        )
    return tuple(options)


def is_outside(host: Host, choice: Choice) -> bool:
    """Return whether the chosen agent is an outside agent, which has options of its own."""
    return host.current.resolved.get_agent(choice.agent).outside is not None


def _list_agent_options(host: Host, chat: str) -> list[AgentOption]:
    """Return the options of the outside agent of a chat that the user can choose. They are known while it runs."""
    return [option for option in host.outside_agents.list_options(chat) if option.can_choose]


def _describe_agent_option(option: AgentOption) -> SelectOption:
    """Return an option of an outside agent in the form of the protocol."""
    return SelectOption(
        id=option.id,
        name=option.name,
        description=option.description or None,
        category=option.category or None,
        current_value=option.value,
        options=tuple(SelectValue(value=known.value, name=known.name) for known in option.values),
    )


def choose_mode(host: Host, choice: Choice, mode: str) -> Choice:
    """Return the choice with another agent. Raises: RemoteError if there is no such agent."""
    if mode not in host.current.resolved.list_selectable():
        raise RemoteError(f"there is no mode {mode!r}", ErrorCode.INVALID_PARAMS)
    return replace(choice, agent=mode)


async def choose_option(host: Host, choice: Choice, chat: str, id: str, value: str) -> Choice:
    """Return the choice with another value of an option. An option of an outside agent is set immediately, and the
    choice stays. Raises: RemoteError if there is no such option or value, or the outside agent does not accept it."""
    option = next((option for option in await describe_options(host, choice, chat) if option.id == id), None)
    if option is None:
        raise RemoteError(f"there is no option {id!r}", ErrorCode.INVALID_PARAMS)
    if value not in {known.value for known in option.options}:
        raise RemoteError(f"the option {id!r} has no value {value!r}", ErrorCode.INVALID_PARAMS)
    match id:
        case "mode":
            return replace(choice, agent=value)
        case _ if is_outside(host, choice):
            try:
                agent = host.current.resolved.get_agent(choice.agent)
                await host.outside_agents.choose_option(await host.chats.load(chat), agent, id, value)
            except RemoteError:
                raise
            except EcaError as error:
                raise RemoteError(str(error)) from error
            return choice
        case "model":
            return Choice(model=value).fill_from(choice)
        case _:
            return replace(choice, variant="" if value == _NO_VARIANT else value)
