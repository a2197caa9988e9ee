"""Owns the command `/sessions`. It lists the sessions that the outside agent of a chat has stored, for example those
that the user has begun in the terminal of the agent. With a number it continues one of them in this chat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import AgentError
from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand
from jupyter_eca.protocol.command import CommandArgument

if TYPE_CHECKING:
    from jupyter_eca.acp_client.session import ListedSession
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace

_NOT_OUTSIDE: Final = (
    "`/sessions` is for outside agents, such as Claude Code. Choose one as the agent of this chat. `/resume` lists the "
    "chats."
)
_CANNOT_CONTINUE: Final = "{title} cannot go on with earlier sessions."
_NO_SESSIONS: Final = "{title} has no sessions for this folder."
_CHOSEN: Final = (
    "Your next message goes on with {session} of {title}. The agent knows what was said there; this chat does not show "
    "it."
)
_UNKNOWN: Final = "There is no session {name!r}. `/sessions` lists those there are."


async def sessions(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """List the sessions of the chat's agent, or continue one of them."""
    chat = await place.host.chats.load(place.chat)
    agent = place.host.current.resolved.get_agent(chat.choice.agent)
    if agent.outside is None:
        return CommandAnswer(_NOT_OUTSIDE)
    title, agents = agent.outside.title, place.host.outside_agents
    try:
        found = await agents.list_sessions(chat, agent)
    except AgentError as error:
        return CommandAnswer(str(error))
    if not found:
        return CommandAnswer((_CANNOT_CONTINUE if found is None else _NO_SESSIONS).format(title=title))
    if not call.text:
        lines = [f"{number}. {_describe(session)}" for number, session in enumerate(found, 1)]
        return CommandAnswer("\n".join([*lines, "", "`/sessions NUMBER` goes on with one."]))
    chosen = _find_session(found, call.text)
    if chosen is None:
        return CommandAnswer(_UNKNOWN.format(name=call.text))
    await agents.choose_session(chat, agent, chosen.id)
    return CommandAnswer(_CHOSEN.format(session=_describe(chosen), title=title))


def _find_session(all_sessions: tuple[ListedSession, ...], name: str) -> ListedSession | None:
    """Return the session whose number in the list, or whose id, is `name`. Return None when there is none."""
    if name.isdecimal() and 1 <= int(name) <= len(all_sessions):
        return all_sessions[int(name) - 1]
    return next((session for session in all_sessions if session.id == name), None)


def _describe(session: ListedSession) -> str:
    """Return a line about a session: `*Title* (2026-01-31 12:00)`."""
    when = f" ({session.updated[:16].replace('T', ' ')})" if session.updated else ""
    return f"*{session.title or session.id}*{when}"


COMMANDS: Final = {
    "sessions": NativeCommand(
        sessions,
        "List the earlier sessions of an outside agent, or go on with one",
        (CommandArgument(name="session", description="the number of the session in the list"),),
    )
}
