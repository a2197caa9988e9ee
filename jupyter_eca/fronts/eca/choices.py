"""Owns the rules of remembered choices. A choice is the model, the agent or the variant that a user selects for a chat.
New chats begin with the remembered choices. The rules say which clients have a user whose choices are remembered, and
for which notebooks a choice counts.

Only our own clients take part. An editor that speaks ECA gets the configured defaults, and keeps its choices itself.
Programs without a user get the defaults too. A panel says in which notebook a choice is made, and its choices also
count for all other notebooks.

Code in a kernel can send messages over the link of its kernel, and a model may have written that code. So a choice from
there counts for the notebook of that kernel only. The choice of an agent is not remembered from there at all, because
another agent may run more tool calls without approval. The `Door` of a session (`door.py`), which is the interface to
the application, says what kind of client the session has.

This module must not know what is remembered: `host.chat.choice_memory` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.host.chat.choice_memory import ChoicePlace
from jupyter_eca.host.chat.live_chat import get_stored_choice
from jupyter_eca.host.turn.open_notebooks import find_notebook_of_kernel
from jupyter_eca.host.turn.setup import choose_model

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.chat.live_chat import Choice


def remembers_everywhere(session: EcaSession, notebook: str | None) -> bool:
    """Return whether a choice of a client also counts for all notebooks in which the user has chosen nothing. A client
    that may not approve tool calls may be code that a model wrote, which has found a token. Its choices are not the
    user's."""
    return session.recalls_choices(notebook) and not _is_kernel(session) and session.door.access.may_approve


async def find_place(session: EcaSession, notebook: str | None) -> ChoicePlace | None:
    """Return the notebooks for which a choice of a client counts; None if its choices are not remembered."""
    if remembers_everywhere(session, notebook):
        return ChoicePlace(notebook or "", is_for_all_notebooks=True)
    if session.recalls_choices(notebook) and _is_kernel(session):
        return ChoicePlace(await _find_own_notebook(session))
    return None


async def read_choice(session: EcaSession, chat: str | None, notebook: str | None) -> Choice:
    """Return what the next turn of a chat runs with. A new chat begins with the remembered choices. `chat` is the
    host's id, or None for a chat that does not exist yet."""
    host = session.host
    # A chat in memory without events (`last_seq` is 0) is new: nothing was sent in it yet.
    if chat is not None and (live := host.chats.get_live(chat)) is not None and live.last_seq > 0:
        chosen = live.choice
    elif chat is not None and (row := await host.chats.read_row(chat)) is not None:
        chosen = get_stored_choice(row)
    else:
        chosen = session.get_choice(chat or "")  # "": what the client has selected for all new chats
        if session.recalls_choices(notebook):
            place = await _find_own_notebook(session) if _is_kernel(session) else notebook or ""
            chosen = await host.choice_memory.recall(place, chosen)
    return replace(chosen, model=await choose_model(host.current.resolved, host.catalog, chosen))


def _is_kernel(session: EcaSession) -> bool:
    """Return whether the client is a kernel, whose cells send the prompts. All other clients see all chats."""
    return not session.door.sees_all_chats


async def _find_own_notebook(session: EcaSession) -> str:
    """Return the path of the notebook of the client's kernel, "" if it is not known."""
    if (kernel := session.door.kernel_id) is None:
        return ""
    # This request belongs to no chat. So it goes only to the clients that see all chats.
    return await find_notebook_of_kernel(session.host.services, chat="", kernel=kernel) or ""
