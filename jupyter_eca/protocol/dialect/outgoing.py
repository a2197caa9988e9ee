"""What we say, in the client's words.

Nobody is harmed by a field too many, so fields that only one revision knows are sent to all: `outputs[].text` beside
`content`, `lastMessageCost` beside `messageCost`, `behaviors` beside `agents`. Values and methods are another matter:
where a revision has its own word for one it is used, and what it has none for is not said to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.protocol.content import RejectReason
from jupyter_eca.protocol.dialect import agent_names
from jupyter_eca.protocol.dialect.detect import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Revision:
    """What a revision knows, None being all that we do; then its words for ours, as far as they differ."""

    hears: frozenset[str] | None
    contents: frozenset[str] | None
    details: frozenset[str] | None
    contexts: frozenset[str] | None
    prompted: Mapping[str, str]
    rejected: Mapping[str, str]
    commands: Mapping[str, str]
    origins: Mapping[str, str]
    servers: Mapping[str, str]


# Not of ECA: told to our own clients alone.
_OURS: Final = frozenset({"chat/toolCallProgress"})
# `config/updated` is younger than the older seed, but the server of that time sent it to clients of both.
_SEED_HEARS: Final = frozenset({"$/showMessage", "chat/contentReceived", "tool/serverUpdated", "config/updated"})
# `toolCallRejected` was left out of the older seed's union, though it is defined: nothing else ends such a call.
_OLD_CONTENTS: Final = frozenset({
    "text", "url", "progress", "usage", "reasonStarted", "reasonText", "reasonFinished", "toolCallPrepare",
    "toolCallRun", "toolCalled", "toolCallRejected",
})  # fmt: skip
_OLD_CONTEXTS: Final = frozenset({"file", "directory", "web", "repoMap", "mcpResource"})
_SEED_COMMANDS: Final = {"mcpPrompt": "mcp-prompt", "customPrompt": "native", "skill": "native"}
_SEED_ORIGINS: Final = {"server": "native", "unknown": "native"}
_SEED_SERVERS: Final = {"requires-auth": "failed", "stopping": "stopped"}

REVISIONS: Final[Mapping[Dialect, Revision]] = {
    Dialect.OLD: Revision(
        hears=_SEED_HEARS,
        contents=_OLD_CONTENTS,
        details=frozenset({"fileChange"}),
        contexts=_OLD_CONTEXTS,
        prompted=dict.fromkeys(("prompting", "login", "error"), "success"),
        rejected=dict.fromkeys(RejectReason, "user"),
        commands=_SEED_COMMANDS,
        origins=_SEED_ORIGINS,
        servers=_SEED_SERVERS,
    ),
    Dialect.NEWER: Revision(
        hears=_SEED_HEARS,
        contents=_OLD_CONTENTS | {"toolCallRunning", "metadata"},
        details=frozenset({"fileChange"}),
        contexts=_OLD_CONTEXTS | {"cursor"},
        prompted={"error": "prompting"},
        rejected={
            RejectReason.STOP: "user-choice",
            RejectReason.NOBODY: "user-config",
            RejectReason.HOOK: "user-config",
        },
        commands=_SEED_COMMANDS,
        origins=_SEED_ORIGINS,
        servers=_SEED_SERVERS,
    ),
    Dialect.CURRENT: Revision(
        hears=None,
        contents=None,
        details=None,
        contexts=None,
        prompted={},
        rejected={
            RejectReason.USER: "userChoiceDeny",
            RejectReason.CONFIG: "userConfigDeny",
            RejectReason.STOP: "userPromptStop",
            RejectReason.NOBODY: "userConfigDeny",
            RejectReason.HOOK: "hookRejected",
        },
        commands={},
        origins={},
        servers={},
    ),
}


def outgoing(dialect: Dialect, method: str, params: Data) -> Data | None:
    """A notification; None when the client's revision has none like it."""
    if (revision := REVISIONS.get(dialect)) is None:
        return params
    if method in _OURS or not _known(method, revision.hears):
        return None
    return _NOTIFICATIONS[method](params, revision) if method in _NOTIFICATIONS else params


def result(dialect: Dialect, method: str, said: Data | None) -> Data | None:
    """The result of one of the client's requests."""
    if said is None or method not in _RESULTS or (revision := REVISIONS.get(dialect)) is None:
        return said
    return _RESULTS[method](said, revision)


def _known(word: str, words: frozenset[str] | None) -> bool:
    return words is None or word in words


def _told(data: Data, field: str, words: Mapping[str, str]) -> Data:
    """With the revision's word in this field."""
    return {**data, field: words.get(data[field], data[field])}


# Contents ------------------------------------------------------------------------------------------------------------


def _received(params: Data, revision: Revision) -> Data | None:
    content = params["content"]
    if not _known(content["type"], revision.contents):
        return None
    change = _CONTENTS.get(content["type"])
    return params if change is None else {**params, "content": change(content, revision)}


def _usage(content: Data, _revision: Revision) -> Data:
    cost = content.get("lastMessageCost")
    return content if cost is None else {"messageCost": cost, **content}


def _call(content: Data, revision: Revision) -> Data:
    call = _told(content, "origin", revision.origins)
    if "details" in call and not _known(call["details"]["type"], revision.details):
        del call["details"]
    return call


def _called(content: Data, revision: Revision) -> Data:
    outputs = [{**output, "content": output["text"]} for output in content["outputs"]]
    return {**_call(content, revision), "outputs": outputs}


def _rejected(content: Data, revision: Revision) -> Data:
    return _told(_call(content, revision), "reason", revision.rejected)


_CONTENTS: Final[Mapping[str, Callable[[Data, Revision], Data]]] = {
    "usage": _usage,
    "toolCallPrepare": _call,
    "toolCallRun": _call,
    "toolCallRunning": _call,
    "toolCalled": _called,
    "toolCallRejected": _rejected,
}


# Other notifications -------------------------------------------------------------------------------------------------


def _server(params: Data, revision: Revision) -> Data:
    """The seeds know of no MCP server but one that is started with a command."""
    if params["type"] == "native" or revision.hears is None:
        return params
    return {"command": "", "args": [], **_told(params, "status", revision.servers)}


def _config(params: Data, revision: Revision) -> Data | None:
    """What is about one chat is not told to a client that would take it for all of them."""
    if "chatId" in params and revision.hears is not None:
        return None
    chat: Data = {**params.get("chat", {})}
    if "agents" in chat:
        agents = chat["agents"]
        chat |= {"agents": [agent_names.today(agent) for agent in agents], "behaviors": agent_names.all_old(agents)}
    for which in ("select", "default"):
        if agent := chat.get(f"{which}Agent"):
            chat |= {f"{which}Agent": agent_names.today(agent), f"{which}Behavior": agent_names.old(agent)}
    return {**params, "chat": chat}


_NOTIFICATIONS: Final[Mapping[str, Callable[[Data, Revision], Data | None]]] = {
    "chat/contentReceived": _received,
    "tool/serverUpdated": _server,
    "config/updated": _config,
}


# Results -------------------------------------------------------------------------------------------------------------


def _initialized(said: Data, _revision: Revision) -> Data:
    """Written for the older seed whoever asks: nobody else reads these fields."""
    return {
        **said,
        "chatBehaviors": agent_names.all_old(said["chatBehaviors"]),
        "chatDefaultBehavior": agent_names.old(said["chatDefaultBehavior"]),
    }


def _prompted(said: Data, revision: Revision) -> Data:
    return _told(said, "status", revision.prompted)


def _contexts(said: Data, revision: Revision) -> Data:
    return {**said, "contexts": [one for one in said["contexts"] if _known(one["type"], revision.contexts)]}


def _commands(said: Data, revision: Revision) -> Data:
    return {**said, "commands": [_told(one, "type", revision.commands) for one in said["commands"]]}


def _opened(said: Data, _revision: Revision) -> Data:
    selection = said.get("selection", {})
    if "agent" not in selection:
        return said
    return {**said, "selection": {**selection, "agent": agent_names.today(selection["agent"])}}


def _history(said: Data, revision: Revision) -> Data:
    contents = (_received(one, revision) for one in said["contents"])
    return {**said, "contents": [one for one in contents if one is not None]}


_RESULTS: Final[Mapping[str, Callable[[Data, Revision], Data]]] = {
    "initialize": _initialized,
    "chat/prompt": _prompted,
    "chat/queryContext": _contexts,
    "chat/queryCommands": _commands,
    "chat/open": _opened,
    "chat/history": _history,
}
