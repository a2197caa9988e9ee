"""Owns the tools that prompt the assistant, which are offered over MCP. Each prompt is sent in a session, which can be
continued. A session is a chat. The docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from jupyter_eca.fronts.mcp.assistant import Draft
from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer
from jupyter_eca.host.chat.live_chat import Choice, Prompt
from jupyter_eca.protocol.content import MAX_TITLE, Role, TextContent
from jupyter_eca.protocol.context import FileContext

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.assistant import Assistant
    from jupyter_eca.fronts.mcp.offers_base import ToolAnswer
    from jupyter_eca.host.store import ChatRow

    AssistantCall = OfferCall[Assistant]

# The types of the arguments, with their descriptions for the client's model.
Message = Annotated[str, Field(min_length=1, description="What is to be done or answered, in full sentences.")]
SessionId = Annotated[str, Field(min_length=1, description="Id of a session, from eca_session_list or a create.")]
ModelName = Annotated[str, Field(description="PROVIDER/MODEL, from eca_model_list; empty for the default.")]
AgentName = Annotated[str, Field(description="From eca_agent_list: code acts, plan only looks; empty for the default.")]
FilePaths = Annotated[list[str], Field(description="Paths of files of the workspace that the prompt is about.")]
Title = Annotated[
    str,
    Field(max_length=MAX_TITLE, description="A line for the list of chats; empty to take it from the first prompt."),
]

# How many sessions may wait for their first prompt. They are only in memory.
_MAX_DRAFTS: Final = 100


@offer("eca_run", Hints.WRITES)
async def run_task(
    call: AssistantCall,
    prompt: Message,
    model: ModelName = "",
    agent: AgentName = "",
    files: FilePaths = [],  # noqa: B006  # read only
) -> ToolAnswer:
    """Hand a task to the Jupyter assistant, in a new session. It can read, edit and run the user's open notebooks, look
    at the variables of their kernels, and use files and a shell; what changes something may have to be approved.

    Answers when it is done, which may take minutes. For a follow-up use eca_session_prompt with the sessionId.
    """
    return await call.backend.prompt(_make_prompt(uuid.uuid4().hex, prompt, Choice(model, agent), files), call.caller)


@offer("eca_session_create", Hints.CREATES)
async def create_session(
    call: AssistantCall, title: Title = "", model: ModelName = "", agent: AgentName = ""
) -> dict[str, Any]:
    """Begin a session with the assistant, without a prompt yet. Gives its sessionId."""
    if len(call.backend.drafts) >= _MAX_DRAFTS:
        raise RefusedCall(
            f"{_MAX_DRAFTS} sessions were created and not prompted yet.",
            "Prompt one of them; eca_session_list has them.",
        )
    id = uuid.uuid4().hex
    call.backend.drafts[id] = Draft(title, Choice(model, agent))
    return {"sessionId": id, "title": title or None, "model": model or await call.backend.host.catalog.default()}


@offer("eca_session_prompt", Hints.WRITES)
async def prompt_session(
    call: AssistantCall,
    sessionId: SessionId,  # in the spelling that clients send
    prompt: Message,
    model: ModelName = "",
    agent: AgentName = "",
    files: FilePaths = [],  # noqa: B006  # read only
) -> ToolAnswer:
    """Ask the assistant something in a session that it remembers. Answers when it is done."""
    chosen = Choice(model, agent)
    if draft := call.backend.drafts.get(sessionId):
        chosen = chosen.fill_from(draft.choice)
    else:
        await _read_session(call, sessionId)
    return await call.backend.prompt(_make_prompt(sessionId, prompt, chosen, files), call.caller)


@offer("eca_session_list", Hints.READS)
async def list_sessions(call: AssistantCall) -> dict[str, Any]:
    """List all chats of this workspace, the newest first. The resource eca://chat/{sessionId} has the messages of a
    chat."""
    host = call.backend.host
    await host.store.settle()
    rows = [row for row in await host.chats.list_rows() if row.workspace == host.store.workspace]
    drafts = [
        {"sessionId": id, "title": draft.title or None, "status": "idle", "model": draft.choice.model or None}
        for id, draft in call.backend.drafts.items()
    ]
    return {
        "sessions": drafts
        + [
            {
                "sessionId": row.id,
                "title": row.title,
                "status": host.chats.get_status(row.id).value,
                "model": row.model,
                "agent": row.agent,
                "updated": row.updated,
            }
            for row in rows
        ]
    }


@offer("eca_session_abort", Hints.WRITES)
async def abort_session(call: AssistantCall, sessionId: SessionId) -> dict[str, Any]:
    """Stop the answer that is under way in a session. What its tools have done stays done."""
    if sessionId in call.backend.drafts:
        return {"sessionId": sessionId, "aborted": False}
    row = await _read_session(call, sessionId)
    host = call.backend.host
    live = host.chats.get_live(row.id)
    running = live is not None and live.is_busy
    host.turns.stop(row.id)
    return {"sessionId": row.id, "aborted": running}


@offer("eca_session_fork", Hints.CREATES)
async def fork_session(call: AssistantCall, sessionId: SessionId) -> dict[str, Any]:
    """Begin a new session that goes on from the end of another, which stays as it is."""
    if sessionId in call.backend.drafts:
        raise RefusedCall("Nothing was said in this session yet.", "Prompt it first, or create another session.")
    row = await _read_session(call, sessionId)
    host = call.backend.host
    prompts = [
        event.content.content_id
        for event in await host.chats.read_events(row.id)
        if event.role is Role.USER and isinstance(event.content, TextContent) and event.content.content_id
    ]
    if not prompts:
        raise RefusedCall("There is no prompt in this session to go on from.", "Prompt it first.")
    new = uuid.uuid4().hex
    await host.chat_operations.fork(row.id, prompts[-1], new)
    return {"sessionId": new, "from": row.id}


OFFERS = Offers((run_task, create_session, prompt_session, list_sessions, abort_session, fork_session))


def _make_prompt(chat: str, message: str, choice: Choice, files: list[str]) -> Prompt:
    """Make a prompt in a chat, with files that the model reads."""
    return Prompt(chat, message, choice, tuple(FileContext(path=path) for path in files))


async def _read_session(call: AssistantCall, session: str) -> ChatRow:
    """Return the stored row of a session. Raises: RefusedCall when this workspace has no such session."""
    host = call.backend.host
    await host.store.settle()
    row = await host.chats.read_row(session)
    if row is None or row.workspace != host.store.workspace:
        raise RefusedCall(f"There is no session {session!r}.", "Take a sessionId from eca_session_list.")
    return row
