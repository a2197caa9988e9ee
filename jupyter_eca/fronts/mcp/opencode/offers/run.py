"""Owns the tools, offered over MCP, that prompt OpenCode, and those about its sessions. The docstring of a tool is its
description for the client's model. `pending.py` owns the questions that OpenCode asks while it works.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer
from jupyter_eca.fronts.mcp.opencode import pending
from jupyter_eca.fronts.mcp.opencode.api import make_timeout_error

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.opencode.backend import Folder, OpenCode

    OpenCodeCall = OfferCall[OpenCode]

# Seconds between two polls for the questions that OpenCode asks its user while it works.
POLL_SECONDS: Final = 0.3

# The types of the arguments, with their descriptions for the client's model.
Message = Annotated[str, Field(min_length=1, description="What the agent is to do.")]
SessionId = Annotated[str, Field(min_length=1, description="Id of a session, from opencode_session_list or a create.")]
Directory = Annotated[str, Field(description="Folder of the project; empty for the default one.")]
ModelName = Annotated[str, Field(description="PROVIDER/MODEL, from opencode_model_list; empty for the default.")]
AgentName = Annotated[str, Field(description="From opencode_agent_list; empty for the default.")]
FilePaths = Annotated[list[str], Field(description="Paths of files that go with the prompt.")]
NoReply = Annotated[bool, Field(description="Only note the prompt; no model answers.")]


@offer("opencode_run", Hints.WRITES)
async def run_task(
    call: OpenCodeCall,
    prompt: Message,
    workingDirectory: Directory = "",
    model: ModelName = "",
    agent: AgentName = "",
    files: FilePaths = [],  # noqa: B006  # read only
    noReply: NoReply = False,
) -> dict[str, Any]:
    """Have the OpenCode agent do a task, in a new session. Answers when it is done, which may take minutes. It may edit
    files and run commands."""
    folder = await call.backend.find_folder(workingDirectory)
    body = await build_message(call, folder, prompt, model, agent, files, no_reply=noReply)
    session = await call.backend.api.post("/session", {}, directory=folder.path)
    return await send_message(call, folder, str(session["id"]), body)


@offer("opencode_session_create", Hints.CREATES)
async def create_session(
    call: OpenCodeCall,
    workingDirectory: Directory = "",
    title: Annotated[str, Field(description="A line for the list of sessions.")] = "",
    model: ModelName = "",
    agent: AgentName = "",
) -> dict[str, Any]:
    """Begin a session without a prompt yet. Gives its sessionId."""
    folder = await call.backend.find_folder(workingDirectory)
    api = call.backend.api
    chosen: dict[str, Any] = {"title": title} if title else {}
    if agent:
        chosen["agent"] = await check_agent(call, folder, agent)
    if name := model or call.backend.default_model:
        pair = await check_model(call, folder, name)
        chosen["model"] = {"providerID": pair["providerID"], "id": pair["modelID"]}
    session = await api.post("/session", chosen, directory=folder.path)
    described = {"title": session.get("title"), "agent": session.get("agent")}
    return {"sessionId": session["id"], **described, **folder.fields}


@offer("opencode_session_prompt", Hints.WRITES)
async def prompt_session(
    call: OpenCodeCall,
    sessionId: SessionId,
    prompt: Message,
    files: FilePaths = [],  # noqa: B006  # read only
    noReply: NoReply = False,
) -> dict[str, Any]:
    """Ask something in a session that the agent remembers, with the agent and the model of the session. Answers when it
    is done."""
    session = await find_session(call, sessionId)
    body = await build_message(call, session.folder, prompt, session.model, session.agent, files, no_reply=noReply)
    return await send_message(call, session.folder, sessionId, body)


@offer("opencode_session_list", Hints.READS)
async def list_sessions(call: OpenCodeCall) -> dict[str, Any]:
    """The sessions of the project, the newest first."""
    folder = await call.backend.find_folder()
    answer = await call.backend.api.get("/session", directory=folder.path)
    described = [
        {
            "sessionId": session["id"],
            "title": session.get("title"),
            "directory": session.get("directory"),
            "time": session.get("time"),
        }
        for session in answer
    ]
    return {"sessions": described, **folder.fields}


@offer("opencode_session_abort", Hints.WRITES)
async def abort_session(call: OpenCodeCall, sessionId: SessionId) -> dict[str, Any]:
    """Stop what a session is doing. What was done stays done."""
    folder = (await find_session(call, sessionId)).folder
    stopped = await call.backend.api.post(f"/session/{sessionId}/abort", directory=folder.path)
    return {"sessionId": sessionId, "aborted": bool(stopped)}


OFFERS = Offers((run_task, create_session, prompt_session, list_sessions, abort_session))


@dataclass(frozen=True, slots=True)
class Session:
    """A session of OpenCode."""

    folder: Folder
    """The project folder that the session works in."""

    agent: str = ""
    """The agent that the session was created with, or that its user has chosen last."""

    model: str = ""
    """The model that the session was created with, or that its user has chosen last."""


async def find_session(call: OpenCodeCall, id: str) -> Session:
    """Return a session with its agent and model.

    OpenCode remembers both, but it does not use them for a prompt that names none. So we name them in each prompt.

    Raises: RefusedCall when no session has this id.
    """
    from jupyter_eca.fronts.mcp.opencode.backend import Folder  # imported late: that module loads this one as a plug

    fix = "Take a sessionId from opencode_session_list, or make one with opencode_session_create."
    if not id.isascii() or not id.replace("_", "").isalnum():
        raise RefusedCall(f"{id!r} is no id of a session.", fix)
    try:
        answer = await call.backend.api.get(f"/session/{id}")
    except RefusedCall as error:
        raise RefusedCall(str(error), fix) from error
    model: dict[str, Any] = answer.get("model") or {}
    name = f"{model.get('providerID')}/{model.get('id')}" if model else ""
    return Session(Folder(str(answer["directory"]), "session"), str(answer.get("agent") or ""), name)


async def check_agent(call: OpenCodeCall, folder: Folder, name: str) -> str:
    """Return the name of an agent, if the agent exists. OpenCode's own error for an unknown agent does not say what is
    wrong.

    Raises: RefusedCall.
    """
    names = [agent["name"] for agent in await call.backend.api.get("/agent", directory=folder.path)]
    if name not in names:
        raise RefusedCall(f"There is no agent {name!r}.", f"There are: {', '.join(names)}.")
    return name


async def check_model(call: OpenCodeCall, folder: Folder, name: str) -> dict[str, str]:
    """Return a model as the fields of a prompt, if the model exists. Raises: RefusedCall."""
    provider, _, model = name.partition("/")
    answer = await call.backend.api.get("/config/providers", directory=folder.path)
    models = {provider["id"]: provider.get("models", {}) for provider in answer["providers"]}
    if model not in models.get(provider, {}):
        raise RefusedCall(f"There is no model {name!r}.", "Take one from opencode_model_list, as PROVIDER/MODEL.")
    return {"providerID": provider, "modelID": model}


async def build_message(
    call: OpenCodeCall, folder: Folder, prompt: str, model: str, agent: str, files: list[str], *, no_reply: bool
) -> dict[str, Any]:
    """Return the body of the request that sends a prompt. An empty `model` or `agent` means OpenCode's default.
    `no_reply`: the prompt is only added to the session. Raises: RefusedCall when a file, the agent or the model does
    not exist."""
    parts: list[dict[str, Any]] = [{"type": "text", "text": prompt}]
    for name in files:
        path = Path(folder.path) / name
        if not await asyncio.to_thread(path.is_file):
            raise RefusedCall(f"There is no file {name} in {folder.path}.", "Look for it with opencode_find_files.")
        url = path.resolve().as_uri()
        parts.append({"type": "file", "mime": "text/plain", "filename": path.name, "url": url})
    body: dict[str, Any] = {"parts": parts}
    if agent:
        body["agent"] = await check_agent(call, folder, agent)
    if name := model or call.backend.default_model:
        body["model"] = await check_model(call, folder, name)
    return {**body, "noReply": True} if no_reply else body


async def send_message(call: OpenCodeCall, folder: Folder, session: str, body: dict[str, Any]) -> dict[str, Any]:
    """Send a prompt, and wait for the answer. If OpenCode asks its user something that cannot be answered here, return
    these questions instead.

    Raises: RefusedCall.
    """
    api = call.backend.api
    sending = call.backend.start_prompt(session, body, folder)
    try:
        async with asyncio.timeout(api.timeout_seconds):
            while not (await asyncio.wait((sending,), timeout=POLL_SECONDS))[0]:  # [0] has the tasks that are done
                requests = await pending.list_requests(api, folder, session)
                if requests and not await pending.ask_user(api, call.caller, folder, requests):
                    return {"sessionId": session, **pending.describe_requests(api, session, requests), **folder.fields}
    except TimeoutError:
        raise make_timeout_error("a prompt") from None
    except asyncio.CancelledError:
        with suppress(RefusedCall):
            await api.post(f"/session/{session}/abort", directory=folder.path)
        raise
    answer = await sending
    info, parts = answer["info"], answer["parts"]
    if error := info.get("error"):
        data: dict[str, Any] = error.get("data") or {}
        raise RefusedCall(
            f"The answer failed: {data.get('message') or error.get('name')}",
            f"Ask again in the same session: opencode_session_prompt with sessionId {session!r}.",
            "Choose another model; opencode_model_list has them.",
        )
    result = {"sessionId": session, "messageId": info.get("id"), **folder.fields}
    if info.get("role") != "assistant":
        return {**result, "noted": True}
    text = "".join(part.get("text", "") for part in parts if part.get("type") == "text")
    model = f"{info.get('providerID')}/{info.get('modelID')}"
    calls = await _list_tool_calls(call, folder, session, info.get("parentID"))
    return {**result, "text": text, "toolCalls": calls, "model": model, "agent": info.get("agent")}


async def _list_tool_calls(call: OpenCodeCall, folder: Folder, session: str, prompt: object) -> list[dict[str, Any]]:
    """Return all tool calls of an answer. `prompt` is the id of the message that it answers. Each step of an answer is
    a message, and OpenCode returns only the last one. So all messages of the session are read."""
    messages = await call.backend.api.get(f"/session/{session}/message", directory=folder.path)
    parts = (part for message in messages if message["info"].get("parentID") == prompt for part in message["parts"])
    return [_describe_call(part) for part in parts if part.get("type") == "tool"]


def _describe_call(part: dict[str, Any]) -> dict[str, Any]:
    """Return a tool call as a field of the answer. `part` is the call as OpenCode describes it."""
    state: dict[str, Any] = part.get("state") or {}
    described = {"name": part.get("tool"), "status": state.get("status"), "arguments": state.get("input")}
    return {**described, "error": state["error"]} if state.get("error") else described
