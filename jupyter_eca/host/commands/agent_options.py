"""The command `/options`: shows the options of the outside agent of a chat, such as its model, and sets one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import AgentError
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace
    from jupyter_eca.protocol.lifecycle import AgentOption

_NOT_OUTSIDE: Final = (
    "`/options` is for outside agents, such as Claude Code. Choose one as the agent of this chat. `/config` shows the "
    "settings."
)
_NONE: Final = "{title} has no options that it tells to other programs."
_NOT_RUNNING: Final = (
    "{title} does not run yet, so its options are not known. Ask it something first, or set an option for its next "
    "answer: `/options NAME VALUE`."
)
_FROM_NEXT: Final = "{title} gets {option} = `{value}` when it starts, with your next message."
_WAITING: Final = "- `{option}`: `{value}` is set when it starts"
_CHOSEN: Final = "{title} works with {option} = `{value}` in this chat from now on."
_FIXED: Final = "set in the agent's own configuration"
_MODE: Final = "- `mode`: **{mode}** (set by `acpAgents.{agent}.mode`, because it decides what the agent asks about)"
_HELP: Final = "`/options NAME VALUE` sets one."
_UNKNOWN_VALUES: Final = "Write which value it should have, too: `/options {option} VALUE`."
_NO_VALUE: Final = "Say which value {option} should have: {values}."


async def options(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """Show the options of the chat's agent, or set one of them."""
    chat = await place.host.chats.load(place.chat)
    agent = place.host.current.resolved.get_agent(chat.choice.agent)
    if agent.outside is None:
        return CommandAnswer(_NOT_OUTSIDE)
    title, agents = agent.outside.title, place.host.outside_agents
    known, is_running = agents.list_options(place.chat), agents.is_running(place.chat)
    name, _, wanted = call.text.partition(" ")
    if not name:
        modes = [_MODE.format(mode=mode, agent=agent.name)] if (mode := agents.get_mode(place.chat)) else []
        if not known:
            if is_running:
                return CommandAnswer("\n".join([*modes, *([""] if modes else []), _NONE.format(title=title)]))
            waiting = await agents.read_waiting_options(chat, agent)
            lines = [_WAITING.format(option=id, value=value) for id, value in waiting.items()]
            return CommandAnswer("\n".join([_NOT_RUNNING.format(title=title), *([""] if lines else []), *lines]))
        return CommandAnswer("\n".join([*modes, *map(_describe, known), "", _HELP]))
    option = next((option for option in known if name.casefold() in _casefold_all(option.id, option.name)), None)
    if not wanted.strip():
        if option is None:
            return CommandAnswer(_UNKNOWN_VALUES.format(option=name))
        values = ", ".join(f"`{value.value}`" for value in option.values)
        return CommandAnswer(_NO_VALUE.format(option=f"`{name}`", values=values))
    id, value = (name, wanted.strip()) if option is None else (option.id, _find_value(option, wanted.strip()))
    try:
        await agents.choose_option(chat, agent, id, value)
    except AgentError as error:
        return CommandAnswer(str(error))
    text = _CHOSEN if is_running else _FROM_NEXT
    return CommandAnswer(text.format(title=title, option=f"`{id}`", value=value))


def _casefold_all(*names: str) -> set[str]:
    """Return names in a form in which small and capital letters are the same."""
    return {name.casefold() for name in names}


def _find_value(option: AgentOption, wanted: str) -> str:
    """Return the value of an option whose text or name is `wanted`. If there is none, return `wanted`."""
    names = ((known.value, _casefold_all(known.value, known.name)) for known in option.values)
    return next((value for value, known in names if wanted.casefold() in known), wanted)


def _describe(option: AgentOption) -> str:
    """Return the line of an option: ``- `model` (Model): **opus**, or sonnet``."""
    others = [f"`{known.value}`" for known in option.values if known.value != option.value]
    remark = f" ({_FIXED})" if not option.can_choose else f"; also {', '.join(others)}" if others else ""
    return f"- `{option.id}` ({option.name}): **{option.value}**{remark}"


COMMANDS: Final = {
    "options": NativeCommand(
        options,
        "Show the options of an outside agent, such as its model, or set one",
        (
            CommandArgument(name="name", description="the option to set"),
            CommandArgument(name="value", description="its new value"),
        ),
    )
}
