"""Translates our messages into the words of the revision of ECA that a client speaks.

It must not decide which revision that is: its neighbour `detect` does. `incoming` translates in the other direction.

An additional field does no harm to a client. So fields that only one revision knows are sent to all clients:
`outputs[].text` and also `content`, `lastMessageCost` and also `messageCost`, `agents` and also `behaviors`. But values
and methods must be known. If a revision has its own word for a value, that word is sent. A message that a revision does
not have is not sent.
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
"""A message or a part of one, as data for JSON."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What the clients of a revision understand, and which words they use in place of ours.

    The sets contain what is sent to them; None stands for everything. The keys of the mappings are our words, and the
    values are theirs. Words that are the same are not in a mapping.
    """

    notifications: frozenset[str] | None
    """Methods of notifications."""
    contents: frozenset[str] | None
    """Types of chat contents."""
    details: frozenset[str] | None
    """Types of the details of a tool call."""
    contexts: frozenset[str] | None
    """Types of contexts."""
    prompt_statuses: Mapping[str, str]
    """`status` in the result of `chat/prompt`."""
    reject_reasons: Mapping[str, str]
    """`reason` of a rejected tool call."""
    command_types: Mapping[str, str]
    """`type` of a command."""
    origins: Mapping[str, str]
    """`origin` of a tool."""
    server_statuses: Mapping[str, str]
    """`status` of a tool server."""


# Notifications that are not part of ECA. Only our own clients receive them.
_OURS: Final = frozenset({"chat/toolCallProgress", "workspace/untrustedSettings"})
# The oldest revision has no `config/updated`, but the server of its time sent it to clients of both older revisions.
_OLD_NOTIFICATIONS: Final = frozenset({"$/showMessage", "chat/contentReceived", "tool/serverUpdated", "config/updated"})
# The document of the oldest revision defines `toolCallRejected`, but its union of contents lacks it. No other content
# ends a rejected call.
_OLD_CONTENTS: Final = frozenset({
    "text", "url", "progress", "usage", "reasonStarted", "reasonText", "reasonFinished", "toolCallPrepare",
    "toolCallRun", "toolCalled", "toolCallRejected",
})  # fmt: skip
_OLD_CONTEXTS: Final = frozenset({"file", "directory", "web", "repoMap", "mcpResource"})
# Our words for the kind of a command, the origin of a tool and the status of a tool server, and the words of both older
# revisions for the same.
_OLD_COMMANDS: Final = {"mcpPrompt": "mcp-prompt", "customPrompt": "native", "skill": "native"}
_OLD_ORIGINS: Final = {"server": "native", "unknown": "native"}
_OLD_SERVERS: Final = {"requires-auth": "failed", "stopping": "stopped"}

# One row for each revision whose clients are not ours. `None` in a row means that the revision knows all of our words.
REVISIONS: Final[Mapping[Dialect, Revision]] = {
    Dialect.OLDEST: Revision(
        notifications=_OLD_NOTIFICATIONS,
        contents=_OLD_CONTENTS,
        details=frozenset({"fileChange"}),
        contexts=_OLD_CONTEXTS,
        prompt_statuses=dict.fromkeys(("prompting", "login", "error"), "success"),
        reject_reasons=dict.fromkeys(RejectReason, "user"),
        command_types=_OLD_COMMANDS,
        origins=_OLD_ORIGINS,
        server_statuses=_OLD_SERVERS,
    ),
    Dialect.OLDER: Revision(
        notifications=_OLD_NOTIFICATIONS,
        contents=_OLD_CONTENTS | {"toolCallRunning", "metadata"},
        details=frozenset({"fileChange"}),
        contexts=_OLD_CONTEXTS | {"cursor"},
        prompt_statuses={"error": "prompting"},
        reject_reasons={
            RejectReason.STOP: "user-choice",
            RejectReason.NOBODY: "user-config",
            RejectReason.HOOK: "user-config",
            RejectReason.ORDER: "user-choice",
            RejectReason.PLAN: "user-config",
        },
        command_types=_OLD_COMMANDS,
        origins=_OLD_ORIGINS,
        server_statuses=_OLD_SERVERS,
    ),
    Dialect.CURRENT: Revision(
        notifications=None,
        contents=None,
        details=None,
        contexts=None,
        prompt_statuses={},
        reject_reasons={
            RejectReason.USER: "userChoiceDeny",
            RejectReason.CONFIG: "userConfigDeny",
            RejectReason.STOP: "userPromptStop",
            RejectReason.NOBODY: "userConfigDeny",
            RejectReason.HOOK: "hookRejected",
            RejectReason.ORDER: "userChoiceDeny",
            RejectReason.PLAN: "userConfigDeny",
        },
        command_types={},
        origins={},
        server_statuses={},
    ),
}


def translate_notification(dialect: Dialect, method: str, params: Data) -> Data | None:
    """Translate a notification. Returns None when the client's revision has no such notification."""
    if (revision := REVISIONS.get(dialect)) is None:
        return params
    if method in _OURS or not _knows(revision.notifications, method):
        return None
    return _NOTIFICATIONS[method](params, revision) if method in _NOTIFICATIONS else params


def translate_result(dialect: Dialect, method: str, data: Data | None) -> Data | None:
    """Translate the result of one of the client's requests. None is a result of null, and stays as it is."""
    if data is None or method not in _RESULTS or (revision := REVISIONS.get(dialect)) is None:
        return data
    return _RESULTS[method](data, revision)


def _knows(words: frozenset[str] | None, word: str) -> bool:
    """Return whether a revision has a word. None as `words` stands for every word."""
    return words is None or word in words


def _replace_word(data: Data, field: str, words: Mapping[str, str]) -> Data:
    """Return the data with the revision's word in a field. `words` maps our words to those of the revision."""
    return {**data, field: words.get(data[field], data[field])}


# Contents ------------------------------------------------------------------------------------------------------------


def _translate_content(params: Data, revision: Revision) -> Data | None:
    """Translate `chat/contentReceived`. Returns None when the revision has no such content."""
    content = params["content"]
    if not _knows(revision.contents, content["type"]):
        return None
    translate = _CONTENTS.get(content["type"])
    return params if translate is None else {**params, "content": translate(content, revision)}


def _translate_usage(content: Data, _revision: Revision) -> Data:
    """Add the cost under its older name."""
    cost = content.get("lastMessageCost")
    return content if cost is None else {"messageCost": cost, **content}


def _translate_call(content: Data, revision: Revision) -> Data:
    """Translate what all contents about a tool call have: leave out details that the revision does not know."""
    call = _replace_word(content, "origin", revision.origins)
    if "details" in call and not _knows(revision.details, call["details"]["type"]):
        del call["details"]
    return call


def _translate_finished_call(content: Data, revision: Revision) -> Data:
    """Translate a call that has run. The older revisions read its output from `content` in place of `text`."""
    outputs = [{**output, "content": output["text"]} for output in content["outputs"]]
    return {**_translate_call(content, revision), "outputs": outputs}


def _translate_rejection(content: Data, revision: Revision) -> Data:
    """Translate a call that was rejected: the older revisions have other words for the reason."""
    return _replace_word(_translate_call(content, revision), "reason", revision.reject_reasons)


# The translation of each content that needs one, by its type.
_CONTENTS: Final[Mapping[str, Callable[[Data, Revision], Data]]] = {
    "usage": _translate_usage,
    "toolCallPrepare": _translate_call,
    "toolCallRun": _translate_call,
    "toolCallRunning": _translate_call,
    "toolCalled": _translate_finished_call,
    "toolCallRejected": _translate_rejection,
}


# Other notifications -------------------------------------------------------------------------------------------------


def _translate_server(params: Data, revision: Revision) -> Data:
    """Add an empty command: the older revisions know only MCP servers that are started with a command."""
    if params["type"] == "native" or revision.notifications is None:  # only the current revision has None
        return params
    return {"command": "", "args": [], **_replace_word(params, "status", revision.server_statuses)}


def _translate_config(params: Data, revision: Revision) -> Data | None:
    """Add the older names of agents. Returns None when the settings are those of one chat and the client is older: it
    would apply them to all chats."""
    if "chatId" in params and revision.notifications is not None:
        return None
    chat: Data = {**params.get("chat", {})}
    if "agents" in chat:
        agents = chat["agents"]
        chat |= {
            "agents": [agent_names.to_current_name(agent) for agent in agents],
            "behaviors": agent_names.list_old_names(agents),
        }
    for prefix in ("select", "default"):
        if agent := chat.get(f"{prefix}Agent"):
            chat |= {
                f"{prefix}Agent": agent_names.to_current_name(agent),
                f"{prefix}Behavior": agent_names.to_old_name(agent),
            }
    return {**params, "chat": chat}


# The translation of each notification that needs one, by its method.
_NOTIFICATIONS: Final[Mapping[str, Callable[[Data, Revision], Data | None]]] = {
    "chat/contentReceived": _translate_content,
    "tool/serverUpdated": _translate_server,
    "config/updated": _translate_config,
}


# Results -------------------------------------------------------------------------------------------------------------


def _translate_initialize(data: Data, _revision: Revision) -> Data:
    """Use the older names of agents for every client: only clients of the older revision read these fields."""
    return {
        **data,
        "chatBehaviors": agent_names.list_old_names(data["chatBehaviors"]),
        "chatDefaultBehavior": agent_names.to_old_name(data["chatDefaultBehavior"]),
    }


def _translate_prompt(data: Data, revision: Revision) -> Data:
    """Translate the answer to a prompt: the older revisions have other words for its status."""
    return _replace_word(data, "status", revision.prompt_statuses)


def _translate_contexts(data: Data, revision: Revision) -> Data:
    """Leave out the contexts that the revision does not know."""
    return {**data, "contexts": [context for context in data["contexts"] if _knows(revision.contexts, context["type"])]}


def _translate_commands(data: Data, revision: Revision) -> Data:
    """Translate the kinds of commands, for which the older revisions have other words."""
    return {
        **data,
        "commands": [_replace_word(command, "type", revision.command_types) for command in data["commands"]],
    }


def _translate_open(data: Data, _revision: Revision) -> Data:
    """Use today's name of the agent."""
    selection = data.get("selection", {})
    if "agent" not in selection:
        return data
    return {**data, "selection": {**selection, "agent": agent_names.to_current_name(selection["agent"])}}


def _translate_history(data: Data, revision: Revision) -> Data:
    """Translate each content, and leave out those that the revision does not know."""
    contents = (_translate_content(params, revision) for params in data["contents"])
    return {**data, "contents": [params for params in contents if params is not None]}


# The translation of each result that needs one, by the method of the client's request.
_RESULTS: Final[Mapping[str, Callable[[Data, Revision], Data]]] = {
    "initialize": _translate_initialize,
    "chat/prompt": _translate_prompt,
    "chat/queryContext": _translate_contexts,
    "chat/queryCommands": _translate_commands,
    "chat/open": _translate_open,
    "chat/history": _translate_history,
}
